//! Data that becomes poisoned in transit or in a memory, and completers that abort: the data is not used, and the errors are reported.

use device::sg_dma::registers::{Status, Unit, offset};
use nvme::registers::{CSTS, FATAL};
use protocol::register::{COMMAND, SECONDARY_STATUS, UNCORRECTABLE_STATUS};
use sim::Simulation;
use sim::result::RunResult;
use transaction::FunctionPlace;

use crate::coherence::host;
use crate::error_messages::{ended, incident};
use crate::fixture::{Ask, HOST};

const POISONED: u32 = 1 << 12;
const ABORTED: u32 = 1 << 15;

/// A scenario with a device below a switch below a host, a flow of 16 KiB, and an incident at 1 us.
fn fabric(device: &str, flow: &str, incident: &str) -> String {
    format!(
        "[links]\nlanes = 1\n{HOST}error_reporting = true\n[switches.s]\nupstream = \"h0\"\n[devices.d]\nupstream = \"s\"\n{device}[[flows]]\nid = \"f\"\nsize = \"16 KiB\"\n{flow}[[incidents]]\nat = \"1 us\"\n{incident}"
    )
}

fn read(node: &str, place: FunctionPlace, register: u16, simulation: &Simulation) -> u32 {
    let functions = simulation.functions(node).expect("the node is there");
    functions.space(place).read(register)
}

/// The number of bytes of a flow that are missing. Asserts that all other bytes have arrived and are right.
fn missing(result: &RunResult, size: u64) -> u64 {
    let flow = result.flow("f");
    assert!(flow.completed && !flow.wrong);
    let missing = flow.missing.iter().map(|(_, len)| len).sum();
    assert_eq!(flow.bytes + missing, size);
    missing
}

#[test]
fn poisoned_completions_pass_the_switch_and_their_data_is_missing_at_the_reader() {
    let flow = "from = \"d\"\nto = \"h0\"\ndirection = \"read\"\n";
    let poison = "what = \"poison\"\nnode = \"h0\"\n";
    let simulation = ended(&fabric("", flow, poison));
    let result = simulation.result();
    assert_eq!(missing(&result, 16 << 10), 512);
    let passed = incident(&result, "s", "Poisoned TLP Received");
    assert_eq!(passed.severity, Some("correctable"));
    let found = incident(&result, "d", "Poisoned TLP Received");
    assert_eq!(found.severity, Some("non-fatal"));
    assert_eq!(found.reported_to.as_deref(), Some("h0 to s"));
    incident(
        &result,
        "h0",
        "served ERR_NONFATAL of 03:00.0, Poisoned TLP Received",
    );
    // Detected Parity Error is set, because the error handler does not clear it.
    for node in ["s", "d"] {
        assert_eq!(
            read(node, FunctionPlace::Own, COMMAND, &simulation) >> 31,
            1
        );
    }
}

#[test]
fn a_poisoned_write_poisons_memory_until_it_is_written_again() {
    let flow = "from = \"d\"\nto = \"h0\"\noffset = \"1 MiB\"\n[[flows]]\nid = \"back\"\nfrom = \"d\"\nto = \"h0\"\noffset = \"1 MiB\"\nsize = \"16 KiB\"\ndirection = \"read\"\nstart = \"50 us\"\n[[flows]]\nid = \"again\"\nfrom = \"d\"\nto = \"h0\"\noffset = \"1 MiB\"\nsize = \"16 KiB\"\nstart = \"100 us\"\n[[flows]]\nid = \"healed\"\nfrom = \"d\"\nto = \"h0\"\noffset = \"1 MiB\"\nsize = \"16 KiB\"\ndirection = \"read\"\nstart = \"150 us\"\n";
    let poison = "what = \"poison\"\nnode = \"d\"\n";
    let simulation = ended(&fabric("", flow, poison));
    let result = simulation.result();
    let lost = missing(&result, 16 << 10);
    assert!((64..=512).contains(&lost), "{lost}");
    let back = result.flow("back");
    assert_eq!(back.missing.len(), 1);
    let ranges = [&result.flow("f").missing, &back.missing].map(|one| one[0]);
    // The completions may be larger than the poisoned write, so more bytes of the read may be missing.
    assert!(ranges[1].0 <= ranges[0].0 && ranges[1].0 + ranges[1].1 >= ranges[0].0 + ranges[0].1);
    assert!(result.flow("again").intact && result.flow("healed").bytes == 16 << 10);
    assert_eq!(
        incident(&result, "h0 to s", "Poisoned TLP Received").severity,
        Some("correctable")
    );
    let status = read("h0", FunctionPlace::Port(0), SECONDARY_STATUS, &simulation);
    assert_eq!(status >> 31, 1);
}

