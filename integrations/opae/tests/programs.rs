//! C programs, as anybody writes them, against the library and a toy simulation: plain, with the address sanitizer, and on valgrind.

mod fake;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use session::Clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Plain,
    Sanitized,
    Valgrind,
}

/// Builds and runs a program in every way that there is here.
fn run(name: &str, clock: Clock) -> Vec<String> {
    let ways = [Way::Plain, Way::Sanitized, Way::Valgrind];
    ways.iter()
        .filter_map(|&way| run_in(name, clock, way))
        .collect()
}

/// What it prints. Nothing if that way is not there.
fn run_in(name: &str, clock: Clock, way: Way) -> Option<String> {
    let program = build(name, way)?;
    let socket = fake::serve(clock, &format!("{name}-{clock:?}-{way:?}"));
    let mut command = match way {
        Way::Valgrind => valgrind(&program)?,
        _ => Command::new(&program),
    };
    let output = command
        .env("PEERLANE_SESSION", &socket)
        .env("LD_LIBRARY_PATH", libraries())
        .output()
        .expect("the program runs");
    Some(printed(name, way, &output))
}

fn printed(name: &str, way: Way, output: &Output) -> String {
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{name} ({way:?}): {}\n{out}\n{errors}",
        output.status
    );
    out.into_owned()
}

fn exists(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

fn build(name: &str, way: Way) -> Option<PathBuf> {
    if !exists("cc") {
        eprintln!("skipped: there is no C compiler (cc)");
        return None;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory().join(format!("{name}-{way:?}-{}", std::process::id()));
    let mut command = Command::new("cc");
    command
        .args(["-g", "-Wall", "-Werror", "-pthread"])
        .arg(match way {
            Way::Plain => "-O2",
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
    if way == Way::Sanitized {
        command.arg("-fsanitize=address");
    }
    let output = command.output().expect("the compiler runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    if way == Way::Sanitized && errors.contains("libasan") {
        eprintln!("skipped: there is no address sanitizer (libasan)");
        return None;
    }
    assert!(output.status.success(), "{errors}");
    Some(program)
}

fn valgrind(program: &Path) -> Option<Command> {
    if !exists("valgrind") {
        eprintln!("skipped: there is no valgrind");
        return None;
    }
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--error-exitcode=99"])
        .arg("--vex-iropt-register-updates=allregs-at-mem-access")
        .arg(program);
    Some(command)
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// A directory in which the library is under the names that it is installed by.
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
