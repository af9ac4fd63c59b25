//! The slot below a downstream port (PCIe Base 6.7, 7.5.3.9 to 7.5.3.11): the presence of a card, the attention button and the power.

use super::ConfigSpace;
use super::express::EXPRESS;
use super::space::bits_if;

/// Slot Capabilities.
pub const SLOT_CAPABILITIES: u16 = EXPRESS + 5;
/// Slot Status and Slot Control.
pub const SLOT_CONTROL: u16 = EXPRESS + 6;

/// Hot-Plug Surprise in Slot Capabilities.
pub const HOT_PLUG_SURPRISE: u32 = 1 << 5;
/// Hot-Plug Capable in Slot Capabilities.
pub const HOT_PLUG_CAPABLE: u32 = 1 << 6;
/// The enables that software sets in Slot Control to use a slot: attention button, presence, hot-plug interrupt, data link layer state.
pub const SLOT_ENABLES: u32 = 1 | 1 << 3 | HOT_PLUG_INTERRUPT | 1 << 12;
/// Power Controller Control in Slot Control: the power is off.
pub const SLOT_POWER_OFF: u32 = 1 << 10;
/// Attention Button Pressed in Slot Status.
pub const ATTENTION_BUTTON_PRESSED: u32 = 1 << 16;
/// Presence Detect Changed in Slot Status.
pub const PRESENCE_CHANGED: u32 = 1 << 19;
/// Presence Detect State in Slot Status.
pub const CARD_PRESENT: u32 = 1 << 22;
/// Data Link Layer State Changed in Slot Status.
pub const LINK_STATE_CHANGED: u32 = 1 << 24;
/// The event bits of Slot Status. Software clears them by writing a one.
pub const SLOT_EVENTS: u32 = ATTENTION_BUTTON_PRESSED | PRESENCE_CHANGED | LINK_STATE_CHANGED;

const SLOT_IMPLEMENTED: u32 = 1 << 24;
const ATTENTION_BUTTON: u32 = 1;
const POWER_CONTROLLER: u32 = 1 << 1;
const NO_COMMAND_COMPLETED: u32 = 1 << 18;
const NUMBER_SHIFT: u32 = 19;
const HOT_PLUG_INTERRUPT: u32 = 1 << 5;

impl ConfigSpace {
    /// Adds a slot with a physical number, an attention button and a power controller to this downstream port. With `surprise`, the card in
    /// the slot may be removed without notice, and the removal is not an error.
    pub fn make_slot(&mut self, number: u16, surprise: bool) {
        self.declare(EXPRESS, SLOT_IMPLEMENTED, 0, 0);
        let surprise = bits_if(surprise, HOT_PLUG_SURPRISE);
        let capabilities = ATTENTION_BUTTON | POWER_CONTROLLER | HOT_PLUG_CAPABLE;
        let number = u32::from(number) << NUMBER_SHIFT;
        let capabilities = capabilities | surprise | NO_COMMAND_COMPLETED | number;
        self.declare(SLOT_CAPABILITIES, capabilities, 0, 0);
        let writable = SLOT_ENABLES | SLOT_POWER_OFF;
        self.declare(SLOT_CONTROL, CARD_PRESENT, writable, SLOT_EVENTS);
    }

    /// Whether the port has a slot for hot plug.
    pub fn has_slot(&self) -> bool {
        self.is_bridge() && self.read(SLOT_CAPABILITIES) & HOT_PLUG_CAPABLE != 0
    }

    /// Whether the card in the slot may be removed without notice.
    pub fn permits_surprise(&self) -> bool {
        self.has_slot() && self.read(SLOT_CAPABILITIES) & HOT_PLUG_SURPRISE != 0
    }

    /// Whether software has turned the power of the slot off.
    pub fn is_slot_off(&self) -> bool {
        self.has_slot() && self.read(SLOT_CONTROL) & SLOT_POWER_OFF != 0
    }

    /// Records `events` of the slot and, if `is_present` is given, whether a card is present. Returns whether the port sends its hot-plug
    /// interrupt: it has a reason to interrupt, and had none before (PCIe Base 6.7.3.4).
    pub fn record_slot(&mut self, events: u32, is_present: Option<bool>) -> bool {
        if !self.has_slot() {
            return false;
        }
        let had_reason = self.has_slot_interrupt();
        let was_present = self.read(SLOT_CONTROL) & CARD_PRESENT != 0;
        let mut events = events;
        if let Some(is_present) = is_present
            && is_present != was_present
        {
            let state = bits_if(is_present, CARD_PRESENT);
            self.update(SLOT_CONTROL, CARD_PRESENT, state);
            events |= PRESENCE_CHANGED;
        }
        self.raise(SLOT_CONTROL, events);
        !had_reason && self.has_slot_interrupt()
    }

    /// Whether the hot-plug interrupt is enabled, and an enabled event is recorded and not cleared. Each enable has the same position in
    /// Slot Control as its event in Slot Status, except for the event of the link.
    fn has_slot_interrupt(&self) -> bool {
        let register = self.read(SLOT_CONTROL);
        let link = register & LINK_STATE_CHANGED != 0 && register & 1 << 12 != 0;
        let others =
            register >> 16 & register & (ATTENTION_BUTTON_PRESSED | PRESENCE_CHANGED) >> 16;
        register & HOT_PLUG_INTERRUPT != 0 && (link || others != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot() -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        space.declare(super::super::register::HEADER_TYPE, 1 << 16, 0, 0);
        space.make_slot(3, false);
        space
    }

    #[test]
    fn a_slot_interrupts_once_until_software_clears_the_event() {
        let mut space = slot();
        assert!(!space.record_slot(LINK_STATE_CHANGED, Some(false)));
        space.write(SLOT_CONTROL, SLOT_EVENTS, 0b1100);
        space.write(SLOT_CONTROL, SLOT_ENABLES, 0b0011);
        assert!(space.record_slot(LINK_STATE_CHANGED, Some(true)));
        assert!(!space.record_slot(ATTENTION_BUTTON_PRESSED, None));
        let status = space.read(SLOT_CONTROL) & (SLOT_EVENTS | CARD_PRESENT);
        assert_eq!(status, SLOT_EVENTS | CARD_PRESENT);
        space.write(SLOT_CONTROL, SLOT_EVENTS, 0b1100);
        assert!(space.record_slot(ATTENTION_BUTTON_PRESSED, None));
    }

    #[test]
    fn a_port_without_a_slot_has_no_events() {
        let mut space = ConfigSpace::empty();
        assert!(!space.record_slot(SLOT_EVENTS, Some(false)));
        assert_eq!(space.read(SLOT_CONTROL), 0);
    }
}
