//! A filtered capture is the part of the unfiltered capture that matches the filter. No capture changes the run.

use std::collections::BTreeMap;
use std::fs::File;

use kernel::{Span, Time};
use proptest::prelude::*;
use serde_json::Value;
use sim::result::RunResult;
use sim::{CaptureFormat, FilterOptions};

use crate::fixture::*;

/// Reads and writes of three flows through a switch, with bit errors, on links of several widths.
const BUSY: &str = r#"
    seed = 7
    [links]
    generation = 3
    lanes = 4
    bit_error_rate = 1e-5
    [hosts.h0]
    [switches.s]
    upstream = "h0"
    [devices.a]
    upstream = "s"
    [devices.b]
    upstream = "s"
    bar = "1 MiB"
    [[flows]]
    id = "both"
    from = "a"
    to = "h0"
    direction = "both"
    size = "16 KiB"
    [[flows]]
    id = "peer"
    from = "a"
    to = "b"
    size = "16 KiB"
"#;

/// Runs `BUSY` with a capture for each format and filter in `all`. Returns the result, the number of events, and the contents of the files.
fn captured(all: &[(CaptureFormat, FilterOptions)]) -> (RunResult, u64, Vec<Vec<u8>>) {
    captured_of(BUSY, all)
}

fn captured_of(
    text: &str,
    all: &[(CaptureFormat, FilterOptions)],
) -> (RunResult, u64, Vec<Vec<u8>>) {
    let folder = std::env::temp_dir();
    let path = |number| {
        folder.join(format!(
            "peerlane-captures-{:?}-{number}",
            std::thread::current().id()
        ))
    };
    let mut simulation = simulation(text);
    for (number, (format, filter)) in all.iter().enumerate() {
        let file = File::create(path(number)).expect("a file in the temporary folder");
        let begun = simulation.capture(*format, filter, file);
        begun.unwrap_or_else(|error| panic!("{error}"));
    }
    assert!(simulation.run(&mut |_| true));
    // The run continues until acknowledgements and credit updates have arrived.
    let rest = Time::from_fs(simulation.now().as_fs() + Span::from_us(20).as_fs());
    simulation.run_until(rest, &mut || true);
    flush(&mut simulation);
    let files = (0..all.len()).map(|number| {
        let bytes = std::fs::read(path(number)).expect("the capture is there");
        std::fs::remove_file(path(number)).expect("the capture can be removed");
        bytes
    });
    let files = files.collect();
    (simulation.result(), simulation.events(), files)
}

/// A DLLP with its framing has 8 symbols. On one lane of Gen3, they take the time of 64 bits plus a part of the sync headers.
#[test]
fn a_dllp_takes_the_time_of_the_lanes_that_its_link_has() {
    let text = "[links]\ngeneration = 3\nlanes = 16\n[hosts.h]\n[devices.d]\nupstream = \"h\"\n[[flows]]\nfrom = \"d\"\nto = \"h\"\nsize = \"16 KiB\"\nstart = \"20 us\"\n[[incidents]]\nat = \"0 ns\"\nwhat = \"degrade\"\nnode = \"d\"\nlanes = 1\n";
    let filter = FilterOptions {
        kinds: texts(&["dllp"]),
        ..FilterOptions::default()
    };
    let (_, _, files) = captured_of(text, &[(CaptureFormat::Vcd, filter)]);
    let mut now = 0_u64;
    let mut since = BTreeMap::new();
    let mut shortest = u64::MAX;
    let text = std::str::from_utf8(&files[0]).expect("a value change dump is text");
    for line in text.lines() {
        if let Some(time) = line.strip_prefix('#') {
            now = time.parse().expect("a time");
        } else if let Some(wire) = line.strip_prefix('1') {
            since.insert(wire, now);
        } else if let Some(begin) = line.strip_prefix('0').and_then(|wire| since.remove(wire)) {
            // Several transmissions without a pause appear as one longer busy time, so the minimum is the time of one DLLP.
            if begin > 10_000_000 {
                shortest = shortest.min(now - begin);
            }
        }
    }
    assert_eq!(shortest / 1000, 8, "{shortest} ps");
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).expect("a trace is text");
    let line = |line: &str| serde_json::from_str(line).expect("a line is a JSON object");
    text.lines().map(line).collect()
}

