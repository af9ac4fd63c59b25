//! The backtrace of a panic of a model, reduced to the frames of the model.

/// The frames of the model in a backtrace. They are the frames between the code that handles the panic and the C interface, which has called the
/// model.
pub(crate) fn of_model(trace: &str) -> String {
    let mut own = String::new();
    let mut is_own = true;
    for line in trace.lines() {
        if let Some(function) = function(line) {
            if PANIC.iter().any(|part| function.contains(part)) {
                own.clear();
                is_own = false;
                continue;
            }
            if function.starts_with(INTERFACE) {
                break;
            }
            is_own = true;
        }
        if is_own {
            own.push('\n');
            own.push_str(line);
        }
    }
    own
}

/// The name of the function if a line is the first one of a frame, such as `3: copier::Copier::end`.
fn function(line: &str) -> Option<&str> {
    let (number, function) = line.trim_start().split_once(": ")?;
    number
        .bytes()
        .all(|one| one.is_ascii_digit())
        .then_some(function)
}

/// Parts of the names of functions that are called between a panic and its hook.
const PANIC: [&str; 4] = [
    "keep_panics",
    "std::panicking::",
    "core::panicking::",
    "rust_begin_unwind",
];

const INTERFACE: &str = "peerlane_device::export::";

#[cfg(test)]
mod tests {
    use super::of_model;

    #[test]
    fn a_backtrace_begins_after_the_panic_and_ends_before_the_interface() {
        let trace = "   0: peerlane_device::export::keep_panics::{{closure}}
   1: std::panicking::panic_with_hook
             at /rustc/library/std/src/panicking.rs:833:13
   2: __rustc::rust_begin_unwind
   3: core::panicking::panic_fmt
             at /rustc/library/core/src/panicking.rs:75:14
   4: copier::Copier::end
             at ./src/lib.rs:48:9
   5: <copier::Copier as peerlane_device::model::Model>::write
             at ./src/lib.rs:65:9
   6: peerlane_device::export::write::{{closure}}
   7: Py_RunMain
";
        let own = "
   4: copier::Copier::end
             at ./src/lib.rs:48:9
   5: <copier::Copier as peerlane_device::model::Model>::write
             at ./src/lib.rs:65:9";
        assert_eq!(of_model(trace), own);
    }

    #[test]
    fn a_backtrace_without_frames_of_the_model_is_empty() {
        let trace = "   3: core::panicking::panic_fmt\n   6: peerlane_device::export::write\n";
        assert_eq!(of_model(trace), "");
        assert_eq!(of_model(""), "");
    }
}
