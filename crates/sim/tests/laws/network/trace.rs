//! The trace of fibres. A trace does not change a run.

use serde_json::Value;

use super::*;

fn busy(reliable: bool) -> String {
    let net = Net::new("torus", &[4, 4])
        .with_network("fibre_bit_error_rate = 1e-5")
        .with_routers(&format!("reliable = {reliable}\nbar = \"64 KiB\""));
    net.text()
        + "[[traffic]]\nid = \"t\"\nnetwork = \"n\"\nload = \"1 GB/s\"\nduration = \"5 us\"\nfrom = \"routers\"\nto = \"routers\"\n"
        + "[[collectives]]\nnetwork = \"n\"\noperation = \"all-reduce\"\nsize = \"1 KiB\"\nstart = \"100 us\"\n"
        + &flow(
            "f",
            "n-0-0",
            "n-2-1-host",
            "size = \"16 KiB\"\nrequest_size = \"512 B\"",
        )
        + &flow(
            "g",
            "n-1-1-host",
            "n-2-2",
            "size = \"16 KiB\"\nrequest_size = \"64 B\"",
        )
}

#[test]
fn one_seed_is_one_run_with_or_without_a_trace() {
    for reliable in [false, true] {
        let text = busy(reliable);
        let (watched, first) = trace_bytes(&text);
        let (_, second) = trace_bytes(&text);
        assert!(first == second, "two traces of one scenario differ");
        let plain = run(&text);
        let json = |result: &RunResult| serde_json::to_string(result).expect("a result is data");
        assert_eq!(json(&watched), json(&plain));
        let other = trace_bytes(&format!("seed = 2\n{text}")).1;
        assert!(first != other, "another seed changes nothing");
    }
}

#[test]
fn a_frame_is_shown_with_its_envelope_and_its_fibre() {
    let text = line(3, "clock_compensation = false\nbar = \"64 KiB\"", "")
        + &flow("f", "r0", "r2", "count = 1\nrequest_size = \"256 B\"");
    let (result, lines) = trace(&text);
    let _ = result.all_intact();
    let frames: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("frame").is_some())
        .collect();
    assert_eq!(frames.len(), 2);
    for (frame, (link, direction)) in frames.iter().zip([("r0-r1", "r0-r1"), ("r1-r2", "r1-r2")]) {
        assert_eq!(
            (&frame["link"], &frame["direction"]),
            (&link.into(), &direction.into())
        );
        let frame = &frame["frame"];
        assert_eq!(frame["kind"], "message");
        assert_eq!(
            (&frame["source"], &frame["destination"], &frame["port"]),
            (&0.into(), &2.into(), &0.into())
        );
        assert_eq!(
            (&frame["length"], &frame["bytes"]),
            (&256.into(), &276.into())
        );
        assert_eq!(frame["length_ns"], cycles(256, 4) as f64 * 6.4);
        assert_eq!(
            (&frame["replay"], &frame["flow"]),
            (&false.into(), &"f".into())
        );
    }
    let blocks: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("block").is_some())
        .collect();
    assert!(
        blocks
            .iter()
            .all(|line| line["block"]["kind"] == "freed"
                && line["block"]["cycles"] == cycles(256, 4))
    );
    assert_eq!(blocks[0]["direction"], "r1-r0");
}

#[test]
fn frames_sent_again_and_what_asks_for_them_are_shown() {
    let text = line(
        2,
        "reliable = true\nbar = \"64 KiB\"",
        "fibre_bit_error_rate = 1e-5",
    ) + &flow("f", "r0", "r1", "size = \"64 KiB\"");
    let (result, lines) = trace(&text);
    let result = result.all_intact();
    let replays = lines
        .iter()
        .filter(|line| line["frame"]["replay"] == true)
        .count();
    assert_eq!(
        replays as u64,
        result.fibres[0].replays + result.fibres[1].replays
    );
    for kind in ["acknowledge", "refuse", "freed"] {
        assert!(
            lines.iter().any(|line| line["block"]["kind"] == kind),
            "{kind}"
        );
    }
}

#[test]
fn frames_of_workloads_and_collectives_have_their_names() {
    let (_, lines) = trace(&busy(false));
    for (name, kind) in [
        ("t", "message"),
        ("f", "message"),
        ("g", "tlp"),
        ("collective-1", "sum"),
    ] {
        let of = |line: &&Value| line["frame"]["flow"] == name && line["frame"]["kind"] == kind;
        assert!(lines.iter().any(|line| of(&line)), "{name} {kind}");
    }
}
