//! The Virtual Channel capability (PCIe Base 7.9.1): which traffic class uses which virtual channel of a port, and the arbitration between
//! channels and between ports.

use super::ConfigSpace;
use super::space::LoadedTable;

/// The register with the header of the capability.
pub const CHANNELS: u16 = CHANNELS_BYTES / 4;
/// Port VC Capability 1.
pub const PORT_CHANNELS: u16 = CHANNELS + 1;
/// Extended VC Count in Port VC Capability 1: the number of virtual channels besides VC0.
pub const EXTENDED_COUNT: u32 = 0x7;
/// Port VC Capability 2.
pub const PORT_CHANNELS_2: u16 = CHANNELS + 2;
/// Position of a table's offset in Port VC Capability 2 and in VC Resource Capability; its unit is [`TABLE_UNIT`].
pub const TABLE_OFFSET_SHIFT: u32 = 24;
/// The unit of the offsets of tables, in registers.
pub const TABLE_UNIT: u16 = 4;
/// Port VC Status in the upper half, and Port VC Control in the lower half.
pub const PORT_CHANNELS_CONTROL: u16 = CHANNELS + 3;
/// Load VC Arbitration Table in Port VC Control.
pub const LOAD_VC_TABLE: u32 = 1;
/// VC Arbitration Select in Port VC Control.
pub const VC_ARBITRATION_SELECT: u32 = 0x7 << VC_ARBITRATION_SHIFT;
/// Position of VC Arbitration Select.
pub const VC_ARBITRATION_SHIFT: u32 = 1;
/// VC Resource Capability of VC0, followed by its control and status; the registers of the other channels follow.
pub const CHANNEL_RESOURCES: u16 = CHANNELS + 4;
/// Number of registers of each channel.
pub const RESOURCE_REGISTERS: u16 = 3;
/// TC/VC Map in VC Resource Control, with a bit for each traffic class.
pub const CLASS_MAP: u32 = 0xff;
/// Load Port Arbitration Table in VC Resource Control.
pub const LOAD_PORT_TABLE: u32 = 1 << 16;
/// Port Arbitration Select in VC Resource Control.
pub const PORT_ARBITRATION_SELECT: u32 = 0x7 << PORT_ARBITRATION_SHIFT;
/// Position of Port Arbitration Select.
pub const PORT_ARBITRATION_SHIFT: u32 = 17;
/// VC ID in VC Resource Control.
pub const CHANNEL_ID: u32 = 0x7 << CHANNEL_ID_SHIFT;
/// Position of VC ID.
pub const CHANNEL_ID_SHIFT: u32 = 24;
/// VC Enable in VC Resource Control.
pub const CHANNEL_ENABLE: u32 = 1 << 31;
/// VC Negotiation Pending in VC Resource Status.
pub const NEGOTIATION_PENDING: u32 = 1 << 17;

/// Byte offset of the capability.
const CHANNELS_BYTES: u16 = 0x300;
/// ID of the capability.
pub const CHANNELS_ID: u16 = 0x0002;

/// The largest number of virtual channels of a port.
pub const MOST_CHANNELS: usize = 8;

/// VC Arbitration Table Status, or Port Arbitration Table Status: the table was written after it was last loaded.
const TABLE_STATUS: u32 = 1 << 16;
const LOW_PRIORITY_SHIFT: u32 = 4;
const ENTRY_SIZE_SHIFT: u32 = 10;
/// The register with the first phases of the VC arbitration table, after the registers of eight channels.
const VC_TABLE: u16 = CHANNELS + 0x80 / 4;
/// Bits of a phase of the VC arbitration table: a VC ID and a reserved bit.
const VC_ENTRY_BITS: u32 = 4;
/// The register with the first phases of the port arbitration table of VC0. The tables of the other channels follow in order.
const PORT_TABLES: u16 = 0x800 / 4;
/// Registers of the largest port arbitration table: 256 phases of 8 bits.
const PORT_TABLE_REGISTERS: u16 = 64;

/// The number of phases for each value of VC Arbitration Select; 0 selects the fixed arbitration of the hardware.
const VC_PHASES: [u16; 4] = [0, 32, 64, 128];
/// The number of phases for each value of Port Arbitration Select. The value 4 selects time-based arbitration, which is not modelled.
const PORT_PHASES: [u16; 6] = [0, 32, 64, 128, 0, 256];
/// VC Arbitration Capability: fixed in hardware, and weighted round robin with 32, 64 and 128 phases.
const VC_SCHEMES: u32 = 0b1111;
/// Port Arbitration Capability: fixed in hardware, and weighted round robin with 32, 64, 128 and 256 phases.
const PORT_SCHEMES: u32 = 0b10_1111;

