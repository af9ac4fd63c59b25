//! The device on a bench, without a fabric.

use copier::{COUNT, Copier, DOORBELL, LENGTH, SOURCE, STATUS, TARGET};
use peerlane_device::{Asked, Bench, Declare, Failure, Setting, Settings};

fn rung(latency_ns: u64) -> Bench {
    let settings = Settings::defaults(&Copier::description());
    let settings = settings.with("latency", Setting::Time(latency_ns * 1_000_000));
    let mut bench = Bench::new::<Copier>(&settings);
    bench.write(0, SOURCE, &0x1000_u64.to_le_bytes()).unwrap();
    bench.write(0, TARGET, &0x2000_u64.to_le_bytes()).unwrap();
    bench.write(0, LENGTH, &5_u32.to_le_bytes()).unwrap();
    bench.write(0, DOORBELL, &[1, 0, 0, 0]).unwrap();
    bench
}

#[test]
fn a_block_is_read_after_the_latency_and_written_before_the_interrupt() {
    let mut bench = rung(700);
    let Some(Asked::Read {
        tag, address, len, ..
    }) = bench.take().unwrap()
    else {
        panic!("the device reads first");
    };
    assert_eq!((address, len), (0x1000, 5));
    assert_eq!(bench.now_fs(), 700_000_000);
    bench.complete(tag, b"bytes").unwrap();
    let write = Asked::Write {
        function: 0,
        address: 0x2000,
        bytes: b"bytes".to_vec(),
    };
    assert_eq!(bench.take().unwrap(), Some(write));
    let interrupt = Asked::Interrupt {
        function: 0,
        vector: 0,
    };
    assert_eq!(bench.take().unwrap(), Some(interrupt));
    assert_eq!(bench.read(0, COUNT, 4).unwrap(), [1, 0, 0, 0]);
}

#[test]
fn a_failed_read_is_told_and_the_next_copy_succeeds() {
    let mut bench = rung(1);
    let Some(Asked::Read { tag, .. }) = bench.take().unwrap() else {
        panic!("the device reads first");
    };
    bench.fail(tag, Failure::Unsupported).unwrap();
    assert!(matches!(
        bench.take().unwrap(),
        Some(Asked::Interrupt { .. })
    ));
    assert_eq!(bench.read(0, COUNT, 4).unwrap(), [0; 4]);
    assert_eq!(bench.read(0, STATUS, 4).unwrap(), [1, 0, 0, 0]);
    bench.write(0, DOORBELL, &[1, 0, 0, 0]).unwrap();
    let Some(Asked::Read { tag, .. }) = bench.take().unwrap() else {
        panic!("the device reads first");
    };
    bench.complete(tag, b"bytes").unwrap();
    assert_eq!(bench.read(0, COUNT, 4).unwrap(), [1, 0, 0, 0]);
    assert_eq!(bench.read(0, STATUS, 4).unwrap(), [0; 4]);
}

#[test]
fn a_copy_of_no_bytes_fails() {
    let mut bench = rung(1);
    bench.write(0, LENGTH, &[0; 4]).unwrap();
    assert!(matches!(
        bench.take().unwrap(),
        Some(Asked::Interrupt { .. })
    ));
    assert_eq!(bench.read(0, STATUS, 4).unwrap(), [1, 0, 0, 0]);
}
