//! Coverage-guided tests of every parser.
//!
//! Each module is a target: a function that takes any bytes and panics if a law of the parser does not hold. `make fuzz` searches for bytes that
//! violate a law. `corpus/` contains a few inputs of each target, which reach different parts of the parser. A test replays these inputs.

mod bitstream;
mod config_space;
mod dllp;
mod envelope;
mod network_header;
mod scenario;
mod session_calls;
mod session_message;
mod simulation;
mod tlp;

/// A function that panics if the bytes violate a law.
pub type Target = fn(&[u8]);

/// All targets with their names. The name of a target is also the name of its folder in `corpus/`.
pub const TARGETS: [(&str, Target); 10] = [
    ("bitstream", bitstream::check),
    ("config_space", config_space::check),
    ("dllp", dllp::check),
    ("envelope", envelope::check),
    ("network_header", network_header::check),
    ("scenario", scenario::check),
    ("session_calls", session_calls::check),
    ("session_message", session_message::check),
    ("simulation", simulation::check),
    ("tlp", tlp::check),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    #[test]
    fn no_input_of_the_corpus_breaks_a_law() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        for (name, check) in TARGETS {
            let mut inputs = 0;
            for entry in fs::read_dir(corpus.join(name)).expect("each target has a folder") {
                let path = entry.expect("the folder can be read").path();
                println!("{}", path.display());
                check(&fs::read(path).expect("the input can be read"));
                inputs += 1;
            }
            assert!(inputs > 0, "{name} has no inputs");
        }
    }
}
