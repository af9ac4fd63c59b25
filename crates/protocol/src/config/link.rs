//! Link Status, and the requests of software in Link Control and Link Control 2 (PCIe Base 7.5.3.7, 7.5.3.8, 7.5.3.19).

use super::ConfigSpace;
use super::express::{
    BANDWIDTH_INTERRUPT, BANDWIDTH_MANAGEMENT, BANDWIDTH_NOTIFICATION, EXPRESS, EXPRESS_ID,
    LINK_ACTIVE, LINK_CAPABILITIES, LINK_CONTROL, LINK_CONTROL_2, LINK_DISABLE, LINK_SPEED,
    LINK_TRAINING, LINK_WIDTH, LINK_WIDTH_SHIFT, RETRAIN_LINK, TARGET_LINK_SPEED,
};
use super::space::bits_if;
use crate::Generation;

impl ConfigSpace {
    /// Whether the link of a downstream port is up: Data Link Layer Link Active in Link Status.
    pub fn link_active(&self) -> bool {
        self.read(LINK_CONTROL) & LINK_ACTIVE != 0
    }

    pub(super) fn clear_link_active(&mut self) {
        self.update(LINK_CONTROL, LINK_ACTIVE, 0);
    }

    /// Writes the state of the link to Link Status: its rate and width and, at a downstream port, whether it is training and whether it is
    /// active.
    pub fn show_link(
        &mut self,
        (generation, lanes): (Generation, u8),
        (is_training, is_active): (bool, bool),
    ) {
        if self.read(EXPRESS) & 0xff != u32::from(EXPRESS_ID) {
            return;
        }
        let speed = u32::from(generation.number()) << LINK_SPEED.trailing_zeros();
        let width = u32::from(lanes) << LINK_WIDTH_SHIFT;
        self.update(LINK_CONTROL, LINK_SPEED | LINK_WIDTH, speed | width);
        if self.has_bandwidth_notification() {
            let state = bits_if(is_training, LINK_TRAINING) | bits_if(is_active, LINK_ACTIVE);
            self.update(LINK_CONTROL, LINK_TRAINING | LINK_ACTIVE, state);
        }
    }

    /// Records in Link Status of a downstream port that software has retrained the link, or that its rate or width has changed. Returns
    /// whether the port sends the interrupt for this event: the interrupt is enabled, and software has cleared the previous event.
    pub fn record_bandwidth_management(&mut self) -> bool {
        if !self.has_bandwidth_notification() {
            return false;
        }
        let before = self.read(LINK_CONTROL);
        self.raise(LINK_CONTROL, BANDWIDTH_MANAGEMENT);
        before & BANDWIDTH_MANAGEMENT == 0 && before & BANDWIDTH_INTERRUPT != 0
    }

    /// Whether software has disabled the link below a downstream port: Link Disable in Link Control (PCIe Base 7.5.3.7).
    pub(super) fn is_link_disabled(&self) -> bool {
        self.has_bandwidth_notification() && self.read(LINK_CONTROL) & LINK_DISABLE != 0
    }

    /// Whether a write of `value` to the bytes `enables` of `register` retrains the link of this downstream port.
    pub fn retrains_link(&self, register: u16, value: u32, enables: u8) -> bool {
        register == LINK_CONTROL
            && enables & 0b0001 != 0
            && value & RETRAIN_LINK != 0
            && self.has_bandwidth_notification()
    }

    /// Target Link Speed in Link Control 2, as the number of a generation.
    pub fn target_link_speed(&self) -> u8 {
        (self.read(LINK_CONTROL_2) & TARGET_LINK_SPEED) as u8
    }

    fn has_bandwidth_notification(&self) -> bool {
        self.read(LINK_CAPABILITIES) & BANDWIDTH_NOTIFICATION != 0
    }
}
