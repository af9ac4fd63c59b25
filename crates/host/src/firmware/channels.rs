//! Changes to the virtual channels of a port (PCIe Base 7.9.1).

use protocol::{FunctionId, register};

use super::access::Registers;

/// A change to the virtual channels of a port, if it has the capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelSetting {
    /// Phases of the VC arbitration table.
    VcPhases {
        /// The register of the table.
        register: u8,
        /// The phases, packed.
        value: u32,
    },
    /// VC Arbitration Select; loads the table.
    VcArbitration(u8),
    /// Phases of the port arbitration table of a channel.
    PortPhases {
        /// The VC resource.
        channel: u8,
        /// The register of the table.
        register: u8,
        /// The phases, packed.
        value: u32,
    },
    /// Port Arbitration Select of a channel; loads the table.
    PortArbitration {
        /// The VC resource.
        channel: u8,
        /// The value of the field.
        select: u8,
    },
    /// The traffic classes of a channel, with a bit for each class, and the VC ID, which is the number of the channel. A channel other than VC0
    /// is enabled if it has classes, and disabled if it has none.
    Classes {
        /// The VC resource.
        channel: u8,
        /// TC/VC Map.
        classes: u8,
    },
}

impl Registers {
    pub(super) async fn make_channels(&self, function: FunctionId, setting: ChannelSetting) {
        let Some(at) = self.extended(function, register::CHANNELS_ID).await else {
            return;
        };
        let offset = |register: u16| at + (register - register::CHANNELS);
        let resource = |channel: u8| {
            offset(register::CHANNEL_RESOURCES) + u16::from(channel) * register::RESOURCE_REGISTERS
        };
        match setting {
            ChannelSetting::VcPhases { register, value } => {
                let first = self.table(function, at, offset(register::PORT_CHANNELS_2));
                let register = first.await + u16::from(register);
                self.write(function, register, value).await;
            }
            ChannelSetting::PortPhases {
                channel,
                register,
                value,
            } => {
                let first = self.table(function, at, resource(channel)).await;
                let register = first + u16::from(register);
                self.write(function, register, value).await;
            }
            ChannelSetting::VcArbitration(select) => {
                let select = u32::from(select) << register::VC_ARBITRATION_SHIFT;
                let mask = register::VC_ARBITRATION_SELECT | register::LOAD_VC_TABLE;
                let field = (mask, select | register::LOAD_VC_TABLE);
                let control = offset(register::PORT_CHANNELS_CONTROL);
                self.replace(function, control, field).await;
            }
            ChannelSetting::PortArbitration { channel, select } => {
                let select = u32::from(select) << register::PORT_ARBITRATION_SHIFT;
                let mask = register::PORT_ARBITRATION_SELECT | register::LOAD_PORT_TABLE;
                let field = (mask, select | register::LOAD_PORT_TABLE);
                let control = resource(channel) + 1;
                self.replace(function, control, field).await;
            }
            ChannelSetting::Classes { channel, classes } => {
                let id = u32::from(channel) << register::CHANNEL_ID_SHIFT;
                let is_used = channel == 0 || classes > 0;
                let enable = u32::from(is_used) * register::CHANNEL_ENABLE;
                let mask = register::CLASS_MAP | register::CHANNEL_ID | register::CHANNEL_ENABLE;
                let field = (mask, u32::from(classes) | id | enable);
                let control = resource(channel) + 1;
                self.replace(function, control, field).await;
            }
        }
    }

    /// The first register of the table whose offset from the capability at `at` is in `register`.
    async fn table(&self, function: FunctionId, at: u16, register: u16) -> u16 {
        let offset = self.read(function, register).await >> register::TABLE_OFFSET_SHIFT;
        at + offset as u16 * register::TABLE_UNIT
    }
}
