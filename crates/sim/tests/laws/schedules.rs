//! Schedules: collective operations of GPUs give the right bytes for every algorithm, and take the time that the wires need.

use proptest::prelude::*;
use sim::result::ScheduleResult;

use crate::cases::cases;
use crate::fixture::{Ask as _, run};
use crate::network::threads::is_the_same_on_threads;

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
        prop_assert!(result.joint.correct, "{lines}: {result:?}");
        // The critical path covers the whole time.
        let path: f64 = result.critical_path.iter().map(|step| step.time_ns).sum();
        let time = result.joint.time_ns.expect("it is complete");
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
    assert_eq!(result.joint.moved_bytes, 4 * 2 * 3 * (16 * 1024 + 4));
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
        let bandwidth = 16.0 * 32e9 / 8.0 * 128.0 / 130.0;
        let least = f64::from(size) * packet / payload / bandwidth * 1e9;
        let time = result.joint.time_ns.expect("it is complete");
        assert!(
            (least..1.02 * least).contains(&time),
            "{payload}: {time} of {least}"
        );
    }
}

#[test]
fn a_memory_takes_writes_at_its_rate_and_reads_are_not_limited() {
    let lines = |by: &str| format!("operation = \"broadcast\"\nsize = \"1 MiB\"\nby = \"{by}\"");
    let keys = "kernel_latency = \"0 s\"\npoll_latency = \"0 s\"\ningress_bandwidth = \"10 GB/s\"";
    let time = |by: &str| {
        schedule(&below_switch(2, keys), 2, &lines(by))
            .joint
            .time_ns
    };
    let (pushed, pulled) = (time("push"), time("pull"));
    let least = f64::from(1 << 20) / 10.0;
    assert!(
        pushed.is_some_and(|time| (least..1.02 * least).contains(&time)),
        "{pushed:?}"
    );
    assert!(pulled.is_some_and(|time| time < 0.5 * least), "{pulled:?}");
}

#[test]
fn copies_wait_for_a_copy_engine() {
    // Three copies of 1,500 ns latency each: one after the other by one engine, all at once by three.
    let lines =
        "operation = \"broadcast\"\nalgorithm = \"one-shot\"\nsize = \"4 B\"\nengine = \"copy\"";
    let time = |engines: u32| {
        let fabric = below_switch(4, &format!("copy_engines = {engines}"));
        schedule(&fabric, 4, lines)
            .joint
            .time_ns
            .expect("it is complete")
    };
    let difference = time(1) - time(3);
    assert!((2_990.0..3_010.0).contains(&difference), "{difference}");
}

#[test]
fn an_all_reduce_by_two_shots_is_faster_than_by_one_shot_above_some_size_only() {
    let fabric = below_switch(4, "");
    let time = |algorithm: &str, size: &str| {
        let lines = format!("algorithm = \"{algorithm}\"\nsize = \"{size}\"");
        schedule(&fabric, 4, &lines)
            .joint
            .time_ns
            .expect("it is complete")
    };
    assert!(time("one-shot", "4 KiB") < time("two-shot", "4 KiB"));
    assert!(time("two-shot", "1 MiB") < time("one-shot", "1 MiB"));
}

/// Two GPUs below a switch, and a schedule of written steps.
fn steps(lines: &str) -> String {
    format!(
        "{}[[schedules]]\nid = \"s\"\ndevices = [\"gpu0\", \"gpu1\"]\noperation = \"steps\"\nsize = \"64 KiB\"\n{lines}",
        below_switch(2, "")
    )
}

fn step(id: &str, device: &str, lines: &str) -> String {
    format!("[[steps]]\nid = \"{id}\"\nschedule = \"s\"\ndevice = \"{device}\"\n{lines}\n")
}

