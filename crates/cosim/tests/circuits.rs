//! Laws of circuits, most of them with a circuit that sends back the TLPs that it receives.

use std::path::Path;

use cosim::{Circuit, Happening, LoadError, Missing, Settings, Tlp, Waves};

/// The circuit `name` of `gateware`, which `make test` has built.
fn built(name: &str, width: u32, waves: Waves) -> Circuit {
    look();
    Circuit::new(name, width, 4000, waves).expect("`make test` has built it")
}

fn look() {
    cosim::look_in(&folder());
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gateware/built")
}

fn loopback(width: u32) -> Circuit {
    with_waves(width, Waves::Never)
}

fn with_waves(width: u32, waves: Waves) -> Circuit {
    let mut circuit = built("loopback", width, waves);
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
        is_non_posted: false,
    }
}

#[test]
fn a_tlp_of_any_size_comes_back_at_every_width() {
    let widths = [64, 128, 256].map(|width| [(width, Waves::Never), (width, Waves::Possible)]);
    for (width, waves) in widths.concat() {
        for size in [12, 16, 20, 140, 272, 4112] {
            let mut circuit = with_waves(width, waves);
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
fn a_tlp_that_is_not_whole_at_the_end_of_a_run_is_sent_in_the_next_one() {
    let mut circuit = loopback(64);
    let bytes: Vec<u8> = (0..140).collect();
    circuit.push(&tlp(&bytes, 0));
    circuit.push(&tlp(&bytes, 0));
    let mut sent = Vec::new();
    for cycle in 1..60 {
        for (_, _, happening) in circuit.run(cycle).expect("it goes on").iter() {
            if let Happening::Sent(bytes) = happening {
                sent.push(bytes.to_vec());
            }
        }
    }
    assert_eq!(sent, [bytes.clone(), bytes]);
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
    // If the circuit were evaluated in each cycle, at a few nanoseconds a cycle, this run would take hours.
    circuit.run(1 << 42).unwrap();
    assert_eq!(circuit.cycle(), 1 << 42);
}

/// A posted write of eight bytes to a register of the engine.
fn register(offset: u32, value: u64) -> Vec<u8> {
    let mut bytes = vec![0x40, 0, 0, 2, 0, 0, 0, 0xff];
    bytes.extend((0x8000_0000 + offset).to_be_bytes());
    bytes.extend(value.to_le_bytes());
    bytes
}

/// The engine's events, and the number of its short cycles. The engine writes to itself as its own peer, then to a host by a list, and
/// answers reads of its registers.
fn engine(waves: Waves) -> (Vec<String>, u64) {
    let mut circuit = built("dma_engine_source_sink", 64, waves);
    circuit.configure(Settings {
        bus_master: true,
        ..Settings::default()
    });
    circuit.allow(1000);
    let begin = |payload: u64| (7 << 32) | payload;
    let to_itself = [(0x80, 0x9000_0000), (0x88, 20_000), (0x90, begin(0))];
    let to_host = [
        (0x10000, 0x1_2345_6003),
        (0x10008, 3001),
        (0x10010, 0x4321),
        (0x10018, 700),
        (0x08, 2),
        (0x10, begin(64)),
    ];
    let read = |offset: u32, tag: u8| {
        let mut bytes = vec![0, 0, 0, 2, 0x12, 0x34, tag, 0xff];
        bytes.extend((0x8000_0000 + offset).to_be_bytes());
        bytes
    };
    let phases = [to_itself.to_vec(), to_host.to_vec()];
    let mut seen = Vec::new();
    for (phase, writes) in (0..).zip(phases) {
        let from = circuit.cycle() + 5;
        let registers = writes
            .iter()
            .map(|(offset, value)| register(*offset, *value));
        for bytes in registers {
            circuit.push(&Tlp {
                bar: 2,
                is_non_posted: bytes[0] == 0,
                ..tlp(&bytes, from)
            });
        }
        for until in (from / 50..from / 50 + 80).map(|batch| batch * 50) {
            let mut back = Vec::new();
            for event in circuit.run(until).expect("it goes on").iter() {
                seen.push(format!("{event:?}"));
                match event.2 {
                    Happening::Sent(bytes) if phase == 0 && bytes.len() > 100 => {
                        back.push(bytes.to_vec());
                    }
                    _ => (),
                }
            }
            for bytes in &back {
                circuit.push(&tlp(bytes, until));
            }
            if until % 1000 == 0 {
                circuit.push(&Tlp {
                    bar: 2,
                    is_non_posted: true,
                    ..tlp(&read(0x18 + 0x80 * phase, 9), until)
                });
            }
        }
    }
    (seen, circuit.short_cycles())
}

#[test]
fn a_circuit_with_units_at_rest_does_what_one_does_that_evaluates_them_in_each_cycle() {
    let (whole, none) = engine(Waves::Possible);
    let (short, cycles) = engine(Waves::Never);
    assert_eq!(whole, short);
    assert_eq!(none, 0, "the copy for waveforms evaluates all");
    assert!(cycles > 3000, "{cycles} cycles were short");
    let sent = short.iter().filter(|event| event.contains("Sent")).count();
    assert!(sent > 157 + 58, "{sent} packets were sent");
}

/// The completions, with 128 bytes each, for a read request with a short header; empty for any other request.
fn completions(request: &[u8]) -> Vec<Vec<u8>> {
    if request[0] != 0 {
        return Vec::new();
    }
    let len = 4 * u16::from_be_bytes([request[2] & 3, request[3]]);
    let parts = (0..len).step_by(128);
    parts
        .map(|at| {
            let (left, size) = (len - at, (len - at).min(128));
            let mut bytes = vec![0x4a, 0, 0, (size / 4) as u8, 0, 0];
            bytes.extend(left.to_be_bytes());
            bytes.extend([request[4], request[5], request[6]]);
            bytes.push((request[11] + at as u8) & 0x7f);
            bytes.extend((0..size).map(|byte| (at + byte) as u8));
            bytes
        })
        .collect()
}

/// The engine's events while it reads four pages of a host, and the number of its short cycles.
fn reading(waves: Waves) -> (Vec<String>, u64) {
    let mut circuit = built("dma_engine_source_sink", 64, waves);
    circuit.configure(Settings {
        bus_master: true,
        max_read_request: 2,
        ..Settings::default()
    });
    circuit.allow(1000);
    for page in 0..4 {
        let place = 0x20000 + 16 * page;
        let address = 0x10_0000 + 4096 * u64::from(page);
        for bytes in [register(place, address), register(place + 8, 4096)] {
            circuit.push(&Tlp {
                bar: 2,
                ..tlp(&bytes, 0)
            });
        }
    }
    for bytes in [register(0x48, 4), register(0x50, 7 << 32)] {
        circuit.push(&Tlp {
            bar: 2,
            ..tlp(&bytes, 0)
        });
    }
    let mut seen = Vec::new();
    for until in (50..4000).step_by(50) {
        let mut answers = Vec::new();
        for event in circuit.run(until).expect("it goes on").iter() {
            seen.push(format!("{event:?}"));
            if let Happening::Sent(bytes) = event.2 {
                answers.extend(completions(bytes));
            }
        }
        for bytes in &answers {
            circuit.push(&tlp(bytes, until + 20));
        }
    }
    (seen, circuit.short_cycles())
}

#[test]
fn most_cycles_of_a_host_read_are_short() {
    let (whole, _) = reading(Waves::Possible);
    let (short, cycles) = reading(Waves::Never);
    assert_eq!(whole, short);
    let sent = short.iter().filter(|event| event.contains("Sent")).count();
    assert_eq!(sent, 32, "requests of 512 bytes");
    let has_ended = short.iter().any(|event| event.contains("Interrupt"));
    assert!(has_ended, "all data came");
    assert!(cycles > 2000, "of 2304 cycles of data {cycles} were short");
}

#[test]
fn a_circuit_that_is_not_there_says_what_is() {
    look();
    let unknown = Circuit::new("dma", 64, 4000, Waves::Never).unwrap_err();
    let message = unknown.to_string();
    assert!(
        message.starts_with("there is no circuit 'dma'; there are: broken, "),
        "{message}"
    );
    // A name is no path: libraries outside the folder are not loaded.
    let path = Circuit::new("../built/loopback", 64, 4000, Waves::Never).unwrap_err();
    assert!(matches!(path, Missing::Name { .. }), "{path}");
    let wide = Circuit::new("loopback", 512, 4000, Waves::Never).unwrap_err();
    assert!(matches!(wide, Missing::Width { .. }), "{wide}");
}

#[test]
fn a_file_that_is_no_library_of_circuits_is_refused() {
    let missing = folder().join("none.so");
    assert_eq!(cosim::load("mine", &missing), Err(LoadError::Missing));
    let text = Path::new(file!()).file_name().expect("this file");
    let text = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(text);
    assert!(matches!(
        cosim::load("mine", &text),
        Err(LoadError::NotALibrary(_))
    ));
    let whole = std::fs::read(folder().join("loopback.so")).unwrap();
    let part = std::env::temp_dir().join(format!("part-{}.so", std::process::id()));
    for len in [0, 63, 64, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&part, &whole[..len]).unwrap();
        let loaded = cosim::load("mine", &part);
        assert!(
            matches!(loaded, Err(LoadError::NotALibrary(_))),
            "{len} bytes: {loaded:?}"
        );
    }
    std::fs::remove_file(&part).unwrap();
    assert_eq!(cosim::load("mine", &folder().join("loopback.so")), Ok(()));
    assert_eq!(
        Circuit::new("mine", 64, 4000, Waves::Never).unwrap().name(),
        "mine"
    );
    assert!(Circuit::all().contains(&"mine".to_owned()));
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
        let mut circuit = built("broken", 64, Waves::Never);
        circuit.allow(1);
        let bytes = [0; 24];
        circuit.push(&Tlp {
            bytes: &bytes,
            cycle: 20,
            label,
            bar: 0,
            is_non_posted: false,
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
    let path = folder.join("circuit.vcd");
    let mut circuit = with_waves(64, Waves::Possible);
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

#[test]
fn posted_tlps_pass_requests_that_the_circuit_does_not_take() {
    let mut circuit = built("dma_engine_source_sink", 64, Waves::Never);
    circuit.configure(Settings::default());
    circuit.allow(0);
    for tag in 0..5 {
        let mut read = vec![0, 0, 0, 1, 0, 0, tag, 0x0f];
        read.extend(0x8000_0098_u32.to_be_bytes());
        circuit.push(&Tlp {
            bar: 2,
            is_non_posted: true,
            ..tlp(&read, 0)
        });
        circuit.push(&Tlp {
            bar: 2,
            ..tlp(&register(0xa8, tag.into()), 0)
        });
    }
    let mut until = |cycle: u64| {
        let events = circuit.run(cycle).expect("it goes on");
        let counts = events.iter().fold([0; 3], |mut counts, (_, _, what)| {
            match what {
                Happening::Taken => counts[0] += 1,
                Happening::RequestTaken => counts[1] += 1,
                _ => counts[2] += 1,
            }
            counts
        });
        circuit.allow(10);
        counts
    };
    let [taken, requests, sent] = until(500);
    assert!(taken == 5 && (1..=2).contains(&requests) && sent == 0);
    assert_eq!(until(2000), [0, 5 - requests, 5]);
}

/// The engine at the beginning of its work, with permission to send.
fn idle_engine() -> Circuit {
    let mut circuit = built("dma_engine_source_sink", 64, Waves::Never);
    circuit.configure(Settings::default());
    circuit.allow(100);
    circuit
}

#[test]
fn an_error_is_reported_with_its_kind_and_the_header_of_its_packet() {
    let mut circuit = idle_engine();
    let mut read = vec![0, 0, 0, 1, 0, 0, 7, 0x0f];
    read.extend(0x9000_0000_u32.to_be_bytes());
    let mut other = read.clone();
    other[6] = 8;
    for bytes in [&read, &other] {
        circuit.push(&Tlp {
            is_non_posted: true,
            ..tlp(bytes, 0)
        });
    }
    let events = circuit.run(500).expect("it goes on");
    let reported: Vec<_> = events
        .iter()
        .filter_map(|(_, kind, what)| match what {
            Happening::Error(header) => Some((kind, header[..12].to_vec())),
            _ => None,
        })
        .collect();
    assert_eq!(reported, [(0, read), (0, other)]);
}

#[test]
fn a_circuit_ends_its_function_level_reset_by_itself_or_has_no_ports_for_one() {
    assert!(!loopback(64).resets_function());
    let mut circuit = idle_engine();
    assert!(circuit.resets_function() && !circuit.is_active());
    circuit.push(&Tlp {
        bar: 2,
        ..tlp(&register(0xa8, 5), 0)
    });
    circuit.run(100).expect("it goes on");
    for flr in [true, false] {
        circuit.configure(Settings {
            flr,
            ..Settings::default()
        });
        assert!(circuit.is_active(), "it needs its clock");
        circuit.run(circuit.cycle() + 50).expect("it goes on");
        assert!(!circuit.is_active());
        assert_eq!(circuit.is_reset_done(), flr);
    }
    let mut read = vec![0, 0, 0, 2, 0, 0, 1, 0xff];
    read.extend(0x8000_00a8_u32.to_be_bytes());
    circuit.push(&Tlp {
        bar: 2,
        is_non_posted: true,
        ..tlp(&read, circuit.cycle())
    });
    let events = circuit.run(circuit.cycle() + 100).expect("it goes on");
    let values: Vec<_> = events
        .iter()
        .filter_map(|(_, _, what)| match what {
            Happening::Sent(bytes) => Some(bytes[12..].to_vec()),
            _ => None,
        })
        .collect();
    assert_eq!(values, [vec![0; 8]], "the register is as after reset");
}
