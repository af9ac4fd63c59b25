//! Results of fibres.

use device::Router;
use kernel::Time;
use serde::Serialize;

use crate::model::Model;
use crate::plan::{FabricPlan, FibrePlan};
use crate::run::simulation::Simulation;

/// The result of one direction of a fibre.
#[derive(Clone, Debug, Serialize)]
pub struct FibreResult {
    /// The fibre's name.
    pub id: String,
    /// The router that sent.
    pub from: String,
    /// The router that received.
    pub to: String,
    /// Share of the time in which frames or control blocks were on the fibre.
    pub utilisation: f64,
    /// Frames sent for the first time.
    pub frames: u64,
    /// Data of messages and TLPs, in bytes.
    pub payload_bytes: u64,
    /// All other bytes in cycles of frames: envelopes, TLP headers, separator blocks, gaps, frames sent again.
    pub overhead_bytes: u64,
    /// Bytes, over all lanes, of cycles with only credits, acknowledgements or pauses.
    pub control_bytes: u64,
    /// Frames sent again.
    pub replays: u64,
    /// Time in which a packet waited only for buffer space at the far end.
    pub credit_stall_ns: f64,
}

impl Simulation {
    /// Free buffer cycles, as the senders know them, and all buffer cycles, for each channel of both directions of every fibre that
    /// will not be severed.
    pub fn fibre_buffers(&self) -> Vec<(String, u32, u32)> {
        let plan = self.plan();
        let whole = plan
            .fibres
            .iter()
            .filter(|fibre| fibre.severed_at.is_none());
        let ends = whole.flat_map(|fibre| fibre.ends.map(|(node, port)| (fibre, node, port)));
        let mut buffers = Vec::new();
        for (fibre, node, port) in ends {
            let (Some(router), Some((network, _))) = (
                self.models[node].device::<Router>(),
                plan.nodes[node].member,
            ) else {
                continue;
            };
            let channels = plan.networks[network].optical.virtual_channels as u8;
            if let Some(end) = router.fibre(usize::from(port)) {
                let each = (0..channels).map(|channel| {
                    let name =
                        format!("{}, {}, channel {channel}", fibre.id, plan.nodes[node].name);
                    let (free, all) = end.spare(channel);
                    (name, free, all)
                });
                buffers.extend(each);
            }
        }
        buffers
    }
}

pub(crate) fn fibres(plan: &FabricPlan, models: &[Model], now: Time) -> Vec<FibreResult> {
    let elapsed = now.as_fs().max(1) as f64;
    let both = plan.fibres.iter().flat_map(|fibre| {
        let [one, other] = fibre.ends;
        [(fibre, one, other), (fibre, other, one)]
    });
    let direction = |(fibre, from, to): (&FibrePlan, (usize, u8), (usize, u8))| {
        let router = models[from.0].device::<Router>()?;
        let counters = router.fibre(usize::from(from.1))?.counters();
        Some(FibreResult {
            id: fibre.id.clone(),
            from: plan.nodes[from.0].name.clone(),
            to: plan.nodes[to.0].name.clone(),
            utilisation: (counters.busy.as_fs() as f64 / elapsed).min(1.0),
            frames: counters.frames,
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            control_bytes: counters.control_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        })
    };
    both.filter_map(direction).collect()
}
