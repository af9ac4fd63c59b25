//! Results of accesses to buffers.

use device::Accelerator;
use serde::Serialize;

use crate::meters::latency::Latency;
use crate::meters::meter::FlowMeter;
use crate::meters::steady::SteadyState;

use super::{AccessPlan, Own, Seen};

/// The result of one `[[accesses]]` entry.
#[derive(Clone, Debug, Serialize)]
pub struct AccessResult {
    /// Name of the accesses.
    pub id: String,
    /// The host or device that made the accesses.
    pub by: String,
    /// The buffer.
    pub buffer: String,
    /// Kind of access: "read", "write", "atomic-store", "atomic-load", "atomic-swap" or "atomic-compare".
    pub kind: &'static str,
    /// Bytes of each access.
    pub size: u64,
    /// Measured accesses that have ended.
    pub count: u64,
    /// Measured accesses that failed, because nothing has the address or the access was not permitted.
    pub failed: u64,
    /// Latency from the beginning of each access to its last byte, at the requester or in memory.
    pub latency_ns: Option<Latency>,
    /// Histogram of the latency: lower bound and count of each step of 10 ns that is not empty.
    pub histogram_ns: Vec<(f64, u64)>,
    /// Bytes per second of all cores together: the size of an access divided by the mean latency plus the turnaround. If a program starts the
    /// accesses: all bytes divided by the time from its first call to its last return. In the steady state: the rate in the steady state.
    pub bytes_per_second: Option<f64>,
    /// The rate in the steady state, if the run continues until this rate is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// Cache statistics of the accelerator, over all its accesses.
    pub cache: Option<CacheResult>,
    /// Address translations that the accelerator requested from its host, over all its accesses.
    pub translations: Option<TranslationResult>,
    /// Whether all accesses have ended.
    pub completed: bool,
    /// Whether no access failed and all reads returned the expected bytes. Data is compared only if no workload writes the buffer.
    pub intact: bool,
}

/// Cache statistics of an accelerator.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CacheResult {
    /// Line accesses that hit the cache.
    pub hits: u64,
    /// Line accesses that missed the cache and went to the home agent.
    pub misses: u64,
    /// Snoops by the home agent.
    pub snoops: u64,
}

/// Address translations that an accelerator requested.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TranslationResult {
    /// Number of translations.
    pub count: u64,
    /// Mean time from the translation request to the arrival of its completion, both at the core of the accelerator.
    pub mean_ns: f64,
}

/// The outcome of `access`.
pub(super) fn of(access: &AccessPlan, own: &Own, seen: &Seen<'_>) -> AccessResult {
    let meters = || seen.meters(own);
    let size = access.parameters.size.0;
    let latencies = seen.latencies(own);
    let told = latencies.told();
    let steady = seen.steady_rate(own);
    let bytes = |pick: fn(&FlowMeter) -> u64| meters().map(pick).sum::<u64>();
    let failed = bytes(|meter| meter.refused) / size;
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
        kind: access.parameters.kind.name(),
        size,
        count: bytes(|meter| meter.delivered) / size + failed,
        failed,
        histogram_ns: latencies.steps(STEP_NS),
        bytes_per_second: told.as_ref().and_then(|latency| {
            if let Some(rate) = steady {
                return Some(rate.mean);
            }
            if access.completion.is_some() {
                let meter = seen.meter.flow(own.first());
                let span = meter.returned?.since(meter.called?);
                return Some(meter.delivered as f64 / span.as_ns() * 1e9);
            }
            let bytes = size * own.parts.len() as u64;
            Some(bytes as f64 / (latency.mean + access.parameters.turnaround.as_ns()) * 1e9)
        }),
        steady: steady.map(|rate| rate.told()),
        latency_ns: told,
        cache,
        translations,
        completed: meters().all(|meter| seen.is_complete(meter)),
        intact: meters().all(|meter| seen.is_whole(meter)),
    }
}

const STEP_NS: u64 = 10;
