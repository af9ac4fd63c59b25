//! Software that resets a function and sets it up again, as an operating system does: by configuration requests alone.

use kernel::Span;
use protocol::{ConfigSpace, FunctionId, register};

use crate::interrupts::{self, VectorEntries};
use crate::system::ResetPhase;
use crate::{DriverParameters, System};

/// The values that software has set in the registers of a function, and that it writes again after a reset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// The function.
    pub function: FunctionId,
    /// Registers with their values and the bytes to write, in the order of the writes.
    settings: Vec<(u16, u32, u8)>,
}

impl SavedState {
    /// The state of `function`, whose registers are `space`.
    pub fn of(function: FunctionId, space: &ConfigSpace) -> Self {
        let mut settings: Vec<_> = space.settings().collect();
        let controls = settings.iter_mut();
        for (register, value, _) in controls.filter(|one| register::is_channel_control(one.0)) {
            *value = register::with_load(*register, *value);
        }
        // The order of the writes is: the size of a BAR before its address; NumVFs before VF Enable; tables of arbitration before the
        // bits that load them; Memory Space Enable and Bus Master Enable last.
        settings.sort_by_key(|(register, ..)| match *register {
            register::RESIZABLE_BAR_CONTROL => 0,
            register::COMMAND => 3,
            register::SRIOV_CONTROL => 2,
            register => 1 + u8::from(register::is_channel_control(register)),
        });
        SavedState { function, settings }
    }
}

/// Writes the saved states again, in their order.
pub async fn restore(system: &System, states: &[SavedState]) {
    for state in states {
        for (register, value, enables) in &state.settings {
            let at = (state.function, *register);
            system.write_register(at, *value, *enables).await;
        }
    }
}

/// Restores the saved states of nodes, the upper nodes first. Waits for each node until its first function answers. Returns whether all nodes
/// answer, and adds the outcome to the log of incidents.
pub async fn set_up(system: &System, nodes: &[Vec<SavedState>]) -> bool {
    let works = write_again(system, nodes).await;
    report_set_up(system, works).await;
    works
}

/// Adds to the log of incidents whether a device was set up again.
pub(crate) async fn report_set_up(system: &System, works: bool) {
    let what = if works {
        "set up again"
    } else {
        "nothing to set up"
    };
    system.log(what).await;
}

async fn write_again(system: &System, nodes: &[Vec<SavedState>]) -> bool {
    for states in nodes {
        let Some(first) = states.first() else {
            continue;
        };
        if !is_ready(system, first.function).await {
            return false;
        }
        restore(system, states).await;
    }
    true
}

/// Drivers that the operating system notifies of a reset of their device.
#[derive(Clone, Debug, PartialEq)]
pub struct Informed {
    /// The physical function of the device.
    pub function: FunctionId,
    /// The messages of the interrupts of the device.
    pub messages: Vec<u32>,
    /// The entries of the device's MSI-X table, which are written again after the reset.
    pub vectors: Option<VectorEntries>,
    /// The time that software takes.
    pub costs: DriverParameters,
}

/// Resets a function as [`function_level_reset`] does, and notifies its drivers before and after.
pub async fn informed_reset(
    system: System,
    target: FunctionId,
    wait: Span,
    states: Vec<SavedState>,
    informed: Informed,
) {
    informed.prepare(&system).await;
    let is_set_up = !states.is_empty();
    let is_ready = function_level_reset(system.clone(), target, wait, states).await;
    informed.finish(&system, is_ready && is_set_up).await;
}

impl Informed {
    /// Notifies the drivers that their device is about to be reset, and waits until no call uses it.
    pub async fn prepare(&self, system: &System) {
        if let Some(message) = self.messages.first() {
            system.lock(RESETS | message).await;
        }
        // Several calls may use a device with several interrupts. Each announcement waits for the calls of one interrupt.
        for message in &self.messages {
            system.announce(&[*message], ResetPhase::Prepare).await;
        }
    }

    /// Notifies the drivers that the reset is over. If the device works, sets up its interrupt vectors first.
    pub async fn finish(&self, system: &System, works: bool) {
        if let (Some(vectors), true) = (self.vectors, works) {
            interrupts::set_up(system.clone(), self.costs.clone(), vectors).await;
        }
        let phase = if works {
            ResetPhase::Done
        } else {
            ResetPhase::Lost
        };
        system.announce(&self.messages, phase).await;
        if let Some(message) = self.messages.first() {
            system.unlock(RESETS | message).await;
        }
    }
}

/// Notifies the drivers of several devices that these are about to be reset, and waits until no call uses any of them.
pub async fn prepare(system: &System, drivers: &[Informed]) {
    for driver in drivers {
        driver.prepare(system).await;
    }
}

/// Notifies the drivers of several devices that their reset is over.
pub async fn finish(system: &System, drivers: &[Informed], works: bool) {
    for driver in drivers {
        driver.finish(system, works).await;
    }
}

/// The bit that makes the number of a lock from the message of a device's first interrupt. The lock permits one reset of the device at a time.
/// Our choice: a bit that is not set in any message that firmware assigns.
const RESETS: u32 = 1 << 31;

/// Resets a function by Initiate Function Level Reset, waits for `wait`, and writes `states` again when the function answers. Returns whether
/// the function answers.
pub async fn function_level_reset(
    system: System,
    target: FunctionId,
    wait: Span,
    states: Vec<SavedState>,
) -> bool {
    let initiate = register::INITIATE_FUNCTION_LEVEL_RESET;
    let control = (target, register::DEVICE_CONTROL);
    system.change_register(control, (initiate, initiate)).await;
    system.sleep(wait).await;
    if states.is_empty() {
        is_ready(&system, target).await
    } else {
        set_up(&system, &[states]).await
    }
}

/// Waits until a function answers a read of its Command register, for as long as a function may take after a reset. Returns whether the function
/// answers.
pub async fn is_ready(system: &System, target: FunctionId) -> bool {
    let end = system.now().await + LONGEST_RESET;
    let mut pause = FIRST_PAUSE;
    loop {
        let command = system.read_register(target, register::COMMAND).await;
        if command.is_some() {
            return true;
        }
        if system.now().await + pause > end {
            return false;
        }
        system.sleep(pause).await;
        pause = pause * 2;
    }
}

/// The longest time from a reset until a function answers configuration requests (PCIe Base 6.6.1).
const LONGEST_RESET: Span = Span::from_us(1_000_000);
/// The time between the first two attempts. It doubles after each attempt. Our choice: 1 ms, as operating systems do.
const FIRST_PAUSE: Span = Span::from_us(1_000);
