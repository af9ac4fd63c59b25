//! Prefetches of the data that the next events of a large fabric need.

use kernel::{Action, ComponentId, World, prefetch};
use packet::{FlowId, Frame, Pcie};

use super::Engine;
use crate::meters::meter::Meter;
use crate::model::Model;

/// The number of components from which on the data of the next events is prefetched. Measured: with 70 components, which fit into the cache,
/// prefetching costs as much as it gains.
const PREFETCHED: usize = 192;

impl Engine {
    /// Whether data is prefetched, because the components are too many for the cache.
    #[inline(always)]
    pub(in crate::run) fn prefetches(&self) -> bool {
        self.models.len() >= PREFETCHED
    }

    #[inline(always)]
    pub(super) fn prefetch_next(&mut self, meter: &Meter) {
        let model = |id: ComponentId| &self.models[id.0 as usize];
        if let Some(flow) = prefetch_next(&mut self.world, model) {
            meter.prefetch_delivery(flow);
        }
    }
}

/// Begins to load the data that the next three events need after the present one. For the third event, this is data whose address is known without a
/// read of the component; for the others, it is the data to which the data loaded before points. `model` returns the component of an event. Returns
/// the flow of the packet that the next event delivers to a host, if it delivers one.
#[inline(always)]
pub(super) fn prefetch_next<'m>(
    world: &mut World<Pcie>,
    model: impl Fn(ComponentId) -> &'m Model,
) -> Option<FlowId> {
    world.look_ahead();
    let packets = &world.store;
    let mut delivered = None;
    if let Some(next) = world.ahead(0) {
        let id = next.target();
        let model = model(id);
        model.prefetch(&next, true, packets);
        let port = match next.action() {
            Action::Receive(port, _) => port,
            Action::Expire(_) => 0,
        };
        world.prefetch_wire(id, port);
        if let (Model::Host(_), Action::Receive(_, Frame::Tlp(frame))) = (model, next.action()) {
            delivered = packets[frame.packet].stamp.flow;
        }
    }
    if let Some(second) = world.ahead(1) {
        let model = model(second.target());
        model.prefetch(&second, false, packets);
        if let Action::Receive(_, Frame::Tlp(frame)) = second.action()
            && !matches!(model, Model::Switch(_))
        {
            packets.prefetch_stamp(frame.packet);
        }
    }
    if let Some(third) = world.ahead(2) {
        let id = third.target();
        // Only the first cache line of the component, which has its kind.
        prefetch(model(id), 0..1);
        world.prefetch_wires(id);
        if let Action::Receive(_, frame) = third.action()
            && let Some(packet) = frame.packet()
        {
            match frame {
                Frame::Fibre(_) => packets.prefetch_stamp(packet),
                _ => packets.prefetch_header(packet),
            }
        }
    }
    delivered
}
