//! The circuit of the engine (`gateware/rtl/dma_engine`), and the parameter values that the circuit supports.

use crate::{CircuitChoice, EndpointParameters, PeerWrites};

use super::registers::CROSSED;
use super::{REGISTERS, SgDmaParameters, UserLogic};

/// The circuit of the engine for these parameters. If the circuit cannot have the value of a parameter, the key and a message.
pub(super) fn choice(
    parameters: &SgDmaParameters,
    core: &EndpointParameters,
) -> Result<CircuitChoice, (&'static str, String)> {
    let cycles = core.completion_timeout.as_fs() / core.clock.period().as_fs();
    let limits = [
        (
            "datapath",
            ![0, BEAT].contains(&core.datapath.0),
            "the circuit's stream has 64 bits; write \"8 B\"",
        ),
        (
            "fifo",
            parameters.fifo.0 != FIFO,
            "each FIFO of the circuit has 4 KiB; write \"4 KiB\"",
        ),
        (
            "user_clock",
            parameters.user_clock.is_some(),
            "the circuit has one clock; leave it out",
        ),
        (
            "descriptors",
            !parameters.descriptor_fetch && parameters.descriptors > DESCRIPTORS,
            "the circuit's memory has 2048 descriptors; write 2048 or fewer",
        ),
        (
            "descriptor_fetch",
            parameters.descriptor_fetch && parameters.user != UserLogic::SourceSink,
            "only the circuit with user = \"source-sink\" fetches descriptors; write false",
        ),
        (
            "fetch_size",
            parameters.descriptor_fetch && parameters.fetch_size.0 != FETCH,
            "the circuit fetches 512 bytes of descriptors at once; write \"512 B\"",
        ),
        (
            "descriptor_traffic_class",
            parameters.descriptor_fetch && parameters.descriptor_traffic_class != 0,
            "the circuit fetches descriptors in class 0; write 0",
        ),
        (
            "completion_timeout",
            cycles != TIMEOUT,
            "the circuit waits 2,500,000 cycles of `clock`; write as much, which is \"10 ms\" at 250 MHz",
        ),
    ];
    if let Some((key, _, message)) = limits.iter().find(|(_, wrong, _)| *wrong) {
        return Err((key, (*message).into()));
    }
    let (name, peer_writes) = match parameters.user {
        UserLogic::SourceSink if parameters.descriptor_fetch => {
            ("dma_engine_source_sink_fetch", PeerWrites::Stored)
        }
        UserLogic::SourceSink => ("dma_engine_source_sink", PeerWrites::Stored),
        UserLogic::Loopback => ("dma_engine_loopback", PeerWrites::Passed),
        UserLogic::Matrix => ("dma_engine_matrix", PeerWrites::Passed),
        UserLogic::Reflector => ("dma_engine_reflector", PeerWrites::Returned),
    };
    let makes_data = parameters.user.never_stalls();
    Ok(CircuitChoice {
        name: name.into(),
        peer_writes,
        refuses_reads: true,
        preset: parameters.crossed.then_some((REGISTERS as u8, CROSSED, 1)),
        makes_data,
    })
}

/// Bytes of a beat.
const BEAT: u64 = 8;
/// Bytes of descriptors in one fetch: `FETCH` in `gateware/circuits.toml`.
const FETCH: u64 = 512;
/// Bytes of each FIFO, number of descriptors in the engine's memory, and cycles of the completion timeout, as the defaults of `dma_engine.sv`.
const FIFO: u64 = 4096;
const DESCRIPTORS: u32 = 2048;
const TIMEOUT: u64 = 2_500_000;