fn trace(filter: FilterOptions) -> (CaptureFormat, FilterOptions) {
    (CaptureFormat::Trace, filter)
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|one| (*one).to_owned()).collect()
}

/// The lines of the unfiltered trace that a filter should let pass, calculated only from the description of filters in the reference.
fn expected(whole: &[Value], filter: &FilterOptions, window: Option<(f64, f64)>) -> Vec<Value> {
    let mut left: Vec<(String, Value)> = Vec::new();
    let mut requests: Vec<String> = Vec::new();
    let range = filter.address.as_deref().map(|text| {
        let ends: Vec<u64> = text.split('-').map(hexadecimal).collect();
        (ends[0], ends[1])
    });
    let mut found = Vec::new();
    for line in whole {
        let way = format!("{} {}", line["link"], line["direction"]);
        let left_line = if line["arrival"] == "tlp" {
            let position = left.iter().position(|(one, _)| *one == way);
            left.remove(position.expect("what arrives has left")).1
        } else {
            if line.get("tlp").is_some() {
                left.push((way, line.clone()));
            }
            line.clone()
        };
        let (kind, group) = match ["tlp", "dllp", "ordered_set"]
            .iter()
            .find_map(|key| Some((left_line.get(*key)?.as_str()?.to_owned(), *key)))
        {
            Some(found) => found,
            None => (dllp(&left_line), "dllp"),
        };
        let kinds = &filter.kinds;
        let passes_kind =
            kinds.is_empty() || kinds.contains(&kind) || kinds.iter().any(|one| one == group);
        let transaction = format!("{} {}", left_line["requester"], left_line["tag"]);
        let passes_address = range.is_none_or(|(first, last)| {
            if line.get("arrival").is_none() {
                let address = left_line["address"].as_str().map(hexadecimal);
                let inside = address.is_some_and(|address| {
                    let end = address
                        + left_line["length"]
                            .as_u64()
                            .expect("a request has a length");
                    address <= last && first < end
                });
                if left_line["class"] == "non-posted" {
                    requests.retain(|one| *one != transaction);
                    if inside {
                        requests.push(transaction.clone());
                    }
                }
                left_line["class"] == "completion" && requests.contains(&transaction) || inside
            } else {
                found.contains(&left_line)
            }
        });
        let passes_flow = filter.flows.is_empty()
            || left_line["flow"]
                .as_str()
                .is_some_and(|flow| filter.flows.iter().any(|one| one == flow));
        let passes_link =
            filter.at.is_empty() || filter.at.iter().any(|one| line["link"] == one.as_str());
        let ns = line["ns"].as_f64().expect("a line has a time");
        let passes_time = window.is_none_or(|(from, to)| (from..to).contains(&ns));
        if passes_kind && passes_address && passes_flow && passes_link && passes_time {
            found.push(line.clone());
        }
    }
    found
}

fn dllp(arrival: &Value) -> String {
    let raw = arrival["raw"].as_str().expect("a DLLP has its bytes");
    let first = u8::from_str_radix(&raw[..2], 16).expect("they are hexadecimal");
    let name = match first {
        0x00 => "Ack",
        0x10 => "Nak",
        0x02 => "Feature",
        _ => match first >> 6 {
            1 => "InitFC1",
            3 => "InitFC2",
            _ => "UpdateFC",
        },
    };
    name.to_owned()
}

fn hexadecimal(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect("a hexadecimal number")
}

#[test]
fn no_capture_changes_the_run() {
    let (alone, events, _) = captured(&[]);
    let narrow = FilterOptions {
        at: texts(&["s-a"]),
        kinds: texts(&["MWr"]),
        ..FilterOptions::default()
    };
    let formats = [
        CaptureFormat::Trace,
        CaptureFormat::Perfetto,
        CaptureFormat::Vcd,
    ];
    let everything = formats.map(|format| (format, FilterOptions::default()));
    let part = formats.map(|format| (format, narrow.clone()));
    let all = [&everything[..], &part].concat();
    let json = |result: &RunResult| serde_json::to_string(result).expect("a result is JSON");
    let trace = &captured(&all[..1]).2[0];
    for captures in [&all[..], &all[1..2], &all[2..3], &part[1..]] {
        let (watched, watched_events, files) = captured(captures);
        assert_eq!(json(&alone), json(&watched));
        // Without a capture, an idle link end only counts refreshes of credit. With a capture, it sends them, so the run has more events.
        assert!(events > 1000 && watched_events >= events);
        assert!(files.iter().all(|file| !file.is_empty()));
        if captures.len() == all.len() {
            assert!(files[0] == *trace, "one capture changes another");
        }
    }
}

