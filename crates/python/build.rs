//! Copies files that users build with into the folder from which maturin packages the module: the library that programs link with, into
//! `opae/lib` and `opae/include`, and the source of the crate of device models, into `models/crate`.
//!
//! Cargo does not give a package the library file of another package. `OPAE_LIBRARY` names a library file that is already built; `make` sets it.
//! Without it, this script builds the library by a separate Cargo, in its own folder.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files that the linker looks for, and the library that programs load. The linker's files refer to the library. They are not symbolic
/// links, because a wheel cannot contain symbolic links. The C++ interface has headers only, and uses the library of the C interface.
const LINKED: [&str; 2] = ["libopae-c.so", "libopae-cxx-core.so"];
const LOADED: &str = "libopae-c.so.2";

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // OUT_DIR is PROFILE/build/PACKAGE/out.
    let profile = out.ancestors().nth(3).and_then(Path::file_name);
    let profile = profile.ok_or("OUT_DIR is in the folder of a profile")?;
    println!("cargo:rustc-env=BUILD_PROFILE={}", profile.display());
    let root = here.ancestors().nth(2).ok_or("this crate is in crates/")?;
    let opae = root.join("integrations/opae");
    for changes in ["Cargo.toml", "build.rs", "src", "include"] {
        println!("cargo:rerun-if-changed={}", opae.join(changes).display());
    }
    println!(
        "cargo:rerun-if-changed={}",
        root.join("crates/session/src").display()
    );
    println!("cargo:rerun-if-env-changed=OPAE_LIBRARY");
    let library = if let Some(built) = env::var_os("OPAE_LIBRARY") {
        println!("cargo:rerun-if-changed={}", built.display());
        built.into()
    } else {
        // The folder is outside of all profiles' folders, so that all profiles share one build.
        let target = out
            .ancestors()
            .nth(4)
            .ok_or("OUT_DIR is in target/")?
            .join("opae");
        let triple = env::var("TARGET")?;
        build(root, &target, &triple)?;
        target.join(triple).join("release/libopae_c.so")
    };
    let lib = out.join("opae/lib");
    if lib.exists() {
        fs::remove_dir_all(&lib)?;
    }
    fs::create_dir_all(&lib)?;
    fs::copy(&library, lib.join(LOADED))
        .map_err(|error| format!("{}: {error}", library.display()))?;
    for linked in LINKED {
        fs::write(lib.join(linked), format!("INPUT(-l:{LOADED})\n"))?;
    }
    copy_all(&opae.join("include/opae"), &out.join("opae/include/opae"))?;
    copy_crate(root, &out.join("models/crate"))
}

/// Copies the crate of device models, which `peerlane new model --rust` places beside each model. The copy must not need the workspace.
fn copy_crate(root: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let from = root.join("crates/peerlane-device");
    for changes in ["Cargo.toml", "src"] {
        println!("cargo:rerun-if-changed={}", from.join(changes).display());
    }
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    copy_all(&from.join("src"), &to.join("src"))?;
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let (_, common) = workspace
        .split_once("[workspace.package]")
        .ok_or("the workspace has common values of packages")?;
    let manifest = fs::read_to_string(from.join("Cargo.toml"))?;
    let (package, _) = manifest
        .split_once("[lints]")
        .ok_or("the last section of the crate has the lints of the workspace")?;
    let lines = package.lines().filter(|line| !line.starts_with("readme"));
    let lines = lines.map(|line| match line.strip_suffix(".workspace = true") {
        Some(key) => common
            .lines()
            .find(|line| line.starts_with(&format!("{key} = "))),
        None => Some(line),
    });
    let lines: Option<Vec<&str>> = lines.collect();
    let lines = lines.ok_or("the workspace has each value that the crate takes from it")?;
    fs::write(to.join("Cargo.toml"), lines.join("\n") + "\n")?;
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?.path();
        let target = to.join(file.file_name().ok_or("a file has a name")?);
        if file.is_dir() {
            copy_all(&file, &target)?;
        } else {
            fs::copy(&file, target)?;
        }
    }
    Ok(())
}

fn build(root: &Path, target: &Path, triple: &str) -> Result<(), Box<dyn Error>> {
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
        .arg(target)
        .args(["--target", triple]);
    // The settings of this build are not meant for the separate build, except for the linker. By the linker, `maturin build --zig` chooses the C
    // library that the wheel needs.
    for (name, _) in env::vars_os() {
        let own = ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CLIPPY_ARGS"];
        let text = name.to_string_lossy();
        let is_linker = text.starts_with("CARGO_TARGET_") && text.ends_with("_LINKER");
        if (text.starts_with("CARGO_") && !is_linker) || own.iter().any(|own| name == *own) {
            cargo.env_remove(&name);
        }
    }
    cargo.env("CARGO_PROFILE_RELEASE_STRIP", "true");
    if cargo.status()?.success() {
        Ok(())
    } else {
        Err("libopae-c was not built".into())
    }
}