/// The virtual channels that a port has, as its capability describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VirtualChannels {
    /// Number of virtual channels besides VC0, 0 to 7.
    pub extended: u8,
    /// Number of extended virtual channels that share the link with VC0 by VC Arbitration Select. The other channels have strict priority,
    /// the highest VC ID first.
    pub low_priority: u8,
    /// Number of ports that the port arbitration table distinguishes, including the port itself; `None` if the port has no port
    /// arbitration.
    pub ports: Option<u8>,
}

impl VirtualChannels {
    /// The number of bits of an entry of a port arbitration table: 1, 2, 4 or 8.
    pub fn entry_bits(self) -> u32 {
        1 << self.entry_size()
    }

    /// Port Arbitration Table Entry Size: the base-2 logarithm of the number of bits of an entry.
    fn entry_size(self) -> u32 {
        match self.ports {
            None | Some(0..=2) => 0,
            Some(3..=4) => 1,
            Some(5..=16) => 2,
            Some(_) => 3,
        }
    }
}

/// An arbitration that a control register selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Arbitration {
    /// The fixed arbitration of the hardware, which is round robin in the model.
    #[default]
    Fixed,
    /// Weighted round robin: in each phase, the VC ID or the port in the table entry of the phase is served.
    Phases(Vec<u8>),
}

/// A virtual channel that is enabled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelControl {
    /// The traffic classes that are mapped to the channel, with one bit for each class.
    pub classes: u8,
    /// The arbitration among the ingress ports of the packets that leave through the channel.
    pub ports: Arbitration,
}

/// The control registers of a port's virtual channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelsControl {
    /// The enabled channels, by VC ID.
    pub channels: [Option<ChannelControl>; MOST_CHANNELS],
    /// The highest VC ID of the low-priority group.
    pub low_priority: u8,
    /// The arbitration within the low-priority group.
    pub arbitration: Arbitration,
}

impl ConfigSpace {
    pub(super) fn declare_channels(&mut self, channels: VirtualChannels) {
        self.append_extended(CHANNELS_BYTES, CHANNELS_ID, 1);
        let VirtualChannels {
            extended,
            low_priority,
            ports,
        } = channels;
        let counts = u32::from(extended) | u32::from(low_priority) << LOW_PRIORITY_SHIFT;
        let entry_size = channels.entry_size() << ENTRY_SIZE_SHIFT;
        self.declare(PORT_CHANNELS, counts | entry_size, 0, 0);
        let has_table = low_priority > 0;
        if has_table {
            let offset = u32::from((VC_TABLE - CHANNELS) / TABLE_UNIT) << TABLE_OFFSET_SHIFT;
            self.declare(PORT_CHANNELS_2, offset | VC_SCHEMES, 0, 0);
            let control = LOAD_VC_TABLE | VC_ARBITRATION_SELECT;
            self.declare(PORT_CHANNELS_CONTROL, 0, control, 0);
            for register in VC_TABLE..VC_TABLE + VC_TABLE_REGISTERS {
                self.declare(register, 0, 0x7777_7777, 0);
            }
        }
        for resource in 0..=u16::from(extended) {
            self.declare_resource(resource, ports);
        }
        // A function level reset changes no register of the capability (PCIe Base 6.6.2), because the link stays up.
        self.declare_all_kept(CHANNELS);
    }

    fn declare_resource(&mut self, resource: u16, ports: Option<u8>) {
        let first = CHANNEL_RESOURCES + resource * RESOURCE_REGISTERS;
        let mut arbitration = 0;
        if ports.is_some() {
            let table = PORT_TABLES + resource * PORT_TABLE_REGISTERS;
            let offset = u32::from((table - CHANNELS) / TABLE_UNIT) << TABLE_OFFSET_SHIFT;
            self.declare(first, offset | PORT_SCHEMES, 0, 0);
            arbitration = LOAD_PORT_TABLE | PORT_ARBITRATION_SELECT;
            for register in table..table + PORT_TABLE_REGISTERS {
                self.declare(register, 0, u32::MAX, 0);
            }
        }
        // TC0 belongs to VC0, which is always enabled and has all classes after reset (PCIe Base 7.9.1.8).
        if resource == 0 {
            let writable = CLASS_MAP & !1 | arbitration;
            self.declare(first + 1, CHANNEL_ENABLE | CLASS_MAP, writable, 0);
        } else {
            let writable = CLASS_MAP & !1 | arbitration | CHANNEL_ID | CHANNEL_ENABLE;
            let id = u32::from(resource) << CHANNEL_ID_SHIFT;
            self.declare(first + 1, id, writable, 0);
        }
    }

