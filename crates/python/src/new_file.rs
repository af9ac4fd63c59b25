//! A new file. The user can interrupt its opening: a named pipe opens only when it has a reader.

use std::fs::File;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::os_error;

/// The time between two checks for an interrupt.
const PATIENCE: Duration = Duration::from_millis(50);

/// Creates the file at `path`, or empties it. A separate thread opens the file, because the standard library continues to wait after a signal.
///
/// # Errors
///
/// The file cannot be written, or the user has sent an interrupt. After an interrupt the thread closes the file as soon as it is open.
pub fn create(py: Python<'_>, path: &str) -> PyResult<File> {
    let (give, take) = mpsc::sync_channel(1);
    let place = path.to_owned();
    let open = move || {
        // After an interrupt the file has no receiver, and is closed.
        let _ = give.send(File::create(place));
    };
    let thread = thread::Builder::new().name("open".into());
    thread.spawn(open).map_err(|error| os_error(&error, path))?;
    let opened = py.detach(move || {
        loop {
            match take.recv_timeout(PATIENCE) {
                Err(RecvTimeoutError::Timeout) => look_for_interrupt()?,
                received => return PyResult::Ok(received),
            }
        }
    })?;
    opened
        .expect("the thread sends before it ends")
        .map_err(|error| os_error(&error, path))
}

#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method is of one lifetime, not of all"
)]
fn look_for_interrupt() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
