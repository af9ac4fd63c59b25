//! What a run measured of accesses to buffers.

use device::Accelerator;
use serde::Serialize;

use crate::observe::latency::Latency;
use crate::observe::meter::FlowMeter;

use super::{AccessPlan, Own, Seen};

/// What accesses one after the other reached.
#[derive(Clone, Debug, Serialize)]
pub struct AccessResult {
    /// Their name.
    pub id: String,
    /// Who made them.
    pub by: String,
    /// The buffer.
    pub buffer: String,
    /// What each did: "read", "write", "atomic-store", "atomic-load", "atomic-swap" or "atomic-compare".
    pub kind: &'static str,
    /// Bytes of each.
    pub size: u64,
    /// How many of those that are measured have ended.
    pub count: u64,
    /// How many of those led nowhere, or to where they were not allowed.
    pub failed: u64,
    /// From the beginning of each to its last byte at whoever made it, or in memory.
    pub latency_ns: Option<Latency>,
    /// How many took how long: the lower bounds of steps of 10 ns, and the counts of those in which there were any.
    pub histogram_ns: Vec<(f64, u64)>,
    /// Bytes of an access in its mean latency and the turnaround, a second, of all cores together.
    pub bytes_per_second: Option<f64>,
    /// What the cache of the accelerator did, of all accesses of it together.
    pub cache: Option<CacheResult>,
    /// Translations that the accelerator asked its host for, of all accesses of it together.
    pub translations: Option<TranslationResult>,
    /// Whether all have ended.
    pub completed: bool,
    /// Whether none has failed, and what was read was what stood there, where nobody writes.
    pub intact: bool,
}

/// What the cache of an accelerator did.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CacheResult {
    /// Accesses to lines that it served by itself.
    pub hits: u64,
    /// Accesses to lines that it had to ask the home agent for.
    pub misses: u64,
    /// Times that the home agent asked for a line.
    pub snoops: u64,
}

/// Translations that an accelerator asked for.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TranslationResult {
    /// How many.
    pub count: u64,
    /// From a request at the core to its answer there, in the mean.
    pub mean_ns: f64,
}

/// The outcome of `access`.
pub(super) fn of(access: &AccessPlan, own: &Own, seen: &Seen<'_>) -> AccessResult {
    let meters = || seen.meters(own);
    let latencies = seen.latencies(own);
    let told = latencies.told();
    let bytes = |pick: fn(&FlowMeter) -> u64| meters().map(pick).sum::<u64>();
    let failed = bytes(|meter| meter.refused) / access.size;
    let (cache, translations) = match seen.models[access.by].device::<Accelerator>() {
        Some(one) => {
            let (cache, trips) = (one.cache(), one.round_trips());
            let cache = CacheResult {
                hits: cache.hits,
                misses: cache.misses,
                snoops: cache.snoops,
            };
            let translations = (trips.count > 0).then(|| TranslationResult {
                count: trips.count,
                mean_ns: trips.sum.as_ns() / trips.count as f64,
            });
            (Some(cache), translations)
        }
        None => (None, None),
    };
    AccessResult {
        id: access.id.clone(),
        by: seen.plan.nodes[access.by].name.clone(),
        buffer: seen.plan.buffers[access.buffer].name.clone(),
        kind: access.kind.name(),
        size: access.size,
        count: bytes(|meter| meter.delivered) / access.size + failed,
        failed,
        latency_ns: told,
        histogram_ns: latencies.steps(STEP_NS),
        bytes_per_second: told.map(|latency| {
            let bytes = access.size * own.parts.len() as u64;
            bytes as f64 / (latency.mean + access.turnaround.as_ns()) * 1e9
        }),
        cache,
        translations,
        completed: meters().all(FlowMeter::is_accounted_for),
        intact: meters().all(FlowMeter::is_whole),
    }
}

const STEP_NS: u64 = 10;
