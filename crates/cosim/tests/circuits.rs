//! Laws of circuits, with one that sends back what it receives.
#![cfg(feature = "linked")]

use cosim::{Circuit, Happening, Missing, Settings, Tlp};

fn loopback(width: u32) -> Circuit {
    let mut circuit = Circuit::new("loopback", width, 4000).expect("it is built");
    circuit.configure(Settings::default());
    circuit.allow(1000);
    circuit
}

fn tlp(bytes: &[u8], cycle: u64) -> Tlp<'_> {
    Tlp {
        bytes,
        cycle,
        label: 7,
        bar: 0,
    }
}

#[test]
fn a_tlp_of_any_size_comes_back_at_every_width() {
    for width in [64, 128, 256] {
        for size in [12, 16, 20, 140, 272, 4112] {
            let mut circuit = loopback(width);
            let bytes: Vec<u8> = (0..size).map(|at| at as u8).collect();
            circuit.push(&tlp(&bytes, 10));
            let beats = bytes.len().div_ceil(circuit.width()) as u64;
            let events = circuit.run(1000).expect("it goes on");
            let events: Vec<_> = events.iter().collect();
            let taken = ((10, 9 + beats), 7, Happening::Taken);
            let sent = ((11, 10 + beats), 7, Happening::Sent(&bytes));
            assert_eq!(
                events,
                [taken, sent],
                "{size} bytes in beats of {width} bits"
            );
        }
    }
}

#[test]
fn a_port_that_takes_nothing_holds_the_circuit_and_loses_nothing() {
    let mut circuit = loopback(64);
    circuit.allow(0);
    circuit.push(&tlp(&[1; 24], 0));
    circuit.push(&tlp(&[2; 24], 0));
    assert_eq!(circuit.run(50).unwrap().iter().count(), 0);
    circuit.allow(2);
    let events = circuit.run(100).unwrap();
    let sent = events.iter().filter_map(|(beats, _, what)| match what {
        Happening::Sent(bytes) => Some((beats, bytes[0])),
        _ => None,
    });
    assert_eq!(sent.collect::<Vec<_>>(), [((50, 52), 1), ((53, 55), 2)]);
}

#[test]
fn the_clock_of_an_idle_circuit_stands_still() {
    let mut circuit = loopback(64);
    assert!(!circuit.is_active());
    // At a few nanoseconds a cycle this would take hours.
    circuit.run(1 << 42).unwrap();
    assert_eq!(circuit.cycle(), 1 << 42);
}

#[test]
fn a_circuit_that_is_not_there_says_what_is() {
    let unknown = Circuit::new("dma", 64, 4000).unwrap_err();
    let message = unknown.to_string();
    assert!(message.starts_with("this build has no circuit 'dma' but: broken, "));
    assert!(
        message.contains(", loopback; `make gateware` builds"),
        "{message}"
    );
    let wide = Circuit::new("loopback", 512, 4000).unwrap_err();
    assert!(matches!(wide, Missing::Width { .. }), "{wide}");
}

#[test]
fn a_circuit_that_breaks_a_rule_stops_with_its_name_and_cycle() {
    let rules = [
        (1, "label 1"),
        (2, "$finish"),
        (3, "a TLP without tx_first_o"),
        (4, "tx_bytes_o is no number of bytes of a beat"),
        (5, "a beat before the last one is not full"),
    ];
    for (label, why) in rules {
        let mut circuit = Circuit::new("broken", 64, 4000).unwrap();
        circuit.allow(1);
        let bytes = [0; 24];
        circuit.push(&Tlp {
            bytes: &bytes,
            cycle: 20,
            label,
            bar: 0,
        });
        let failure = circuit.run(1000).unwrap_err();
        let message = failure.to_string();
        assert!(
            message.contains("'broken'") && message.contains(why),
            "{message}"
        );
        assert!((20..=25).contains(&failure.cycle), "{message}");
        assert_eq!(circuit.run(2000).unwrap_err(), failure, "it does not go on");
    }
}

#[test]
fn waveforms_are_written_while_they_are_open() {
    let folder = std::env::temp_dir().join(format!("waves-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("circuit.fst");
    let mut circuit = loopback(64);
    circuit.run(10).unwrap();
    circuit.open_waves(&path).unwrap();
    circuit.push(&tlp(&[1; 140], 20));
    circuit.run(60).unwrap();
    circuit.close_waves();
    let size = std::fs::metadata(&path).unwrap().len();
    circuit.push(&tlp(&[1; 140], 70));
    circuit.run(100).unwrap();
    assert!(size > 300, "{size} bytes");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    circuit
        .open_waves(&folder)
        .expect_err("a folder is no file");
    std::fs::remove_dir_all(&folder).unwrap();
}
