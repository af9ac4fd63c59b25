//! Requests of devices that leave it to the host to translate their addresses: they wait at their root port for the translation
//! agent, and keep their order with all that comes in there behind them.

use std::collections::{BTreeMap, VecDeque};

use kernel::{Effects, Port};
use packet::{PacketId, Refusal};
use protocol::{AddressType, FunctionId, Header, Kind};
use transaction::Mapping;

use crate::cpu::is_interrupt;
use crate::iommu::Purpose;
use crate::{Cpu, RootComplex, TranslationFault};

/// What waits, by root port, in the order in which it came in.
#[derive(Debug, Default)]
pub(crate) struct Untranslated {
    waiting: BTreeMap<u16, VecDeque<(PacketId, Progress)>>,
}

#[derive(Clone, Copy, Debug)]
enum Progress {
    /// The translation agent has been asked.
    Asked,
    /// It has answered.
    Answered(Result<Mapping, TranslationFault>),
    /// There is nothing to ask: it waits for those before it.
    Behind,
}

impl Untranslated {
    /// The agent has answered for a packet that came in at `port`.
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

    /// The first packet of a port, if it need not wait any more.
    fn next(&mut self, port: Port) -> Option<(PacketId, Progress)> {
        let waiting = self.waiting.get_mut(&port.0)?;
        waiting.pop_front_if(|(_, progress)| !matches!(progress, Progress::Asked))
    }

    fn is_empty(&self, port: Port) -> bool {
        self.waiting.get(&port.0).is_none_or(VecDeque::is_empty)
    }
}

/// Whose address a request has that is to be translated, and what for. Interrupts are no accesses to memory.
fn wanted(header: &Header) -> Option<(FunctionId, u64, Purpose)> {
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

/// The same header, with the address that the page leads to.
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
    /// Whether a packet from below waits for the translation of its address, or for another one's that came before it.
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
        let wanted = wanted(header).filter(|(who, ..)| agent.translates_for(*who));
        if wanted.is_none() && agent.untranslated.is_empty(port) {
            return false;
        }
        let progress = wanted.map_or(Progress::Behind, |_| Progress::Asked);
        let waiting = agent.untranslated.waiting.entry(port.0).or_default();
        waiting.push_back((packet, progress));
        if let Some((who, address, purpose)) = wanted {
            agent.ask((port, packet), (who, address, purpose), fx.now());
            self.go_on_translating(fx);
        }
        true
    }

    /// Lets in what need not wait any more at `port`.
    pub(crate) fn let_translated_in(&mut self, port: Port, fx: &mut Effects<'_, Self>) {
        while let Some(agent) = &mut self.translation
            && let Some((packet, progress)) = agent.untranslated.next(port)
        {
            let header = *fx.store()[packet].header();
            match progress {
                Progress::Answered(Ok(mapping)) => {
                    // Whoever sent it may still send it again as it was.
                    let header = translated(&header, &mapping);
                    let inside = fx.store().rewritten(packet, header);
                    self.go_in(port, inside, &header, fx);
                }
                Progress::Answered(Err(_)) => {
                    self.refuse(port, packet, &header, Refusal::UnsupportedRequest, fx);
                }
                Progress::Asked | Progress::Behind => self.go_in(port, packet, &header, fx),
            }
        }
    }
}