    /// Whether the function has the capability.
    pub fn has_channels(&self) -> bool {
        self.read(CHANNELS) & 0xffff == u32::from(CHANNELS_ID)
    }

    /// The settings in the control registers of the port's virtual channels; `None` without the capability.
    pub fn channels_control(&self) -> Option<ChannelsControl> {
        if !self.has_channels() {
            return None;
        }
        let counts = self.read(PORT_CHANNELS);
        let select =
            (self.read(PORT_CHANNELS_CONTROL) & VC_ARBITRATION_SELECT) >> VC_ARBITRATION_SHIFT;
        let phases = VC_PHASES.get(select as usize).copied().unwrap_or(0);
        let mut channels: [Option<ChannelControl>; MOST_CHANNELS] = Default::default();
        for resource in (0..=(counts & EXTENDED_COUNT) as u16).rev() {
            let control = self.read(resource_control(resource));
            if control & CHANNEL_ENABLE != 0 {
                let id = (control & CHANNEL_ID) >> CHANNEL_ID_SHIFT;
                channels[id as usize] = Some(ChannelControl {
                    classes: (control & CLASS_MAP) as u8,
                    ports: self.port_arbitration(resource, control),
                });
            }
        }
        Some(ChannelsControl {
            channels,
            low_priority: (counts >> LOW_PRIORITY_SHIFT & 0x7) as u8,
            arbitration: self.phases(VC_TABLE, phases, VC_ENTRY_BITS),
        })
    }

    fn port_arbitration(&self, resource: u16, control: u32) -> Arbitration {
        let select = (control & PORT_ARBITRATION_SELECT) >> PORT_ARBITRATION_SHIFT;
        let phases = PORT_PHASES.get(select as usize).copied().unwrap_or(0);
        let bits = 1 << (self.read(PORT_CHANNELS) >> ENTRY_SIZE_SHIFT & 0x3);
        self.phases(PORT_TABLES + resource * PORT_TABLE_REGISTERS, phases, bits)
    }

    /// Reads the loaded table that begins at the register `first` and has `phases` entries of `bits` bits.
    fn phases(&self, first: u16, phases: u16, bits: u32) -> Arbitration {
        if phases == 0 {
            return Arbitration::Fixed;
        }
        let loaded = self.loaded_tables.iter().find(|table| table.first == first);
        let entry = |phase: u16| {
            let at = u32::from(phase) * bits;
            let dword = loaded.and_then(|table| table.dwords.get((at / 32) as usize));
            (dword.copied().unwrap_or(0) >> (at % 32) & ((1 << bits) - 1)) as u8
        };
        Arbitration::Phases((0..phases).map(entry).collect())
    }

    /// Sets VC Negotiation Pending of every enabled channel whose VC ID is in `pending`, and clears it in all other channels.
    pub fn set_negotiation_pending(&mut self, pending: u8) {
        if !self.has_channels() {
            return;
        }
        for resource in 0..=(self.read(PORT_CHANNELS) & EXTENDED_COUNT) as u16 {
            let control = self.read(resource_control(resource));
            let id = (control & CHANNEL_ID) >> CHANNEL_ID_SHIFT;
            let waits = control & CHANNEL_ENABLE != 0 && pending >> id & 1 != 0;
            let value = if waits { NEGOTIATION_PENDING } else { 0 };
            self.update(resource_control(resource) + 1, NEGOTIATION_PENDING, value);
        }
    }

    /// Removes the loaded tables and clears the status of the channels, as a part of a reset.
    pub(super) fn reset_channels(&mut self) {
        if !self.has_channels() {
            return;
        }
        self.loaded_tables_mut().clear();
        self.update(PORT_CHANNELS_CONTROL, TABLE_STATUS, 0);
        for resource in 0..=(self.read(PORT_CHANNELS) & EXTENDED_COUNT) as u16 {
            let status = TABLE_STATUS | NEGOTIATION_PENDING;
            self.update(resource_control(resource) + 1, status, 0);
        }
    }

