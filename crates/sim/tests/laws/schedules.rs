//! Schedules: collective operations of GPUs give the right bytes for every algorithm, and take the time that the wires need.

use proptest::prelude::*;
use sim::result::ScheduleResult;

use crate::cases::cases;
use crate::fixture::run;

/// GPUs below one switch.
fn below_switch(count: usize, keys: &str) -> String {
    format!(
        "name = \"gpus\"\n[links]\ngeneration = 5\nlanes = 16\nspread_spectrum = false\n[hosts.host]\n[switches.sw]\nupstream = \"host\"\n\
         [devices.\"gpu{{i}}\"]\neach = \"i = 0..{}\"\nmodel = \"gpu\"\nupstream = \"sw\"\n{keys}\n",
        count - 1
    )
}

fn schedule(fabric: &str, count: usize, lines: &str) -> ScheduleResult {
    let devices: Vec<String> = (0..count)
        .map(|number| format!("\"gpu{number}\""))
        .collect();
    let text = format!(
        "{fabric}[[schedules]]\ndevices = [{}]\n{lines}\n",
        devices.join(", ")
    );
    let result = run(&text);
    assert!(result.errors.is_empty(), "{:?}", result.errors);
    result.workloads.schedules[0].clone()
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_device_has_the_right_bytes_in_the_end(
        (operation, algorithm) in prop_oneof![
            Just(("all-reduce", "ring")),
            Just(("all-reduce", "one-shot")),
            Just(("all-reduce", "two-shot")),
            Just(("all-reduce", "islands")),
            Just(("all-gather", "ring")),
            Just(("all-gather", "one-shot")),
            Just(("reduce-scatter", "ring")),
            Just(("reduce-scatter", "one-shot")),
            Just(("all-to-all", "one-shot")),
            Just(("broadcast", "ring")),
            Just(("broadcast", "one-shot")),
        ],
        count in 2..7_usize,
        words in 1..2000_usize,
        chunk in 1..3000_usize,
        by in prop_oneof![Just("push"), Just("pull")],
        engine in prop_oneof![Just("kernel"), Just("copy")],
        island in 1..4_usize,
    ) {
        let count = if algorithm == "islands" { count.next_multiple_of(island) } else { count };
        prop_assume!(count > 1);
        let size = 4 * words * count;
        let island = if algorithm == "islands" { format!("island = {island}") } else { String::new() };
        let lines = format!(
            "operation = \"{operation}\"\nalgorithm = \"{algorithm}\"\nsize = \"{size} B\"\nchunk = \"{} B\"\nby = \"{by}\"\nengine = \"{engine}\"\n{island}",
            4 * chunk
        );
        let result = schedule(&below_switch(count, ""), count, &lines);
        prop_assert!(result.correct, "{lines}: {result:?}");
        // The critical path covers the whole time.
        let path: f64 = result.critical_path.iter().map(|step| step.time_ns).sum();
        let time = result.time_ns.expect("it is complete");
        prop_assert!((path - time).abs() < 1e-3 * time, "{path} of {time}: {result:?}");
    }
}

#[test]
fn a_ring_all_reduce_sends_each_vector_twice_but_for_one_segment() {
    let result = schedule(
        &below_switch(4, ""),
        4,
        "size = \"64 KiB\"\nchunk = \"16 KiB\"",
    );
    // Each of 4 devices sends 3 of 4 segments, twice, and a flag of 4 bytes after each.
    assert_eq!(result.moved_bytes, 4 * 2 * 3 * (16 * 1024 + 4));
}

#[test]
fn a_push_takes_the_time_of_its_packets_on_the_wire() {
    // A store of 128 bytes above 4 GiB has 16 bytes of header, 8 of framing and 128 of data on a Gen5 x16 link of 63.0 GB/s.
    let size = 4 << 20;
    let lines = format!("operation = \"broadcast\"\nsize = \"{size} B\"\nchunk = \"{size} B\"");
    let keys = "kernel_latency = \"0 s\"\npoll_latency = \"0 s\"";
    for (payload, packet) in [(64.0, 88.0), (128.0, 152.0), (256.0, 280.0)] {
        let keys = format!("{keys}\nstore_payload = \"{payload} B\"");
        let result = schedule(&below_switch(2, &keys), 2, &lines);
        let bandlanes = 16.0 * 32e9 / 8.0 * 128.0 / 130.0;
        let least = f64::from(size) * packet / payload / bandwidth * 1e9;
        let time = result.time_ns.expect("it is complete");
        assert!(
            (least..1.02 * least).contains(&time),
            "{payload}: {time} of {least}"
        );
    }
}

#[test]
fn copies_wait_for_a_copy_engine() {
    // Three copies of 1,500 ns latency each: one after the other by one engine, all at once by three.
    let lines =
        "operation = \"broadcast\"\nalgorithm = \"one-shot\"\nsize = \"4 B\"\nengine = \"copy\"";
    let time = |engines: u32| {
        let fabric = below_switch(4, &format!("copy_engines = {engines}"));
        schedule(&fabric, 4, lines).time_ns.expect("it is complete")
    };
    let difference = time(1) - time(3);
    assert!((2_999.0..3_010.0).contains(&difference), "{difference}");
}

#[test]
fn an_all_reduce_by_two_shots_is_faster_than_by_one_shot_above_some_size_only() {
    let fabric = below_switch(4, "");
    let time = |algorithm: &str, size: &str| {
        let lines = format!("algorithm = \"{algorithm}\"\nsize = \"{size}\"");
        schedule(&fabric, 4, &lines)
            .time_ns
            .expect("it is complete")
    };
    assert!(time("one-shot", "4 KiB") < time("two-shot", "4 KiB"));
    assert!(time("two-shot", "1 MiB") < time("one-shot", "1 MiB"));
}
