//! Ordinary C programs with the library and a small simulation: plain, with the address sanitizer, and under valgrind.

mod fake;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use session::Clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Sanitized,
    Valgrind,
}

/// Builds and runs a program in every mode that is available.
fn run(name: &str, clock: Clock) -> Vec<String> {
    let ways = [Mode::Plain, Mode::Sanitized, Mode::Valgrind];
    ways.iter()
        .filter_map(|&mode| run_in(name, clock, mode))
        .collect()
}

/// The output of a program. `None` if the mode is not available.
fn run_in(name: &str, clock: Clock, mode: Mode) -> Option<String> {
    run_as(name, clock, mode, "gnu17")
}

/// The output of a program that is compiled for a standard of C. `None` if the mode is not available.
fn run_as(name: &str, clock: Clock, mode: Mode, standard: &str) -> Option<String> {
    let program = build(name, mode, standard)?;
    let socket = fake::serve(clock, &format!("{name}-{standard}-{clock:?}-{mode:?}"));
    let mut command = Command::new("timeout");
    command.arg("120");
    if mode == Mode::Valgrind {
        valgrind(&mut command)?;
        command.env("ON_VALGRIND", "1");
    }
    let output = command
        .arg(&program)
        .env("PEERLANE_SESSION", &socket)
        .env("LD_LIBRARY_PATH", libraries())
        // Without this option the allocator of the sanitizer sometimes reads the clock.
        .env("ASAN_OPTIONS", "allocator_release_to_os_interval_ms=-1")
        .output()
        .expect("the program runs");
    Some(printed(name, mode, &output))
}

fn printed(name: &str, mode: Mode, output: &Output) -> String {
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{name} ({mode:?}): {}\n{out}\n{errors}",
        output.status
    );
    out.into_owned()
}

fn exists(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

fn build(name: &str, mode: Mode, standard: &str) -> Option<PathBuf> {
    if !exists("cc") {
        eprintln!("skipped: there is no C compiler (cc)");
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory().join(format!("{name}-{standard}-{mode:?}-{}", std::process::id()));
    let mut command = Command::new("cc");
    command
        .args(["-g", "-Wall", "-Werror", "-pthread"])
        .arg(format!("-std={standard}"))
        .arg(match mode {
            Mode::Plain => "-O2",
            _ => "-O1",
        })
        .arg("-I")
        .arg(here.join("include"))
        .arg(here.join("tests/programs").join(format!("{name}.c")))
        .arg("-o")
        .arg(&program)
        .arg("-L")
        .arg(libraries())
        .arg("-lopae-c");
    if mode == Mode::Sanitized {
        command.arg("-fsanitize=address");
    }
    let output = command.output().expect("the compiler runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    if mode == Mode::Sanitized && errors.contains("libasan") {
        eprintln!("skipped: there is no address sanitizer (libasan)");
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(program)
}

fn valgrind(command: &mut Command) -> Option<()> {
    if !exists("valgrind") {
        eprintln!("skipped: there is no valgrind");
        return None;
    }
    command
        .args(["valgrind", "--quiet", "--error-exitcode=99"])
        .arg("--vex-iropt-register-updates=allregs-at-mem-access")
        .arg("--vex-guest-chase=no");
    Some(())
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// A directory with the library under its installed names.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let built = test
        .ancestors()
        .skip(1)
        .map(|directory| directory.join("libopae_c.so"))
        .find(|library| library.exists())
        .expect("the library is built before its tests");
    let directory = directory().join(format!("lib-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    for name in ["libopae-c.so", "libopae-c.so.2"] {
        let _ = std::os::unix::fs::symlink(&built, directory.join(name));
    }
    directory
}

#[test]
fn what_there_is_is_found_opened_and_used() {
    run("first", Clock::Virtual);
    run("first", Clock::Wall);
}

#[test]
fn an_object_has_its_properties_and_is_found_by_them() {
    run("enumerate", Clock::Virtual);
}

#[test]
fn an_object_has_attributes_and_errors_that_are_told() {
    run("attributes", Clock::Virtual);
    run("attributes", Clock::Wall);
}

#[test]
fn whatever_a_program_gives_it_is_told_and_goes_on() {
    run("wrong", Clock::Virtual);
}

#[test]
fn registers_are_used_by_a_pointer_with_any_instruction() {
    run("pointer", Clock::Virtual);
    run("pointer", Clock::Wall);
}

#[test]
fn a_buffer_is_shared_with_devices_until_it_is_released() {
    run("buffers", Clock::Virtual);
    run("buffers", Clock::Wall);
}

#[test]
fn a_word_that_is_looked_at_is_seen_when_it_is_written() {
    let first = run("polling", Clock::Virtual);
    assert_eq!(first, run("polling", Clock::Virtual));
}

#[test]
fn who_sleeps_or_waits_is_woken_in_virtual_time() {
    run("waiting", Clock::Virtual);
}

#[test]
fn threads_share_a_session_and_a_child_has_none() {
    run("threads", Clock::Virtual);
    run("threads", Clock::Wall);
}

#[test]
fn a_fault_of_the_programs_own_goes_to_the_program() {
    // Valgrind reports this fault as an error, so this mode is not tested.
    run_in("faults", Clock::Virtual, Mode::Plain);
    run_in("faults", Clock::Virtual, Mode::Sanitized);
}

#[test]
fn handlers_and_masks_of_a_program_work_beside_mapped_registers() {
    // In programs compiled for plain C, `signal` has the semantics of System V.
    for standard in ["gnu11", "c11"] {
        run_as("signals", Clock::Virtual, Mode::Plain, standard);
        run_as("signals", Clock::Virtual, Mode::Sanitized, standard);
    }
}

#[test]
fn a_session_that_is_gone_is_told_of_and_nothing_hangs() {
    run("gone", Clock::Virtual);
    run("gone", Clock::Wall);
}

#[test]
fn without_a_session_there_are_no_devices() {
    let Some(program) = build("absent", Mode::Plain, "gnu17") else {
        return;
    };
    for socket in [None, Some("/nowhere")] {
        let mut command = Command::new(&program);
        command.env_remove("PEERLANE_SESSION");
        if let Some(socket) = socket {
            command.env("PEERLANE_SESSION", socket);
        }
        let output = command.env("LD_LIBRARY_PATH", libraries()).output();
        printed("absent", Mode::Plain, &output.expect("it runs"));
    }
}

#[test]
#[ignore = "it only measures"]
fn how_long_it_takes() {
    println!("{:?}", run_in("speed", Clock::Virtual, Mode::Plain));
}
