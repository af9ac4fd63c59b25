//! Runs the target in the environment variable `FUZZ_TARGET` with libFuzzer.

#![no_main]

use std::sync::LazyLock;

static CHECK: LazyLock<fuzz::Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
    let found = fuzz::TARGETS.iter().find(|(known, _)| *known == name);
    let Some((_, check)) = found else {
        let names = fuzz::TARGETS.map(|(name, _)| name).join(", ");
        eprintln!("FUZZ_TARGET is {name:?}; the targets are {names}");
        std::process::exit(2);
    };
    *check
});

libfuzzer_sys::fuzz_target!(
    init: { LazyLock::force(&CHECK); },
    |bytes: &[u8]| CHECK(bytes)
);
