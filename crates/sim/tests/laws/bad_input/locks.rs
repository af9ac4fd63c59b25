//! Errors in work under locks.

use super::refusal;

/// A host with an accelerator, and buffers from line 6 on.
const HOST: &str = r#"[hosts.h0]
coherent = true
[devices.card]
upstream = "h0"
model = "accelerator"
[buffers.t]
host = "h0"
size = "4 KiB"
[buffers.r]
host = "h0"
size = "4 KiB"
"#;

/// Returns the error of a `[[locks]]` entry with these keys. The entry begins on line 12.
fn locks(keys: &str) -> String {
    refusal(&format!(
        "{HOST}[[locks]]\nby = \"card\"\nbuffer = \"t\"\n{keys}\n"
    ))
}

/// Returns the error of a `[[transactions]]` entry with these keys. The entry begins on line 12.
fn transactions(keys: &str) -> String {
    let keys = format!("by = \"card\"\nbuffer = \"r\"\nlocks = \"t\"\n{keys}");
    refusal(&format!("{HOST}[[transactions]]\n{keys}\n"))
}

#[test]
fn a_lock_table_has_whose_it_is_and_room() {
    assert_eq!(
        refusal(&format!("{HOST}[[locks]]\nbuffer = \"t\"\n")),
        "bad.toml:12: locks 1: there is no by; write by = \"NAME\" of a host or an accelerator"
    );
    assert_eq!(
        refusal(&format!(
            "{HOST}[[transactions]]\nby = \"h0\"\nbuffer = \"r\"\n"
        )),
        "bad.toml:12: transactions 1: there is no locks; write locks = \"NAME\" of a [buffers.NAME] with the locks"
    );
    assert_eq!(
        refusal(&format!("{HOST}[[locks]]\nby = \"card\"\nbuffer = \"x\"\n")),
        "bad.toml:14: locks \"locks-1\", buffer: there is no buffer \"x\"; write one of t, r"
    );
    assert_eq!(
        locks("buckets = 12"),
        "bad.toml:15: locks \"locks-1\", buckets: a lock table cannot have 12 buckets; use a power of two: 1, 2, 4, ..."
    );
    assert_eq!(
        locks("buckets = 128"),
        "bad.toml:15: locks \"locks-1\", buckets: 128 buckets of 64 B do not fit in t, of 4 KiB; write fewer, or a larger size there"
    );
    let width = locks("width = 32");
    assert!(width.starts_with("bad.toml:15: "), "{width}");
    assert!(width.contains("64") && width.contains("128"), "{width}");
}

#[test]
fn an_accelerator_has_no_software_and_no_cores() {
    assert_eq!(
        locks("software = \"1 ns\""),
        "bad.toml:15: locks \"locks-1\", software: an accelerator has no software; leave it out"
    );
    assert_eq!(
        locks("cores = 2"),
        "bad.toml:15: locks \"locks-1\", cores: a device has no cores; leave it out"
    );
}

#[test]
fn who_shares_a_table_agrees_on_it() {
    let other = "[[locks]]\nid = \"other\"\nby = \"h0\"\nbuffer = \"t\"";
    assert_eq!(
        locks(&format!("{other}\nbuckets = 32")),
        "bad.toml:19: locks \"other\", buckets: locks-1 has 64, and they share it; write that"
    );
    assert_eq!(
        locks(&format!("{other}\nwidth = 128")),
        "bad.toml:19: locks \"other\", width: locks-1 has 64, and they share it; write that"
    );
}

#[test]
fn rows_and_locks_have_buffers_of_their_own_that_nobody_else_writes() {
    assert_eq!(
        transactions("rows = 32\n[[locks]]\nby = \"h0\"\nbuffer = \"r\""),
        "bad.toml:14: transactions \"transactions-1\", buffer: r cannot hold locks and rows; write another buffer"
    );
    assert_eq!(
        locks("[[accesses]]\nid = \"w\"\nby = \"h0\"\nbuffer = \"t\"\nkind = \"write\""),
        "bad.toml:14: locks \"locks-1\", buffer: the accesses \"w\" write to t; write another buffer, or kind = \"read\" there"
    );
}

#[test]
fn there_are_rows_for_everybody() {
    assert_eq!(
        transactions("rows = 65"),
        "bad.toml:16: transactions \"transactions-1\", rows: 65 rows of 64 B do not fit in r, of 4 KiB; write fewer, or a larger size there"
    );
    let other = "[[transactions]]\nby = \"h0\"\nbuffer = \"r\"\nlocks = \"t\"";
    assert_eq!(
        transactions(&format!("rows = 4\n{other}\nrows = 4\ncores = 4")),
        "bad.toml:16: transactions \"transactions-1\", rows: 4 are too few for all who update them; write 6 or more"
    );
    assert_eq!(
        transactions(&format!("rows = 64\n{other}\nrows = 64\nlock = \"table\"")),
        "bad.toml:22: transactions \"transactions-2\", lock: transactions-1 has \"row\", and they share it; write that"
    );
    assert!(transactions("contention = 1.5").contains("contention"));
}

#[test]
fn devices_may_write_the_buffers_and_the_buffers_stay() {
    let text = HOST.replace("[buffers.t]", "[buffers.t]\nrights = \"read\"");
    let text = text.replace(
        "model = \"accelerator\"",
        "model = \"accelerator\"\nvirtual_addresses = true",
    );
    assert_eq!(
        refusal(&format!("{text}[[locks]]\nby = \"card\"\nbuffer = \"t\"\n")),
        "bad.toml:16: locks \"locks-1\", buffer: devices may only read t; write rights = \"read-write\" there"
    );
    let text = HOST.replace("[buffers.t]", "[buffers.t]\nmoves = 1");
    assert_eq!(
        refusal(&format!("{text}[[locks]]\nby = \"card\"\nbuffer = \"t\"\n")),
        "bad.toml:15: locks \"locks-1\", buffer: t moves, and locks do not; write moves = 0 there"
    );
}

#[test]
fn an_id_belongs_to_one_entry_of_its_kind() {
    let requests = "[[locks]]\nid = \"x\"\nby = \"card\"\nbuffer = \"t\"\n";
    assert_eq!(
        refusal(&format!("{HOST}{requests}{requests}")),
        r#"bad.toml:17: locks "x", id: this id is already on line 13; write another one"#
    );
    let updates = "[[transactions]]\nid = \"x\"\nby = \"card\"\nbuffer = \"r\"\nlocks = \"t\"\n";
    assert_eq!(
        refusal(&format!("{HOST}{updates}{requests}{updates}")),
        r#"bad.toml:22: transactions "x", id: this id is already on line 13; write another one"#
    );
}