#[test]
fn a_poisoned_write_to_a_device_is_not_carried_out() {
    let flow = "from = \"e\"\nto = \"d\"\n";
    let poison = "what = \"poison\"\nnode = \"e\"\n[devices.e]\nupstream = \"s\"\n";
    let simulation =
        ended(&fabric("bar = \"64 KiB\"\n", flow, poison).replace("error_reporting = true\n", ""));
    let result = simulation.result();
    let lost = missing(&result, 16 << 10);
    assert!((64..=512).contains(&lost), "{lost}");
    assert_eq!(result.errors("d", "poisoned TLP"), 1);
    let status = read("d", FunctionPlace::Own, UNCORRECTABLE_STATUS, &simulation);
    assert_eq!(status, POISONED);
}

#[test]
fn a_completer_abort_ends_the_request_and_is_recorded_by_both() {
    let flow = "from = \"h0\"\nto = \"d\"\ndirection = \"read\"\nrequest_size = \"64 B\"\n";
    let abort = "what = \"completer-abort\"\nnode = \"d\"\noffset = \"12 KiB\"\nsize = \"1 KiB\"\n";
    let text = fabric("bar = \"64 KiB\"\n", flow, abort).replace("error_reporting = true\n", "");
    let simulation = ended(&text);
    let result = simulation.result();
    assert_eq!(missing(&result, 16 << 10), 1 << 10);
    assert_eq!(result.flow("f").missing, [(12 << 10, 1 << 10)]);
    assert_eq!(result.errors("d", "completer abort"), 16);
    // The completer sets Signaled Target Abort, and the requester sets Received Target Abort.
    let [signaled, received] =
        ["d", "h0"].map(|node| read(node, FunctionPlace::Own, COMMAND, &simulation));
    assert_eq!((signaled >> 27 & 1, received >> 28 & 1), (1, 1));
    let found = incident(&result, "d", "Completer Abort");
    assert_eq!((found.severity, found.count), (Some("correctable"), 16));
    // The error is an advisory error and is masked, because the completion reports the error to the requester.
    assert_eq!(
        read("d", FunctionPlace::Own, UNCORRECTABLE_STATUS, &simulation) & ABORTED,
        0
    );
}

/// Runs a scenario with a coherent host, an accelerator, a DMA engine, and a buffer of one line. `accesses` has the requester and the keys of each
/// access to the buffer; `more` may poison 8 bytes of the line.
fn poisoned_line(accesses: &[(&str, &str)], more: &str) -> Simulation {
    let mut text = host(1);
    text += "[devices.d]\nupstream = \"h0\"\n[buffers.b]\nhost = \"h0\"\nsize = \"64 B\"\n[buffers.c]\nhost = \"h0\"\nsize = \"8 KiB\"\n";
    for (by, keys) in accesses {
        let buffer = if keys.contains("buffer") {
            ""
        } else {
            "buffer = \"b\"\n"
        };
        let access = format!("[[accesses]]\nby = \"{by}\"\n{buffer}{keys}\n");
        text += &access;
    }
    let simulation = ended(&(text + more));
    simulation.check_coherence().expect("all agents agree");
    simulation
}

const BAD_BYTES: &str = "[[incidents]]\nat = \"0 ns\"\nwhat = \"poison\"\nnode = \"h0\"\noffset = \"8 B\"\nsize = \"8 B\"\n";

