//! The times of a link end that depend on the rate and the width of its link, which training may change.

use kernel::Span;
use protocol::Generation;

use super::LinkEnd;
use crate::ltssm::Offer;
use crate::parameters::PortParameters;
use crate::{Clocks, LinkConfig, WireTiming};

/// The parameters from which the times are derived.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    max_payload: u16,
    pub(super) round_trip: Span,
    clocks: Clocks,
    port: PortParameters,
}

impl Rates {
    pub(super) fn new(config: &LinkConfig, parameters: &PortParameters) -> Self {
        Rates {
            max_payload: config.max_payload,
            round_trip: config.round_trip,
            clocks: config.clocks,
            port: parameters.clone(),
        }
    }

    pub(super) fn timing(&self, link: Offer) -> WireTiming {
        let Offer { generation, lanes } = link;
        WireTiming::new(generation, lanes, self.clocks, self.port.skip_position)
    }

    pub(super) fn longest_frame(&self, timing: &WireTiming) -> Span {
        timing.length(u32::from(self.max_payload) + LONGEST_OVERHEAD)
    }

    pub(super) fn acknowledge_limit(&self, link: Offer) -> Span {
        // The limit applies between the pins, so the delays of the pipelines are subtracted from it.
        let pipelines = self.port.receive_pipeline(link.generation)
            + self.port.transmit_pipeline(link.generation);
        let limit = self.latency_limit(link, self.port.ack_rule().limit_fraction);
        limit.saturating_sub(pipelines)
    }

    /// The limit for the latency of an Ack times `factor`.
    fn latency_limit(&self, link: Offer, factor: f64) -> Span {
        let Offer { generation, lanes } = link;
        let limit = generation.ack_latency_limit(lanes, self.max_payload);
        self.symbols(generation, limit, factor)
    }

    pub(super) fn replay_limit(&self, link: Offer) -> Span {
        let limit = link
            .generation
            .replay_timer_limit(link.lanes, self.max_payload);
        // The specification's limit does not include the flight time of long cables and pipelines. The timer also has an adjustment, because
        // the transmitter of an Ack may have to leave L0s first.
        let own_l0s_exit = self.port.l0s_exit_latency.unwrap_or(Span::ZERO);
        let timer = self.symbols(link.generation, limit, self.port.replay_timer_factor);
        timer + self.round_trip + own_l0s_exit
    }

    /// The longest time from when credit is freed until its UpdateFC is sent. The UpdateFC transmission latency guideline (PCIe Base 2.6.1.2) has
    /// the same values as the Ack latency limit.
    pub(super) fn update_delay(&self, link: Offer) -> Span {
        let set = self.port.update_delay();
        set.unwrap_or_else(|| self.latency_limit(link, 1.0))
    }

    /// The time of `count` symbols times `factor`.
    fn symbols(&self, generation: Generation, count: u32, factor: f64) -> Span {
        // The factor is converted to thousandths, because times are integers.
        let thousandths = (factor * 1000.0).round() as u64;
        let symbol_x64 = self.clocks.stretched(generation.lane_byte_fs_x64());
        Span::from_fs(symbol_x64 * u64::from(count) * thousandths / 64_000)
    }
}

/// The bytes of the longest TLP besides its payload: a header of four dwords, ECRC, LCRC, and the STP token.
const LONGEST_OVERHEAD: u32 = 16 + 4 + 4 + 4;

impl LinkEnd {
    /// Changes the rate and width of the link. Returns whether they differ from the previous ones.
    pub(super) fn set_rate(&mut self, link: Offer) -> bool {
        let timing = self.timing();
        if (timing.generation(), timing.lanes()) == (link.generation, link.lanes) {
            return false;
        }
        self.transmitter.set_timing(self.rates.timing(link));
        self.receiver.set_generation(link.generation);
        self.set_limits(link);
        true
    }

    /// Applies `Max_Payload_Size` of Device Control, in bytes, on which the limits of Acks, replays and UpdateFCs depend.
    pub(super) fn set_max_payload(&mut self, max_payload: u32) {
        if max_payload == u32::from(self.rates.max_payload) {
            return;
        }
        self.rates.max_payload = max_payload as u16;
        let timing = self.timing();
        let (generation, lanes) = (timing.generation(), timing.lanes());
        self.set_limits(Offer { generation, lanes });
    }

    fn set_limits(&mut self, link: Offer) {
        self.acknowledge_limit = self.rates.acknowledge_limit(link);
        self.replay_limit = self.rates.replay_limit(link);
        self.update_delay = self.rates.update_delay(link);
    }
}
