//! Requests with untranslated addresses: they wait at their root port for the translation agent, and later packets of that port
//! stay behind them.

use std::collections::{BTreeMap, VecDeque};

use kernel::Port;
use packet::{PacketId, Packets};
use protocol::{AddressType, FunctionId, Header, Kind};
use transaction::Mapping;

use super::{Outcome, Purpose};
use crate::root_complex::cpu::is_interrupt;

/// The waiting packets of each root port, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Untranslated {
    waiting: BTreeMap<u16, VecDeque<(PacketId, Progress)>>,
}

/// The state of a waiting packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Progress {
    /// The translation agent was asked and has not answered.
    Asked,
    /// The translation agent has answered.
    Answered(Outcome),
    /// The packet needs no translation, and waits for earlier packets.
    Behind,
}

/// A packet that waits no longer.
#[derive(Debug)]
pub(in crate::root_complex) struct Released {
    /// The packet, with a physical address.
    pub(in crate::root_complex) packet: PacketId,
    /// Whether its address has no translation, or the function has no access; the address is as it came in.
    pub(in crate::root_complex) is_fault: bool,
}

impl Untranslated {
    /// Takes the translation agent's answer for a packet that came in at `port`.
    pub(super) fn answer(&mut self, port: Port, packet: PacketId, outcome: Outcome) {
        let waiting = self.waiting.entry(port.0).or_default();
        if let Some((_, progress)) = waiting.iter_mut().find(|(one, _)| *one == packet) {
            *progress = Progress::Answered(outcome);
        }
    }

    /// Adds a packet that came in at `port`.
    pub(super) fn push(&mut self, port: Port, packet: PacketId, progress: Progress) {
        let waiting = self.waiting.entry(port.0).or_default();
        waiting.push_back((packet, progress));
    }

    /// Takes the first packet of a port, if it need not wait any longer.
    pub(super) fn release(&mut self, port: Port, packets: &mut Packets) -> Option<Released> {
        let waiting = self.waiting.get_mut(&port.0)?;
        let is_done = |(_, progress): &mut (_, _)| !matches!(progress, Progress::Asked);
        let (packet, progress) = waiting.pop_front_if(is_done)?;
        let packet = match progress {
            Progress::Answered(Ok(mapping)) if mapping.is_identity() => packet,
            Progress::Answered(Ok(mapping)) => {
                // The packet must not be changed, because its sender may still replay it.
                let header = translated(packets[packet].header(), &mapping);
                packets.rewritten(packet, header)
            }
            Progress::Answered(Err(_)) | Progress::Asked | Progress::Behind => packet,
        };
        let is_fault = matches!(progress, Progress::Answered(Err(_)));
        Some(Released { packet, is_fault })
    }

    pub(super) fn is_empty(&self, port: Port) -> bool {
        self.waiting.get(&port.0).is_none_or(VecDeque::is_empty)
    }
}

/// The function, the address and the purpose of a request that needs a translation. Interrupts are not memory accesses and need
/// none.
pub(super) fn needed_translation(header: &Header) -> Option<(FunctionId, u64, Purpose)> {
    match &header.kind {
        Kind::MemoryRead(request) if request.address_type() == AddressType::Untranslated => {
            Some((request.requester, request.address(), Purpose::Read))
        }
        Kind::MemoryWrite(request)
            if request.address_type() == AddressType::Untranslated && !is_interrupt(request) =>
        {
            Some((request.requester, request.address(), Purpose::Write))
        }
        Kind::Atomic(request) => Some((request.requester, request.address(), Purpose::Write)),
        _ => None,
    }
}

/// The header with its address translated by `mapping`.
fn translated(header: &Header, mapping: &Mapping) -> Header {
    let kind = match header.kind {
        Kind::MemoryRead(request) => {
            Kind::MemoryRead(request.in_page(mapping.translate(request.address())))
        }
        Kind::MemoryWrite(request) => {
            Kind::MemoryWrite(request.in_page(mapping.translate(request.address())))
        }
        Kind::Atomic(request) => {
            Kind::Atomic(request.in_page(mapping.translate(request.address())))
        }
        other => other,
    };
    Header { kind, ..*header }
}