#[test]
fn a_line_that_is_read_with_poison_is_poisoned_in_every_cache_and_in_memory_after_its_write_back() {
    let evicts = "buffer = \"c\"\ncount = 200\nsize = \"64 B\"\nstart = \"5 us\"";
    for evicts in [None, Some(("card0", evicts))] {
        let mut accesses = vec![
            // The accelerator writes the first word of the line, which is not poisoned. It then holds the whole line, and later writes the line back.
            (
                "card0",
                "kind = \"write\"\ncount = 1\nsize = \"8 B\"\norder = \"local\"",
            ),
            (
                "h0",
                "count = 1\nsize = \"8 B\"\norder = \"local\"\nstart = \"50 us\"",
            ),
            ("h0", "count = 1\nsize = \"64 B\"\nstart = \"60 us\""),
            ("card0", "count = 1\nsize = \"64 B\"\nstart = \"70 us\""),
            (
                "h0",
                "kind = \"write\"\ncount = 1\nsize = \"64 B\"\nstart = \"80 us\"\nfirst_core = 1",
            ),
            ("card0", "count = 1\nsize = \"64 B\"\nstart = \"90 us\""),
        ];
        accesses.extend(evicts);
        let simulation = poisoned_line(&accesses, BAD_BYTES);
        let result = simulation.result();
        let failed: Vec<u64> = result.accesses.iter().map(|all| all.failed).collect();
        assert_eq!(failed[..6], [0, 0, 1, 1, 0, 0], "{evicts:?}");
        assert!(result.accesses.iter().all(|all| all.completed));
        assert_eq!(
            incident(&result, "h0", "a core loads poisoned data").count,
            1
        );
        assert_eq!(
            incident(&result, "card0", "an access finds poisoned data").count,
            1
        );
    }
}

#[test]
fn an_atomic_operation_on_a_poisoned_word_is_not_executed_wherever_the_line_is() {
    let atomic = |start: u32| {
        format!(
            "kind = \"atomic-load\"\ncount = 1\nsize = \"16 B\"\norder = \"local\"\nstart = \"{start} us\""
        )
    };
    let write = |start: u32| {
        format!(
            "kind = \"write\"\ncount = 1\nsize = \"8 B\"\norder = \"local\"\nstart = \"{start} us\""
        )
    };
    // The atomic operations are executed at four places: at the home agent, in the accelerator that has written the line, at the home agent while a
    // core has the line, and in the core.
    let keys = [
        atomic(1),
        write(10),
        atomic(20),
        write(30),
        atomic(40),
        atomic(50),
    ];
    let by = ["card0", "card0", "card0", "h0", "card0", "h0"];
    let accesses: Vec<_> = by
        .iter()
        .zip(&keys)
        .map(|(by, keys)| (*by, keys.as_str()))
        .collect();
    let simulation = poisoned_line(&accesses, BAD_BYTES);
    let result = simulation.result();
    let failed: Vec<u64> = result.accesses.iter().map(|all| all.failed).collect();
    assert_eq!(failed, [1, 0, 1, 0, 1, 1]);
}

#[test]
fn poisoned_data_of_a_device_poisons_a_line_that_a_cache_holds() {
    let accesses = [
        ("card0", "kind = \"write\"\ncount = 1\nsize = \"64 B\""),
        ("h0", "count = 1\nsize = \"64 B\"\nstart = \"20 us\""),
    ];
    for by in ["card0", "h0"] {
        let mut accesses = accesses;
        accesses[0].0 = by;
        let write = "[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"h0\"\noffset = \"0 B\"\nsize = \"64 B\"\nstart = \"10 us\"\n[[incidents]]\nat = \"1 us\"\nwhat = \"poison\"\nnode = \"d\"\n";
        let result = poisoned_line(&accesses, write).result();
        assert_eq!(result.accesses[1].failed, 1, "{by}");
        assert_eq!(missing(&result, 64), 64);
    }
}

