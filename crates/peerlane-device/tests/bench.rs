//! Tests that a bench answers a model in the same way as a device in a fabric.

use std::sync::mpsc::{Receiver, Sender, channel};

use peerlane_device::limits::{LAST_FS, MOST_WAITING};
use peerlane_device::{
    Access, Answer, Asked, Bar, Bench, Defect, Description, Failure, Misuse, Model, Shell, Stalled,
};

/// The action of the model at its next access to registers. The test chooses it.
type Act = fn(Access, &mut Shell<'_>) -> Result<(), Misuse>;

/// A model that executes the action of its test at each access, and records the outcomes.
struct Puppet {
    act: Act,
    told: Sender<Told>,
}

#[derive(Debug, PartialEq)]
enum Told {
    Did(Result<(), Misuse>),
    Completed(u64, Result<Vec<u8>, Failure>),
}

impl Model for Puppet {
    fn reset(&mut self, _: u8, _: &mut Shell<'_>) {}

    fn read(&mut self, access: Access, _: &mut [u8], shell: &mut Shell<'_>) -> Answer {
        self.told
            .send(Told::Did((self.act)(access, shell)))
            .unwrap();
        Answer::Now
    }

    fn write(&mut self, access: Access, _: &[u8], shell: &mut Shell<'_>) {
        self.told
            .send(Told::Did((self.act)(access, shell)))
            .unwrap();
    }

    fn completed(&mut self, tag: u64, outcome: Result<&[u8], Failure>, _: &mut Shell<'_>) {
        let outcome = outcome.map(<[u8]>::to_vec);
        self.told.send(Told::Completed(tag, outcome)).unwrap();
    }
}

fn bench(act: Act) -> (Bench, Receiver<Told>) {
    let (told, outcomes) = channel();
    let description = Description {
        bars: vec![Bar::new(0, 4096)],
        virtual_functions: 1,
        ..Description::default()
    };
    let model = Box::new(Puppet { act, told });
    (Bench::of(model, description), outcomes)
}

fn outcomes(told: &Receiver<Told>) -> Vec<Told> {
    told.try_iter().collect()
}

#[test]
fn a_function_that_the_device_does_not_have_makes_no_requests() {
    let (mut bench, told) = bench(|access, shell| {
        let function = access.offset as u8;
        shell.of(function).read(0, 0x1000, 4)
    });
    bench.write(0, 1, &[0]).unwrap();
    bench.write(0, 2, &[0]).unwrap();
    let refused = Err(Misuse::NoSuchFunction);
    assert_eq!(outcomes(&told), [Told::Did(Ok(())), Told::Did(refused)]);
}

#[test]
fn requests_beyond_the_limit_are_refused_until_one_has_ended() {
    let (mut bench, told) = bench(|_, shell| shell.read(7, 0x1000, 4));
    for _ in 0..MOST_WAITING {
        bench.write(0, 0, &[0]).unwrap();
    }
    assert!(outcomes(&told).iter().all(|one| *one == Told::Did(Ok(()))));
    bench.write(0, 0, &[0]).unwrap();
    assert_eq!(outcomes(&told), [Told::Did(Err(Misuse::TooMany))]);
    // A read that the test has taken is still in progress.
    bench.take().unwrap();
    bench.write(0, 0, &[0]).unwrap();
    assert_eq!(outcomes(&told), [Told::Did(Err(Misuse::TooMany))]);
    bench.complete(7, &[1, 2, 3, 4]).unwrap();
    bench.write(0, 0, &[0]).unwrap();
    assert_eq!(outcomes(&told).last(), Some(&Told::Did(Ok(()))));
}

#[test]
fn bytes_beyond_the_limit_are_refused_until_some_were_taken() {
    let (mut bench, told) = bench(|_, shell| shell.write(0x1000, &vec![0; 16 << 20]));
    for _ in 0..16 {
        bench.write(0, 0, &[0]).unwrap();
    }
    assert!(outcomes(&told).iter().all(|one| *one == Told::Did(Ok(()))));
    bench.write(0, 0, &[0]).unwrap();
    assert_eq!(outcomes(&told), [Told::Did(Err(Misuse::TooMany))]);
    bench.take().unwrap();
    bench.write(0, 0, &[0]).unwrap();
    assert_eq!(outcomes(&told), [Told::Did(Ok(()))]);
}

#[test]
fn timers_have_the_limits_of_a_fabric() {
    let (mut bench, told) = bench(|access, shell| {
        let after = [LAST_FS, 1][access.offset as usize];
        shell.wake_after(0, after)
    });
    bench.write(0, 0, &[0]).unwrap();
    assert_eq!(outcomes(&told), [Told::Did(Err(Misuse::TooLate))]);
    for _ in 0..MOST_WAITING {
        bench.write(0, 1, &[0]).unwrap();
    }
    assert!(outcomes(&told).iter().all(|one| *one == Told::Did(Ok(()))));
    bench.write(0, 1, &[0]).unwrap();
    assert_eq!(outcomes(&told), [Told::Did(Err(Misuse::TooMany))]);
}

#[test]
fn requests_with_the_same_tag_end_one_by_one() {
    let (mut bench, told) = bench(|access, shell| shell.read(9, 0x1000, access.offset));
    for len in [1, 2, 2] {
        bench.write(0, len, &[0]).unwrap();
        assert!(matches!(bench.take(), Ok(Some(Asked::Read { .. }))));
    }
    outcomes(&told);
    bench.complete(9, &[1, 2]).unwrap();
    assert_eq!(bench.complete(9, &[1, 2, 3]), Err(Stalled::Length));
    bench.fail(9, Failure::Unsupported).unwrap();
    bench.complete(9, &[3, 4]).unwrap();
    assert_eq!(bench.complete(9, &[3, 4]), Err(Stalled::NoSuchTag(9)));
    let wanted = [
        Told::Completed(9, Ok(vec![1, 2])),
        Told::Completed(9, Err(Failure::Unsupported)),
        Told::Completed(9, Ok(vec![3, 4])),
    ];
    assert_eq!(outcomes(&told), wanted);
}

#[test]
fn the_answer_that_a_model_gives_within_the_call_is_the_only_one() {
    let (mut first, _told) = bench(|access, shell| shell.answer(access.ticket, &[5; 4]));
    assert_eq!(first.read(0, 0, 4), Ok(vec![5; 4]));
    let (mut second, _told) = bench(|access, shell| shell.abort(access.ticket));
    assert_eq!(second.read(0, 0, 4), Err(Stalled::Aborted));
}

#[test]
fn a_completion_that_is_wrong_on_purpose_ends_the_read_by_its_defect() {
    let (mut bench, _told) = bench(|access, shell| {
        let defect = Defect::ALL[access.offset as usize];
        shell.answer_malformed(access.ticket, &[5; 4], defect)
    });
    for (offset, defect) in (0..).zip(Defect::ALL) {
        assert_eq!(bench.read(0, offset, 4), Err(Stalled::Malformed(defect)));
    }
}

#[test]
fn a_model_that_has_failed_is_not_called_again() {
    let (mut bench, told) = bench(|_, shell| {
        shell.fail("broken");
        Ok(())
    });
    let failed = Err(Stalled::Failed("broken".to_owned()));
    assert_eq!(bench.write(0, 0, &[0]), failed);
    assert_eq!(bench.write(0, 0, &[0]), failed);
    assert_eq!(bench.complete(1, &[]), failed);
    assert_eq!(outcomes(&told).len(), 1);
}
