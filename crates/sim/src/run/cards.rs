//! The FPGA cards of a fabric as the software of their hosts finds them.

use device::FpgaCardParameters;
use device::fpga_card::{AfuId, FpgaCard, MMIO_SIZE, registers};
use kernel::{Bandwidth, Frequency};
use protocol::FunctionId;
use transaction::FunctionPlace;

use crate::run::simulation::Simulation;

/// An FPGA card and its location.
#[derive(Clone, Debug)]
pub struct CardPlace {
    node: usize,
    /// Name of the card.
    pub name: String,
    /// The host above the card.
    pub host: String,
    /// Function of the card.
    pub function: FunctionId,
    /// The socket of the host above the card.
    pub socket: u8,
    /// Vendor ID.
    pub vendor_id: u16,
    /// Device ID.
    pub device_id: u16,
    /// Subsystem vendor ID.
    pub subsystem_vendor_id: u16,
    /// Subsystem ID.
    pub subsystem_id: u16,
    /// Base address of the [registers] of the management engine.
    pub management: u64,
    /// Bytes of the card's own memory.
    pub local_memory: u64,
    /// Bytes of a bitstream that are configured per second.
    pub configuration_rate: Bandwidth,
    /// The slots, by number.
    pub slots: Vec<SlotPlace>,
}

/// A slot of an FPGA card.
#[derive(Clone, Debug)]
pub struct SlotPlace {
    /// ID of the unit in the slot.
    pub afu: Option<AfuId>,
    /// Clock of the unit.
    pub clock: Frequency,
    /// Base address of the unit's registers.
    pub registers: u64,
    /// Base address of the registers of the port.
    pub port: u64,
}

impl SlotPlace {
    /// Size of a unit's registers in bytes.
    pub const REGISTERS_SIZE: u64 = MMIO_SIZE;
}

/// The BARs of the management engine and of the ports.
const BARS: [u8; 2] = [0, 2];

/// Subsystem ID and subsystem vendor ID (PCIe Base 7.5.1.2.3): a dword of the configuration space.
const SUBSYSTEM: u16 = 0x2c / 4;

impl Simulation {
    /// All FPGA cards, in the order of the scenario.
    pub fn cards(&self) -> Vec<CardPlace> {
        let numbers = 0..self.plan.nodes.len();
        numbers.filter_map(|number| self.card_at(number)).collect()
    }

    fn card_at(&self, number: usize) -> Option<CardPlace> {
        let node = &self.plan.nodes[number];
        let card = node.kind.device::<FpgaCardParameters>()?;
        let functions = self.model(number).functions(self.now());
        let space = functions.space(FunctionPlace::Own);
        let [management, port] = BARS.map(|bar| space.bar_base(bar));
        let model = self.model(number).device::<FpgaCard>()?;
        let slots = model.slots().iter().zip(0..).map(|(slot, number)| {
            let port = port + number * registers::PORT_DISTANCE;
            SlotPlace {
                afu: slot.afu_id(),
                clock: slot.clock,
                registers: port + registers::AFU,
                port,
            }
        });
        let slots = slots.collect();
        let ids = [0, SUBSYSTEM].map(|register| space.read(register));
        let [low, high] = [|id: u32| id as u16, |id: u32| (id >> 16) as u16];
        Some(CardPlace {
            node: number,
            name: node.name.clone(),
            host: self.plan.nodes[node.root].name.clone(),
            function: functions.id(),
            socket: self.socket_of(number),
            vendor_id: low(ids[0]),
            device_id: high(ids[0]),
            subsystem_vendor_id: low(ids[1]),
            subsystem_id: high(ids[1]),
            management,
            local_memory: card.memory.0,
            configuration_rate: card.configuration_rate,
            slots,
        })
    }

    /// The FPGA card at a place of this fabric.
    pub fn card_in(&self, place: &CardPlace) -> Option<&FpgaCard> {
        self.engine.models().get(place.node)?.device()
    }

    /// The socket above a node.
    fn socket_of(&self, number: usize) -> u8 {
        let mut links = self.plan.links.iter();
        let above = links.find(|link| link.downstream.0 == number);
        above.map_or(0, |link| match link.socket {
            Some(socket) => socket as u8,
            None if link.upstream.0 == self.plan.nodes[number].root => 0,
            None => self.socket_of(link.upstream.0),
        })
    }
}