/// Reads a register of 32 bits of the device `d`.
fn register(simulation: &mut Simulation, bar: usize, at: u64) -> u32 {
    let mut nodes = simulation.plan().nodes.iter();
    let device = nodes.find(|node| node.name == "d").expect("a device");
    let base = device.bars[bar].expect("registers").base;
    let bytes = simulation.read_back("h0", base + at, 4, &mut || true);
    let bytes = bytes.expect("registers can be read");
    u32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// The engine reads its first descriptors from memory before anything else.
#[test]
fn an_engine_executes_no_descriptor_that_it_has_read_with_poison() {
    let poison = "what = \"poison\"\nnode = \"h0\"\n";
    let keys = "model = \"sg-dma\"\ndescriptor_fetch = true\n";
    let text = fabric(keys, "from = \"d\"\nto = \"h0\"\n", poison).replace("1 us", "0 ns");
    let other = "[[flows]]\nid = \"other\"\nfrom = \"d\"\nto = \"h0\"\nsize = \"16 KiB\"\ndirection = \"read\"\nstart = \"20 us\"\n";
    let mut simulation = ended(&text.replace("[[incidents]]", &format!("{other}[[incidents]]")));
    let result = simulation.result();
    let flow = result.flow("f");
    // The call returns after the interrupt without transferred bytes, and STATUS of the unit reports the failure.
    assert!(
        flow.bytes == 0 && flow.returned_ns.is_some() && !flow.completed,
        "{flow:?}"
    );
    let status = Unit::Write.base() + offset::STATUS;
    let status = register(&mut simulation, 2, status);
    assert_eq!(status, Status::Failed as u32);
    incident(&result, "d", "Poisoned TLP Received");
    // The other unit of the engine still works.
    assert!(result.flow("other").completed && result.flow("other").intact);
}

#[test]
fn the_data_of_a_poisoned_completion_is_missing_at_an_engine() {
    let poison = "what = \"poison\"\nnode = \"h0\"\n";
    let flow = "from = \"d\"\nto = \"h0\"\ndirection = \"read\"\n";
    let result = ended(&fabric("model = \"sg-dma\"\n", flow, poison)).result();
    assert_eq!(missing(&result, 16 << 10), 512);
}

#[test]
fn a_drive_with_a_poisoned_submission_entry_is_in_fatal_status_and_executes_nothing() {
    let poison = "what = \"poison\"\nnode = \"h0\"\n";
    let flow = "from = \"d\"\nto = \"h0\"\n";
    let mut simulation = ended(&fabric("model = \"nvme\"\n", flow, poison).replace("1 us", "0 ns"));
    let result = simulation.result();
    assert!(result.flow("f").bytes == 0 && !result.flow("f").completed);
    assert_eq!(register(&mut simulation, 0, CSTS) & FATAL, FATAL);
}

#[test]
fn a_network_interface_drops_the_request_whose_descriptor_is_poisoned_and_tells_its_owner() {
    let text = "[links]\ngeneration = 3\nlanes = 4\n[controllers.c]\n[hosts.h0]\n[devices.d]\nupstream = \"h0\"\nmodel = \"nic\"\ncontroller = \"c\"\n[hosts.h1]\n[devices.n]\nupstream = \"h1\"\nmodel = \"nic\"\ncontroller = \"c\"\n[[flows]]\nid = \"f\"\nfrom = \"d\"\nto = \"n\"\nsize = \"4 KiB\"\nstart = \"20 us\"\n[[flows]]\nid = \"back\"\nfrom = \"n\"\nto = \"d\"\nsize = \"4 KiB\"\n[[incidents]]\nat = \"20 us\"\nwhat = \"poison\"\nnode = \"h0\"\n";
    let result = ended(text).result();
    assert!(!result.flow("f").intact && !result.flow("f").wrong);
    assert!(result.flow("back").completed && result.flow("back").intact);
    let errors = &result.errors;
    assert!(
        errors.iter().any(|error| error.what.contains("descriptor")),
        "{errors:?}"
    );
}
