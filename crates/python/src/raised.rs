//! Exceptions of units and device models in Python, which end the run.

use std::cell::RefCell;

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

thread_local! {
    /// The first exception of a unit or a model in this thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether this thread has an exception that was not [taken](take) yet.
pub fn is_there() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// Takes the exception of this thread.
pub fn take() -> Option<PyErr> {
    RAISED.take()
}

/// Returns `done`, or the exception that this thread has kept.
pub fn unless_raised<T>(done: T) -> PyResult<T> {
    take().map_or(Ok(done), Err)
}

/// Keeps an exception as the cause of another exception, which `outer` makes from the text of the first. An interrupt from the keyboard is kept
/// unchanged, because it is not a failure of a unit or a model.
pub fn keep(py: Python<'_>, error: PyErr, outer: impl FnOnce(&str) -> PyErr) {
    // The frames of the traceback hold the shell, which belongs to this thread, so they are cleared.
    if let (Some(traceback), Ok(module)) = (error.traceback(py), py.import("traceback")) {
        let _ = module.call_method1("clear_frames", (traceback,));
    }
    let raised = if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        error
    } else {
        let raised = outer(&described(py, &error));
        raised.set_cause(py, Some(error));
        raised
    };
    keep_as_it_is(raised);
}

/// Keeps an exception, unless this thread has already kept one.
pub fn keep_as_it_is(error: PyErr) {
    RAISED.with_borrow_mut(|first| {
        first.get_or_insert(error);
    });
}

/// The text of an exception, without the colon of an empty message, and the line of the user's code that raised it.
pub fn described(py: Python<'_>, error: &PyErr) -> String {
    let text = error.to_string();
    let text = text.trim_end().trim_end_matches(':');
    let place = || -> PyResult<Option<String>> {
        let module = py.import("peerlane.programs.place")?;
        let place = module.call_method1("raised_at", (error.traceback(py),))?;
        place.extract()
    };
    match place() {
        Ok(Some(place)) => format!("{text}, at {place}"),
        _ => text.to_owned(),
    }
}
