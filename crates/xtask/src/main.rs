//! `cargo xtask generate` writes the files that are generated from the crates.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments != ["generate"] {
        eprintln!("usage: cargo xtask generate");
        return ExitCode::FAILURE;
    }
    match std::fs::write(xtask::PACKAGE, xtask::package()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", xtask::PACKAGE);
            ExitCode::FAILURE
        }
    }
}
