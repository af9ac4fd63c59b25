//! The loads of what the next events of a large fabric need, which begin early.

use kernel::{Action, prefetch};
use packet::Frame;

use super::Simulation;
use crate::model::Model;

/// Components from which on the loads of the next events begin early. Measured: with 70 components, which fit into the cache, this costs as
/// much as it gains.
const PREFETCHED: usize = 192;

impl Simulation {
    /// Whether the components are too many for the cache.
    #[inline(always)]
    pub(super) fn prefetches(&self) -> bool {
        self.models.len() >= PREFETCHED
    }

    /// Begins to load what the next three events need, beside the present one: of the third what can be found without reading it, then
    /// what is behind that.
    #[inline(always)]
    pub(super) fn prefetch_next(&mut self) {
        self.world.look_ahead();
        let packets = &self.world.store;
        if let Some(next) = self.world.ahead(0) {
            let id = next.target();
            self.models[id.0 as usize].prefetch(&next, true, packets);
            let port = match next.action() {
                Action::Receive(port, _) => port,
                Action::Expire(_) => 0,
            };
            self.world.prefetch_wire(id, port);
            if let (Model::Host(_), Action::Receive(_, Frame::Tlp(frame))) =
                (&self.models[id.0 as usize], next.action())
                && let Some(flow) = packets[frame.packet].stamp.flow
            {
                self.meter.prefetch_delivery(flow);
            }
        }
        if let Some(second) = self.world.ahead(1) {
            let id = second.target();
            let model = &self.models[id.0 as usize];
            model.prefetch(&second, false, packets);
            if let Action::Receive(_, Frame::Tlp(frame)) = second.action()
                && !matches!(model, Model::Switch(_))
            {
                packets.prefetch_stamp(frame.packet);
            }
        }
        if let Some(third) = self.world.ahead(2) {
            let id = third.target();
            // Only its first line, which has the kind of the component.
            prefetch(&self.models[id.0 as usize], 0..1);
            self.world.prefetch_wires(id);
            if let Action::Receive(_, frame) = third.action()
                && let Some(packet) = frame.packet()
            {
                match frame {
                    Frame::Fibre(_) => packets.prefetch_stamp(packet),
                    _ => packets.prefetch_header(packet),
                }
            }
        }
    }
}
