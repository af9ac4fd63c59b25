//! The processor's counter of instructions. Linux provides it, except in virtual machines without counters and where its use is forbidden
//! (`kernel.perf_event_paranoid` above 2).

#[cfg(target_os = "linux")]
pub use linux::Instructions;
#[cfg(not(target_os = "linux"))]
pub use other::Instructions;

#[cfg(target_os = "linux")]
mod linux {
    use perf_event::{Builder, Counter};

    /// Counts the instructions of this process in user mode, with the instructions of threads that it starts.
    pub struct Instructions(Option<Counter>);

    impl Instructions {
        /// Opens the counter.
        pub fn new() -> Self {
            let mut builder = Builder::new();
            builder.inherit(true);
            Instructions(builder.build().ok())
        }

        /// Starts to count.
        pub fn start(&mut self) {
            self.0.take_if(|counter| counter.enable().is_err());
        }

        /// Returns the number of instructions since the start. Returns `None` if the system does not count them, or has counted during only a
        /// part of the time.
        pub fn stop(&mut self) -> Option<u64> {
            let counter = self.0.as_mut()?;
            counter.disable().ok()?;
            let found = counter.read_count_and_time().ok()?;
            let whole = found.time_running > 0 && found.time_running == found.time_enabled;
            whole.then_some(found.count)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// A replacement without a counter, for systems whose counter programs cannot read.
    pub struct Instructions;

    impl Instructions {
        /// Opens nothing.
        pub fn new() -> Self {
            Instructions
        }

        /// Counts nothing.
        pub fn start(&mut self) {
            let _ = self;
        }

        /// Returns no instructions.
        pub fn stop(&mut self) -> Option<u64> {
            let _ = self;
            None
        }
    }
}
