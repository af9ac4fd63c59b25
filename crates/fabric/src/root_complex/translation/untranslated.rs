//! Requests with untranslated addresses: they wait at their root port for the translation agent, and later packets of that port
//! stay behind them.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Effects, Port};
use packet::{PacketId, Refusal};
use protocol::{AddressType, FunctionId, Header, Kind};
use transaction::Mapping;

use super::iommu::Purpose;
use crate::root_complex::cpu::is_interrupt;
use crate::{Cpu, RootComplex, TranslationFault};

/// The waiting packets of each root port, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Untranslated {
    waiting: BTreeMap<u16, VecDeque<(PacketId, Progress)>>,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    /// The translation agent was asked and has not answered.
    Asked,
    /// The translation agent has answered.
    Answered(Result<Mapping, TranslationFault>),
    /// The packet needs no translation, and waits for earlier packets.
    Behind,
}

impl Untranslated {
    /// Takes the translation agent's answer for a packet that came in at `port`.
    pub(crate) fn answer(
        &mut self,
        port: Port,
        packet: PacketId,
        outcome: Result<Mapping, TranslationFault>,
    ) {
        let waiting = self.waiting.entry(port.0).or_default();
        if let Some((_, progress)) = waiting.iter_mut().find(|(one, _)| *one == packet) {
            *progress = Progress::Answered(outcome);
        }
    }

    /// The first packet of a port, if it need not wait any longer.
    fn next(&mut self, port: Port) -> Option<(PacketId, Progress)> {
        let waiting = self.waiting.get_mut(&port.0)?;
        waiting.pop_front_if(|(_, progress)| !matches!(progress, Progress::Asked))
    }

    fn is_empty(&self, port: Port) -> bool {
        self.waiting.get(&port.0).is_none_or(VecDeque::is_empty)
    }
}

/// The function, the address and the purpose of a request that needs a translation. Interrupts are not memory accesses and need
/// none.
fn needed_translation(header: &Header) -> Option<(FunctionId, u64, Purpose)> {
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

impl<C: Cpu> RootComplex<C> {
    /// Whether a packet from below must wait, for the translation of its own address or of an earlier packet's.
    pub(crate) fn waits_for_translation(
        &mut self,
        port: Port,
        packet: PacketId,
        header: &Header,
        fx: &mut Effects<'_, Self>,
    ) -> bool {
        let Some(agent) = &mut self.translation else {
            return false;
        };
        let wanted = needed_translation(header).filter(|(who, ..)| agent.translates_for(*who));
        if wanted.is_none() && agent.untranslated.is_empty(port) {
            return false;
        }
        let progress = wanted.map_or(Progress::Behind, |_| Progress::Asked);
        let waiting = agent.untranslated.waiting.entry(port.0).or_default();
        waiting.push_back((packet, progress));
        if let Some((who, address, purpose)) = wanted {
            agent.ask((port, packet), (who, address, purpose), fx.now());
            self.advance_translation(fx);
        }
        true
    }

    /// Handles the packets at `port` that need not wait any longer.
    pub(crate) fn release_translated(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        while let Some(agent) = &mut self.translation
            && let Some((packet, progress)) = agent.untranslated.next(port)
        {
            let header = *fx.store()[packet].header();
            match progress {
                Progress::Answered(Ok(mapping)) => {
                    // The packet must not be changed, because its sender may still replay it.
                    let header = translated(&header, &mapping);
                    let inside = fx.store().rewritten(packet, header);
                    self.admit(port, inside, &header, fx);
                }
                Progress::Answered(Err(_)) => {
                    self.refuse(port, packet, &header, Refusal::UnsupportedRequest, fx);
                }
                Progress::Asked | Progress::Behind => self.admit(port, packet, &header, fx),
            }
        }
    }
}
