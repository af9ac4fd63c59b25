use super::*;
use proptest::prelude::*;

fn items() -> impl Strategy<Value = Vec<Item>> {
    let item = (0..1_u64 << 37, 1..5000_u32).prop_map(|(address, len)| Item { address, len });
    prop::collection::vec(item, 1..5)
}

/// Ranges with as many bytes as `items`, but divided in another way.
fn cut(items: &[Item], pieces: u32) -> Vec<Item> {
    let total = total(items) as u32;
    let each = total.div_ceil(pieces);
    let starts = (0..total).step_by(each as usize);
    starts
        .map(|at| Item {
            address: u64::from(at) * 3,
            len: each.min(total - at),
        })
        .collect()
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..=2048).prop_map(Body::NapImmediate),
        (1..2048_u32).prop_map(|len| Body::NapIndirect(vec![Item { address: 5, len }])),
        (items(), 1..6_u32, any::<bool>()).prop_map(|(sources, pieces, put)| {
            let targets = cut(&sources, pieces);
            if put {
                Body::Put { sources, targets }
            } else {
                Body::Get { sources, targets }
            }
        }),
    ]
}

fn descriptor() -> impl Strategy<Value = Descriptor> {
    let place = (any::<u8>(), 0..8_u8, 0..4_u8);
    (
        body(),
        place,
        any::<(bool, bool, u16, u32)>(),
        any::<(Option<u16>, u64, bool)>(),
    )
        .prop_map(|(body, (processor, function, pair), rest, probe)| {
            let (tell_sender, tell_receiver, key, label) = rest;
            Descriptor {
                body,
                tell_sender,
                tell_receiver,
                key,
                destination: QueuePairId::new(processor, function, pair),
                label,
                probe: Probe {
                    flow: probe.0.map(|flow| FlowId(flow.into())),
                    offset: probe.1,
                    is_timed: probe.2,
                },
            }
        })
}

fn put(sources: Vec<Item>, targets: Vec<Item>) -> Vec<u8> {
    let descriptor = Descriptor {
        body: Body::Put { sources, targets },
        tell_sender: false,
        tell_receiver: false,
        key: 7,
        destination: QueuePairId::default(),
        label: 0,
        probe: Probe::default(),
    };
    descriptor.emit()
}

#[test]
fn the_least_descriptors_have_48_and_64_bytes() {
    let one = Item { address: 0, len: 1 };
    assert_eq!(put(vec![one], vec![one]).len(), 64);
    let nap = Descriptor {
        body: Body::NapImmediate(vec![1]),
        ..Descriptor::parse(&put(vec![one], vec![one])).expect("a descriptor")
    };
    assert_eq!(nap.emit().len(), 48);
}

#[test]
fn totals_that_differ_are_told() {
    let item = |len| Item { address: 0, len };
    let bytes = put(vec![item(5), item(5)], vec![item(9)]);
    let error = Descriptor::parse(&bytes).expect_err("10 is not 9");
    assert_eq!(
        error,
        DescriptorError::Totals {
            sources: 10,
            targets: 9
        }
    );
    assert_eq!(Fault::from(error), Fault::Totals);
}

#[test]
fn what_makes_no_sense_is_told() {
    let one = Item { address: 0, len: 1 };
    let good = put(vec![one], vec![one]);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Descriptor::parse(&bytes)
    };
    assert!(with(12, 9).is_ok());
    assert_eq!(with(0, 0), Err(DescriptorError::Primitive(0)));
    assert_eq!(with(1, 4), Err(DescriptorError::Reserved));
    assert_eq!(with(10, 1), Err(DescriptorError::Reserved));
    assert_eq!(with(40, 0), Err(DescriptorError::Empty));
    // Sources may be anywhere in memory, but targets must be within the address field of packets.
    assert!(with(36, 0x40).is_ok());
    let beyond = Err(DescriptorError::Address(0x40_0000_0000));
    assert_eq!(with(52, 0x40), beyond);
    assert_eq!(
        with(6, 3),
        Err(DescriptorError::Truncated { have: 64, need: 96 })
    );
    assert_eq!(
        Descriptor::parse(&good[..20]),
        Err(DescriptorError::Truncated { have: 20, need: 32 })
    );
}

proptest! {
    #[test]
    fn a_descriptor_comes_back_from_its_bytes(descriptor in descriptor()) {
        let bytes = descriptor.emit();
        prop_assert!(bytes.len().is_multiple_of(16));
        prop_assert_eq!(Descriptor::parse(&bytes), Ok(descriptor));
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..300), first in 0..6_u8) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        let _ = Descriptor::parse(&bytes);
    }
}