    /// Applies the side effects of a write to `register`. `before` is the value of the register before the write.
    pub(super) fn write_channels(&mut self, register: u16, before: u32) {
        if !(CHANNELS..CHANNELS + CHANNELS_END).contains(&register)
            && !(PORT_TABLES..PORT_TABLES_END).contains(&register)
            || !self.has_channels()
        {
            return;
        }
        let resources = CHANNEL_RESOURCES..CHANNEL_RESOURCES + 8 * RESOURCE_REGISTERS;
        if register == PORT_CHANNELS_CONTROL {
            self.load(register, LOAD_VC_TABLE, VC_TABLE, VC_TABLE_REGISTERS);
        } else if resources.contains(&register) {
            let resource = (register - CHANNEL_RESOURCES) / RESOURCE_REGISTERS;
            let table = PORT_TABLES + resource * PORT_TABLE_REGISTERS;
            self.load(register, LOAD_PORT_TABLE, table, PORT_TABLE_REGISTERS);
            // The VC ID of an enabled channel cannot be changed (PCIe Base 7.9.1.8).
            if before & self.read(register) & CHANNEL_ENABLE != 0 {
                self.update(register, CHANNEL_ID, before);
            }
        } else if (VC_TABLE..VC_TABLE + VC_TABLE_REGISTERS).contains(&register) {
            self.raise(PORT_CHANNELS_CONTROL, TABLE_STATUS);
        } else if (PORT_TABLES..PORT_TABLES_END).contains(&register) {
            let resource = (register - PORT_TABLES) / PORT_TABLE_REGISTERS;
            self.raise(resource_control(resource) + 1, TABLE_STATUS);
        }
    }

    /// Loads the table at `first` if the bit `load` of `register` was set by a write. The bit always reads as zero.
    fn load(&mut self, register: u16, load: u32, first: u16, count: u16) {
        if self.read(register) & load == 0 {
            return;
        }
        self.update(register, load, 0);
        let status = if first == VC_TABLE {
            register
        } else {
            register + 1
        };
        self.update(status, TABLE_STATUS, 0);
        let dwords = (first..first + count).map(|register| self.read(register));
        let dwords = dwords.collect();
        let tables = self.loaded_tables_mut();
        tables.retain(|table| table.first != first);
        tables.push(LoadedTable { first, dwords });
        tables.sort_by_key(|table| table.first);
    }
}

/// Registers of the VC arbitration table: 128 phases of 4 bits.
const VC_TABLE_REGISTERS: u16 = 16;
const CHANNELS_END: u16 = VC_TABLE - CHANNELS + VC_TABLE_REGISTERS;
const PORT_TABLES_END: u16 = PORT_TABLES + 8 * PORT_TABLE_REGISTERS;

/// Whether a register is Port VC Control or VC Resource Control. A write to these registers can load an arbitration table.
pub fn is_channel_control(register: u16) -> bool {
    let resources = CHANNEL_RESOURCES..CHANNEL_RESOURCES + 8 * RESOURCE_REGISTERS;
    let is_second = || (register - CHANNEL_RESOURCES) % RESOURCE_REGISTERS == 1;
    register == PORT_CHANNELS_CONTROL || resources.contains(&register) && is_second()
}

/// The value to write to a register for which [`is_channel_control`] is true. If `value` selects an arbitration with a table, the result
/// also has the bit that loads the table.
pub fn with_load(register: u16, value: u32) -> u32 {
    let (select, load) = if register == PORT_CHANNELS_CONTROL {
        (VC_ARBITRATION_SELECT, LOAD_VC_TABLE)
    } else {
        (PORT_ARBITRATION_SELECT, LOAD_PORT_TABLE)
    };
    if value & select == 0 {
        value
    } else {
        value | load
    }
}

