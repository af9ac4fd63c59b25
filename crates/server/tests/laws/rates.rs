//! No rate that an accelerator counts is above the rate of the card's link.

use proptest::prelude::*;
use session::{Request, Until};

use crate::fixture::Session;

const LOOPBACKS: [u32; 2] = [2, 3];

/// Bytes of payload that a Gen3 x8 link carries in a nanosecond: 8 lanes of 8 GT/s with 128b/130b, and 24 bytes of overhead for each 256
/// bytes.
const PAYLOAD: f64 = 8.0 * 128.0 / 130.0 * 256.0 / (256.0 + 24.0);

/// A cycle of the accelerators' clock in nanoseconds.
const CYCLE: f64 = 5.0;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_test_of_writes_counts_more_than_the_link_carries(
        lines in prop_oneof![1_u64..40, 1_u64..6000],
        length in 0_u64..3,
        crowded in any::<bool>(),
    ) {
        let more = "slots = 3\nafu_1 = \"nlb_mode_3\"\nafu_2 = \"nlb_mode_3\"\nmsix_vectors = 20";
        let session = Session::with(false, more);
        let process = session.process();
        // The other slot may write for ever: the test still ends.
        for object in LOOPBACKS.into_iter().skip(usize::from(!crowded)).rev() {
            let is_endless = crowded && object == LOOPBACKS[1];
            let handle = process.open(object, false).expect("it is free");
            let (number, status, ended) = process.pin(handle, 4096).expect("room");
            let (_, address, _) = process.pin(handle, 1 << 19).expect("room");
            let configuration = length << 5 | 2 << 2 | u64::from(is_endless) << 1;
            let lines = if is_endless { 8192 } else { lines };
            let stores = [
                (0x110, status),
                (0x138, 1),
                (0x128, address / 64),
                (0x130, lines),
                (0x140, configuration),
                (0x138, 3),
            ];
            for (offset, value) in stores {
                process.store(handle, offset, value).expect("a register");
            }
            if is_endless {
                continue;
            }
            let until = Until::Written { buffer: number, offset: 0x40, len: 64 };
            let limit = process.now() + 1_000_000_000_000;
            let _ = process.ask(Request::Wait { until, limit });
            let mut line = [0; 16];
            ended.read(0x40, &mut line);
            prop_assert_eq!(line[0] & 1, 1, "the test has ended");
            let cycles = u32::from_le_bytes([line[8], line[9], line[10], line[11]]);
            let rate = (lines * 64) as f64 / (f64::from(cycles) * CYCLE);
            prop_assert!(rate <= PAYLOAD, "{lines} lines in {cycles} cycles are {rate:.3} GB/s");
        }
    }
}