#[test]
fn written_steps_follow_each_other_from_device_to_device() {
    let text = steps(
        &[
            step(
                "store",
                "gpu1",
                "work = \"push\"\npeer = \"host\"\nafter = [\"pass\"]",
            ),
            step("load", "gpu0", "work = \"pull\"\npeer = \"host\""),
            step(
                "wait",
                "gpu0",
                "work = \"compute\"\ntime = \"20 us\"\nafter = [\"load\"]",
            ),
            step(
                "pass",
                "gpu0",
                "work = \"push\"\npeer = \"gpu1\"\nsize = \"4 KiB\"\nafter = [\"wait\"]",
            ),
        ]
        .concat(),
    );
    let result = run(&text);
    assert!(result.workloads.schedules[0].joint.correct);
    let steps = &result.workloads.steps;
    let ends: Vec<(f64, f64)> = ["load", "wait", "pass", "store"]
        .iter()
        .map(|id| {
            let step = steps
                .iter()
                .find(|step| step.id == *id)
                .expect("the step has a result");
            (
                step.begin_ns.expect("it began"),
                step.end_ns.expect("it ended"),
            )
        })
        .collect();
    assert!(
        ends.windows(2).all(|pair| pair[0].1 <= pair[1].0),
        "{ends:?}"
    );
    assert!((ends[1].1 - ends[1].0 - 20_000.0).abs() < 1.0, "{ends:?}");
    let bytes: Vec<u64> = steps.iter().map(|step| step.bytes).collect();
    assert_eq!(bytes, [64 << 10, 64 << 10, 0, 4 << 10]);
}

/// A step has the latency and the packets of its own engine, which need not be the engine of the schedule.
#[test]
fn a_step_may_have_another_engine_than_its_schedule() {
    let time = |of_schedule: &str, of_step: &str| {
        let push = format!("peer = \"gpu1\"\n{of_step}");
        let text = steps(&step("a", "gpu0", &push));
        let text = text.replace(
            "size = \"64 KiB\"\n",
            &format!("size = \"64 KiB\"\n{of_schedule}\n"),
        );
        let schedule = &run(&text).workloads.schedules[0];
        assert!(schedule.joint.correct);
        schedule.joint.time_ns.map(f64::to_bits)
    };
    let (kernel, copy) = ("engine = \"kernel\"", "engine = \"copy\"");
    assert_ne!(time(kernel, ""), time(copy, ""));
    assert_eq!(time(kernel, copy), time(copy, ""));
    assert_eq!(time(copy, kernel), time(kernel, ""));
}

#[test]
fn steps_that_wait_for_each_other_are_named() {
    let after = |id: &str, earlier: &str| {
        step(
            id,
            "gpu0",
            &format!("work = \"compute\"\nafter = [\"{earlier}\"]"),
        )
    };
    let text = steps(
        &[
            after("a", "c"),
            after("b", "a"),
            after("c", "b"),
            after("d", "c"),
        ]
        .concat(),
    );
    let message = crate::bad_input::refusal(&text);
    assert!(
        message.contains(
            "these steps wait for each other: a after c after b after a; leave one of them out"
        ),
        "{message}"
    );
}

#[test]
fn devices_that_cannot_reach_each_other_are_named_with_the_reason() {
    let refusal = |host: &str, switch: &str, lines: &str| {
        let text = format!(
            "[hosts.host]\n{host}\n[switches.sw]\nupstream = \"host\"\n{switch}\n[devices.a]\nmodel = \"gpu\"\nupstream = \"sw\"\n[devices.b]\nmodel = \"gpu\"\nupstream = \"sw\"\n\
             [devices.c]\nmodel = \"gpu\"\nupstream = \"host\"\n[[schedules]]\n{lines}\n"
        );
        crate::bad_input::refusal(&text)
    };
    let none = "peer_to_peer = \"none\"";
    let message = refusal(none, "", "devices = [\"a\", \"c\"]");
    assert!(
        message.contains("requests from a to c pass the host host, which forwards none"),
        "{message}"
    );
    let message = refusal(
        "peer_to_peer = \"writes\"",
        "",
        "devices = [\"a\", \"c\"]\nby = \"pull\"",
    );
    assert!(message.contains("which forwards no reads"), "{message}");
    let message = refusal(none, "acs_redirect = true", "devices = [\"a\", \"b\"]");
    assert!(
        message.contains("(ACS of sw redirects requests between its ports to the host)"),
        "{message}"
    );
    let message = refusal("", "", "devices = [\"a\", \"host\"]");
    assert!(message.contains("host is no GPU"), "{message}");
    let message = refusal("", "", "devices = [\"a\"]");
    assert!(
        message.contains("one device has nothing to exchange"),
        "{message}"
    );
}