/// VC Resource Control of a channel.
fn resource_control(resource: u16) -> u16 {
    CHANNEL_RESOURCES + resource * RESOURCE_REGISTERS + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(extended: u8, low_priority: u8, ports: Option<u8>) -> ConfigSpace {
        let mut space = ConfigSpace::empty();
        let channels = VirtualChannels {
            extended,
            low_priority,
            ports,
        };
        space.declare_channels(channels);
        space
    }

    fn enabled(space: &ConfigSpace) -> Vec<(u8, u8)> {
        let control = space.channels_control().expect("the capability");
        let channels = (0..).zip(control.channels);
        channels
            .filter_map(|(id, channel)| Some((id, channel?.classes)))
            .collect()
    }

    /// PCIe Base 7.9.1.8: after reset, all traffic classes are mapped to VC0. No write can map TC0 to another channel.
    #[test]
    fn after_reset_every_class_is_on_vc0_and_class_0_stays_there() {
        let mut space = port(2, 2, None);
        assert_eq!(enabled(&space), [(0, 0xff)]);
        space.write(resource_control(0), 0, 0xf);
        space.write(resource_control(1), CHANNEL_ENABLE | 5 << 24 | 0xff, 0xf);
        assert_eq!(enabled(&space), [(0, 0x01), (5, 0xfe)]);
    }

    #[test]
    fn the_id_of_a_channel_changes_only_while_it_is_disabled() {
        let mut space = port(1, 0, None);
        space.write(resource_control(1), CHANNEL_ENABLE | 3 << 24 | 2, 0xf);
        space.write(resource_control(1), CHANNEL_ENABLE | 4 << 24 | 6, 0xf);
        assert_eq!(enabled(&space), [(0, 0xff), (3, 6)]);
        space.write(resource_control(1), 4 << 24 | 6, 0xf);
        space.write(resource_control(1), CHANNEL_ENABLE | 4 << 24 | 6, 0xf);
        assert_eq!(enabled(&space), [(0, 0xff), (4, 6)]);
    }

    /// PCIe Base 7.9.1.4 and 7.9.1.5: entries written to the table take effect when the table is loaded; until then the status bit is set.
    #[test]
    fn a_table_counts_when_it_is_loaded() {
        let mut space = port(1, 1, Some(3));
        space.write(PORT_CHANNELS_CONTROL, 1 << VC_ARBITRATION_SHIFT, 0xf);
        space.write(VC_TABLE, 0x1111_0000, 0xf);
        let phases = |space: &ConfigSpace| space.channels_control().expect("it").arbitration;
        assert_eq!(phases(&space), Arbitration::Phases(vec![0; 32]));
        assert_ne!(space.read(PORT_CHANNELS_CONTROL) & TABLE_STATUS, 0);
        let control = 1 << VC_ARBITRATION_SHIFT | LOAD_VC_TABLE;
        space.write(PORT_CHANNELS_CONTROL, control, 0xf);
        let mut expected = vec![0; 32];
        expected[4..8].fill(1);
        assert_eq!(phases(&space), Arbitration::Phases(expected));
        // The load bit reads as zero. The status bit is clear, because the table is loaded.
        let status = TABLE_STATUS | LOAD_VC_TABLE;
        assert_eq!(space.read(PORT_CHANNELS_CONTROL) & status, 0);
    }

    #[test]
    fn a_port_table_has_entries_as_wide_as_the_ports_need() {
        for (ports, bits) in [(2, 1), (4, 2), (16, 4), (17, 8)] {
            let mut space = port(1, 1, Some(ports));
            let table = PORT_TABLES + PORT_TABLE_REGISTERS;
            space.write(table + 1, 1, 0xf);
            let control = CHANNEL_ENABLE | 5 << PORT_ARBITRATION_SHIFT | LOAD_PORT_TABLE;
            space.write(resource_control(1), control | 1 << CHANNEL_ID_SHIFT, 0xf);
            let all = space.channels_control().expect("the capability").channels;
            let Some(ChannelControl {
                ports: Arbitration::Phases(phases),
                ..
            }) = &all[1]
            else {
                panic!("a channel with weighted round robin");
            };
            let position = phases.iter().position(|entry| *entry == 1);
            assert_eq!((phases.len(), position), (256, Some(32 / bits)));
        }
    }

    /// PCIe Base 6.6.2: the link stays up during a function level reset, so the port keeps its channels, as the far end of the link does.
    #[test]
    fn a_function_level_reset_changes_no_channel() {
        let mut space = port(1, 1, Some(2));
        space.write(resource_control(0), 0x0f, 0xf);
        space.write(resource_control(1), CHANNEL_ENABLE | 1 << 24 | 0xf0, 0xf);
        let before = space.channels_control();
        space.function_level_reset();
        assert_eq!(space.channels_control(), before);
    }

    #[test]
    fn a_hot_reset_leaves_vc0_alone_with_all_classes() {
        let mut space = port(1, 1, Some(2));
        space.write(resource_control(0), 0x0f, 0xf);
        space.write(resource_control(1), CHANNEL_ENABLE | 1 << 24 | 0xf0, 0xf);
        space.set_negotiation_pending(0b10);
        assert_ne!(space.read(resource_control(1) + 1) & NEGOTIATION_PENDING, 0);
        space.reset(false);
        assert_eq!(enabled(&space), [(0, 0xff)]);
        assert_eq!(space.read(resource_control(1) + 1), 0);
    }
}