#[test]
fn each_capture_has_its_own_filter() {
    let filters = [
        FilterOptions::default(),
        FilterOptions {
            at: texts(&["h0-s", "s-b"]),
            ..FilterOptions::default()
        },
        FilterOptions {
            kinds: texts(&["CplD", "dllp"]),
            ..FilterOptions::default()
        },
        FilterOptions {
            kinds: texts(&["ordered_set", "MRd"]),
            ..FilterOptions::default()
        },
        FilterOptions {
            flows: texts(&["peer"]),
            at: texts(&["s-b"]),
            ..FilterOptions::default()
        },
    ];
    let all: Vec<_> = filters.iter().cloned().map(trace).collect();
    let (_, _, files) = captured(&all);
    let whole = lines(&files[0]);
    for (filter, file) in filters.iter().zip(&files) {
        let found = lines(file);
        assert!(
            found.len() > 10,
            "{filter:?} lets {} lines pass",
            found.len()
        );
        assert!(found == expected(&whole, filter, None), "{filter:?}");
    }
}

#[test]
fn completions_pass_an_address_if_their_requests_do() {
    let (_, _, files) = captured(&[trace(FilterOptions::default())]);
    let whole = lines(&files[0]);
    let reads = whole.iter().filter(|line| line["tlp"] == "MRd");
    let read = reads.max_by_key(|line| hexadecimal(line["address"].as_str().expect("an address")));
    let read = read.expect("a flow reads");
    let address = hexadecimal(read["address"].as_str().expect("an address"));
    let filter = FilterOptions {
        address: Some(format!("{:#x}-{:#x}", address + 3, address + 4)),
        ..FilterOptions::default()
    };
    let (_, _, files) = captured(&[trace(filter.clone())]);
    let found = lines(&files[0]);
    assert!(found == expected(&whole, &filter, None));
    let kinds = |kind: &str| found.iter().filter(|line| line["tlp"] == kind).count();
    assert!(
        kinds("MRd") >= 2 && kinds("CplD") >= 2,
        "requests and completions on both links"
    );
    assert!(found.iter().any(|line| line["arrival"] == "tlp"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Ordered sets are not checked here, because the ordered sets of an idle wire are reported together.
    #[test]
    fn a_window_takes_what_begins_in_it(from in 0_u64..12_000, length in 1_u64..12_000) {
        let window = FilterOptions {
            kinds: texts(&["tlp", "dllp"]),
            window: Some(format!("{from}ns..{}ns", from + length)),
            ..FilterOptions::default()
        };
        let (_, _, files) = captured(&[trace(FilterOptions::default()), trace(window.clone())]);
        let bounds = (from as f64, (from + length) as f64);
        let whole = lines(&files[0]);
        prop_assert!(lines(&files[1]) == expected(&whole, &window, Some(bounds)));
    }
}

#[test]
fn a_filter_names_what_is_there() {
    let mut simulation = simulation(BUSY);
    let mut wrong = |filter: FilterOptions| {
        let read = simulation.filter(&filter);
        read.expect_err("it cannot be meant").to_string()
    };
    let link = FilterOptions {
        at: texts(&["s-a", "s-c"]),
        ..FilterOptions::default()
    };
    assert_eq!(
        wrong(link),
        r#"at "s-c": there is no link of this name; did you mean "s-a"?"#
    );
    let flow = FilterOptions {
        flows: texts(&["pear"]),
        ..FilterOptions::default()
    };
    assert_eq!(
        wrong(flow),
        r#"flow "pear": there is no flow or other workload of this name; did you mean "peer"?"#
    );
}
