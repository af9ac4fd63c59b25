//! Results of fibres.

use device::Router;
use link::optical::OpticalCounters;
use serde::Serialize;

use crate::model::Model;
use crate::observe::reading::{Reading, SendingFibre, fibre_ends};
use crate::plan::FabricPlan;
use crate::workload::Seen;

/// The result of one direction of a fibre, in the measured interval of the run.
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
    /// Bytes of the overhead that are frames sent again.
    pub replayed_bytes: u64,
    /// Bytes, over all lanes, of cycles with only credits, acknowledgements or pauses.
    pub control_bytes: u64,
    /// Frames sent again.
    pub replays: u64,
    /// Time in which a packet waited only for buffer space at the far end.
    pub credit_stall_ns: f64,
}

/// For each channel of both directions of every fibre that will not be severed: a name, the number of free buffer cycles according to the sender, and
/// the number of all buffer cycles.
pub(crate) fn fibre_buffers(plan: &FabricPlan, models: &[Model]) -> Vec<(String, u32, u32)> {
    let whole = plan
        .fibres
        .iter()
        .filter(|fibre| fibre.severed_at.is_none());
    let ends = whole.flat_map(|fibre| fibre.ends.map(|(node, port)| (fibre, node, port)));
    let mut buffers = Vec::new();
    for (fibre, node, port) in ends {
        let (Some(router), Some((network, _))) =
            (models[node].device::<Router>(), plan.nodes[node].member)
        else {
            continue;
        };
        let channels = plan.networks[network].optical.virtual_channels as u8;
        if let Some(end) = router.fibre(usize::from(port)) {
            let each = (0..channels).map(|channel| {
                let name = format!("{}, {}, channel {channel}", fibre.id, plan.nodes[node].name);
                let (free, all) = end.spare(channel);
                (name, free, all)
            });
            buffers.extend(each);
        }
    }
    buffers
}

/// Results of both directions of every fibre, between two readings. Without readings, all counts are zero.
pub(super) fn fibres(seen: &Seen<'_>, bounds: Option<&(Reading, Reading)>) -> Vec<FibreResult> {
    let ends = fibre_ends(seen.plan, seen.models).enumerate();
    let result = |(index, one): (usize, SendingFibre<'_>)| {
        let counters = bounds.map_or_else(OpticalCounters::default, |(first, last)| {
            last.fibres[index].since(&first.fibres[index])
        });
        FibreResult {
            id: one.id.to_owned(),
            from: seen.plan.nodes[one.from].name.clone(),
            to: seen.plan.nodes[one.to].name.clone(),
            utilisation: super::share(counters.busy, bounds),
            frames: counters.frames,
            payload_bytes: counters.payload_bytes,
            overhead_bytes: counters.overhead_bytes,
            replayed_bytes: counters.replayed_bytes,
            control_bytes: counters.control_bytes,
            replays: counters.replays,
            credit_stall_ns: counters.credit_stall.as_ns(),
        }
    };
    ends.map(result).collect()
}