#[test]
fn the_critical_path_contains_the_wait_for_a_copy_engine() {
    let lines =
        "operation = \"broadcast\"\nalgorithm = \"one-shot\"\nsize = \"4 B\"\nengine = \"copy\"";
    let result = schedule(&below_switch(4, "copy_engines = 1"), 4, lines);
    let path: f64 = result.critical_path.iter().map(|step| step.time_ns).sum();
    assert!(
        (path - result.joint.time_ns.expect("it is complete")).abs() < 1e-6,
        "{result:?}"
    );
}

#[test]
fn a_step_whose_bytes_do_not_arrive_has_not_ended_well() {
    let abort = "[[incidents]]\nat = \"0 s\"\nwhat = \"completer-abort\"\nnode = \"gpu1\"\noffset = \"0 B\"\nsize = \"64 KiB\"\n";
    let pull = step("pull", "gpu0", "work = \"pull\"\npeer = \"gpu1\"");
    let result = run(&steps(&[pull, abort.to_owned()].concat()));
    assert!(!result.workloads.schedules[0].joint.correct);
    assert!(!result.workloads.steps[0].completed);
}

/// GPUs `a` and `b` below switch `s1`, which is below `s0`, and `c` below `s0`; a schedule of `a` and another one.
fn nested(host: &str, outer: &str, inner: &str, lines: &str) -> String {
    format!(
        "[hosts.host]\n{host}\n[switches.s0]\nupstream = \"host\"\n{outer}\n[switches.s1]\nupstream = \"s0\"\n{inner}\n\
         [devices.a]\nmodel = \"gpu\"\nupstream = \"s1\"\n[devices.b]\nmodel = \"gpu\"\nupstream = \"s1\"\n\
         [devices.c]\nmodel = \"gpu\"\nupstream = \"s0\"\n[[schedules]]\nsize = \"4 KiB\"\n{lines}\n"
    )
}

#[test]
fn a_schedule_is_refused_if_and_only_if_its_requests_do_not_arrive() {
    let none = "peer_to_peer = \"none\"";
    let (redirect, forward) = ("acs_redirect = true", "acs_upstream_forwarding = true");
    let (ab, ac) = ("devices = [\"a\", \"b\"]", "devices = [\"a\", \"c\"]");
    for (host, outer, inner, devices, is_possible) in [
        ("", "", "", ab, true),
        (none, "", "", ab, true),
        (none, "", "", ac, true),
        // The redirect of the lower switch does not concern requests that turn around at the upper one.
        (none, "", redirect, ac, true),
        (none, redirect, "", ac, false),
        ("", redirect, "", ac, true),
        ("acs_upstream_forwarding = false", redirect, "", ac, false),
        ("", "", redirect, ab, false),
        ("", forward, redirect, ab, true),
        (none, forward, redirect, ab, false),
    ] {
        let text = nested(host, outer, inner, devices);
        if is_possible {
            let result = run(&text);
            assert!(result.workloads.schedules[0].joint.correct, "{text}");
        } else {
            let message = crate::bad_input::refusal(&text);
            assert!(message.contains("pass the host host"), "{message}\n{text}");
        }
    }
}

#[test]
fn a_reset_ends_the_program_of_its_gpu_and_a_program_that_begins_later_is_kept() {
    let reset = "[[incidents]]\nat = \"5 us\"\nwhat = \"function-level-reset\"\nnode = \"gpu0\"\nwait = \"200 us\"\n";
    let of = |start: &str| {
        let lines = format!("size = \"1 MiB\"\nstart = \"{start}\"");
        let devices = "devices = [\"gpu0\", \"gpu1\"]";
        run(&format!(
            "{}{reset}[[schedules]]\n{devices}\n{lines}\n",
            below_switch(2, "ingress_bandwidth = \"20 GB/s\"")
        ))
    };
    let interrupted = &of("0 s").workloads.schedules[0];
    assert!(
        !interrupted.joint.completed && !interrupted.joint.correct,
        "{interrupted:?}"
    );
    let kept = &of("300 us").workloads.schedules[0];
    assert!(kept.joint.correct, "{kept:?}");
}

