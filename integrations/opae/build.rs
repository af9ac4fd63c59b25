//! Sets the name of the library for which linked programs search.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libopae-c.so.2");
    println!("cargo:rerun-if-changed=build.rs");
}
