//! Puts the library that programs link with beside the module: `opae/lib` and `opae/include`, from where maturin takes them.
//!
//! Cargo builds one library for a package that others need as a file, so that one is built by a Cargo of its own, in a folder of
//! its own.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the linker looks for, which sends it on, and what programs then need. (A wheel holds no links.)
const LINKED: &str = "libopae-c.so";
const LOADED: &str = "libopae-c.so.2";

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let root = here.ancestors().nth(2).ok_or("this crate is in crates/")?;
    let opae = root.join("integrations/opae");
    for changes in ["Cargo.toml", "build.rs", "src", "include"] {
        println!("cargo:rerun-if-changed={}", opae.join(changes).display());
    }
    println!(
        "cargo:rerun-if-changed={}",
        root.join("crates/session/src").display()
    );
    // Beside the folders of all profiles, so that it is built once for all of them: OUT_DIR is PROFILE/build/PACKAGE/out there.
    let target = out
        .ancestors()
        .nth(4)
        .ok_or("OUT_DIR is in target/")?
        .join("opae");
    build(root, &target)?;
    let lib = out.join("opae/lib");
    if lib.exists() {
        fs::remove_dir_all(&lib)?;
    }
    fs::create_dir_all(&lib)?;
    fs::copy(target.join("release/libopae_c.so"), lib.join(LOADED))?;
    fs::write(lib.join(LINKED), format!("INPUT(-l:{LOADED})\n"))?;
    let include = out.join("opae/include/opae");
    fs::create_dir_all(&include)?;
    for header in fs::read_dir(opae.join("include/opae"))? {
        let header = header?.path();
        let name = header.file_name().ok_or("a header has a name")?;
        fs::copy(&header, include.join(name))?;
    }
    Ok(())
}

fn build(root: &Path, target: &Path) -> Result<(), Box<dyn Error>> {
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("Cargo runs this")?);
    cargo
        .current_dir(root)
        .args([
            "build",
            "--package",
            "opae",
            "--release",
            "--locked",
            "--quiet",
        ])
        .arg("--target-dir")
        .arg(target);
    // What this build was told is not for that one.
    for (name, _) in env::vars_os() {
        let own = ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS"];
        if name.to_string_lossy().starts_with("CARGO_") || own.iter().any(|own| name == *own) {
            cargo.env_remove(name);
        }
    }
    cargo.env("CARGO_PROFILE_RELEASE_STRIP", "true");
    if cargo.status()?.success() {
        Ok(())
    } else {
        Err("libopae-c was not built".into())
    }
}