#[test]
fn schedules_that_overlap_in_time_do_not_disturb_each_other_and_threads_change_nothing() {
    let devices = "devices = [\"gpu0\", \"gpu1\", \"gpu2\", \"gpu3\", \"gpu4\", \"gpu5\", \"gpu6\", \"gpu7\"]";
    let fabric = "[hosts.host]\n[switches.\"sw{i}\"]\neach = \"i = 0..3\"\nupstream = \"host\"\n\
         [devices.\"gpu{i}\"]\neach = \"i = 0..7\"\nmodel = \"gpu\"\nupstream = \"sw{i / 2}\"\n";
    let text = format!(
        "{fabric}[[schedules]]\n{devices}\nsize = \"32 KiB\"\nchunk = \"1 KiB\"\n\
         [[schedules]]\n{devices}\nsize = \"8 KiB\"\nalgorithm = \"two-shot\"\nengine = \"copy\"\nby = \"pull\"\n"
    );
    let result = run(&text);
    assert!(
        result
            .workloads
            .schedules
            .iter()
            .all(|one| one.joint.correct)
    );
    // A ring moves 4 pieces of each of 8 segments; each has a transfer, a flag, a wait and, in half of the turns, a sum. The first step starts the kernel.
    assert_eq!(
        result.workloads.schedules[0].steps,
        8 * (1 + 4 * 7 * (4 + 3))
    );
    assert!(is_the_same_on_threads(&text, true));
}

/// The memory of a GPU holds data that its steps use, so no flow gets the same bytes because others left too few.
#[test]
fn a_flow_that_finds_no_space_in_the_memory_of_a_gpu_is_refused() {
    let flow = |id: &str| {
        format!(
            "[[flows]]\nid = \"{id}\"\nfrom = \"host\"\nto = \"gpu0\"\ndirection = \"write\"\nsize = \"768 KiB\"\n"
        )
    };
    let fabric = below_switch(2, "memory = \"1 MiB\"");
    run(&(fabric.clone() + &flow("a"))).all_intact();
    let message = crate::bad_input::refusal(&(fabric + &flow("a") + &flow("b")));
    assert!(
        message.contains("flow \"b\", size: other workloads leave no 768 KiB in the memory of gpu0; write a larger memory, or an offset"),
        "{message}"
    );
}

#[test]
fn bad_steps_are_refused() {
    let refusal = |lines: &[String]| crate::bad_input::refusal(&steps(&lines.concat()));
    for (lines, wanted) in [
        (
            "work = \"pull\"\npeer = \"gpu1\"\nsize = \"0 B\"",
            "a step has 1 B at least",
        ),
        (
            "work = \"reduce\"\nsize = \"6 B\"",
            "a reduce adds whole 32-bit words",
        ),
        ("work = \"push\"", "a push or a pull needs a peer"),
        (
            "work = \"push\"\npeer = \"gpu0\"",
            "it is the device itself",
        ),
        (
            "work = \"push\"\npeer = \"gpu9\"",
            "gpu9 is no device of the schedule",
        ),
        (
            "work = \"push\"\npeer = \"gpu1\"\noffset = \"1 KiB\"",
            "the vector ends at 64 KiB",
        ),
        (
            "work = \"compute\"\npeer = \"gpu1\"",
            "a step of work = \"compute\" has none",
        ),
        (
            "work = \"copy\"\nafter = [\"nothing\"]",
            "there is no step of this schedule \"nothing\"",
        ),
    ] {
        let message = refusal(&[step("a", "gpu0", lines)]);
        assert!(message.contains(wanted), "{message}");
    }
    let message = crate::bad_input::refusal(&steps(""));
    assert!(
        message.contains("there are no steps; write [[steps]]"),
        "{message}"
    );
}
