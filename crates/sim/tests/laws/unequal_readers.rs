//! Reads of devices of unequal speed behind one switch: completions for the slow device hold the receive buffer that both share.

use crate::fixture::*;

/// A scenario with a slow device on a Gen1 x1 link and a fast device on a Gen3 x8 link, below a switch on a Gen3 x8 link. The devices in `readers`
/// read. The slow device has 32 KiB of requests in flight, twice the size of the receive buffer of the switch.
fn below_a_switch(switch: &str, readers: &[&str]) -> String {
    let device = |name: &str, link: &str, tags: u32| {
        format!("[devices.{name}]\nupstream = {{ to = \"s\"{link} }}\ntags = {tags}\n")
    };
    let flow = |name: &&str| {
        format!(
            "[[flows]]\nid = \"{name}\"\nfrom = \"{name}\"\nto = \"h0\"\ndirection = \"read\"\nrequest_size = \"512 B\"\nduration = \"1000 us\"\nwindow = \"64 KiB\"\n"
        )
    };
    let flows: Vec<String> = readers.iter().map(flow).collect();
    format!(
        "[links]\ngeneration = 3\nlanes = 8\n[hosts.h0]\nmemory_bandwidth = \"100 GB/s\"\n[measure]\nfrom = \"200 us\"\nuntil = \"1000 us\"\n[switches.s]\nupstream = \"h0\"\ncompletion_data = \"16 KiB\"\n{switch}"
    ) + &device("slow", ", generation = 1, lanes = 1", 64)
        + &device("fast", "", 256)
        + &flows.concat()
}

/// The steady rate of each reader in bytes per second. One packet more or less changes the rate of the slow device by 0.3 %.
fn rates<const N: usize>(switch: &str, readers: [&str; N]) -> [f64; N] {
    let result = run(&below_a_switch(switch, &readers)).all_intact();
    readers.map(|id| steady(result.flow(id)))
}

const BOTH: [&str; 2] = ["slow", "fast"];

/// The max-min fair shares: the rate of the slow link, and the remaining rate of the link that both devices share.
fn shares() -> [f64; 2] {
    let [[slow], [all]] = [rates("", ["slow"]), rates("", ["fast"])];
    [slow, all - slow]
}

#[test]
fn completions_for_a_slow_device_block_those_for_a_fast_one() {
    let ([slow, fast], [slow_share, fast_share]) = (rates("", BOTH), shares());
    close(slow, slow_share, 1.0);
    // The buffer fills with completions for the slow device, and empties at its rate.
    assert!(fast < 0.5 * fast_share, "{fast} of {fast_share}");
}

#[test]
fn queues_by_output_give_each_device_its_share() {
    let rates = rates("output_queue = \"64 KiB\"\n", BOTH);
    for (rate, share) in rates.into_iter().zip(shares()) {
        close(rate, share, 1.0);
    }
}

#[test]
fn queues_by_output_that_are_too_small_block_as_well() {
    let [_, fast] = rates("output_queue = \"4 KiB\"\n", BOTH);
    let [_, fast_share] = shares();
    assert!(fast < 0.6 * fast_share, "{fast} of {fast_share}");
}
