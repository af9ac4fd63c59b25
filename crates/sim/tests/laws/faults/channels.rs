//! Software that changes the virtual channels of a link under load, and then restores the setup.

use kernel::{Span, Time};
use protocol::{FunctionId, register};
use sim::Simulation;
use transaction::FunctionPlace;

use super::fault::{Fault, What};

const VC0_CONTROL: u16 = register::CHANNEL_RESOURCES + 1;
const VC1_CONTROL: u16 = VC0_CONTROL + register::RESOURCE_REGISTERS;

/// A time in ns at which no function is in reset any more and every link that recovers is up again. Software sets up the channels again at this time,
/// because writes to a function in reset have no effect.
const REST: u32 = 600_000;

/// A write to a configuration space: its time in nanoseconds, the host, the function, the register and the value.
type Write = (u32, &'static str, FunctionId, u16, u32);

/// Makes the register writes of all faults of the kind `What::Channels`, in the order of their times.
pub fn change(simulation: &mut Simulation, faults: &[Fault]) {
    let mut writes: Vec<Write> = Vec::new();
    for fault in faults {
        let What::Channels {
            is_lower,
            classes,
            is_enabled,
            for_ns,
        } = fault.what
        else {
            continue;
        };
        let host = if ["o", "r"].contains(&fault.node) {
            "i"
        } else {
            "h"
        };
        let ends = ends(simulation, fault.node);
        let own = ends[usize::from(is_lower)];
        writes.push((
            fault.at,
            host,
            own,
            VC1_CONTROL,
            control(classes, is_enabled),
        ));
        for again in [fault.at + for_ns, REST] {
            for (after, others, is_enabled) in [(0, 0xff, false), (40_000, 0x3f, true)] {
                for end in ends {
                    let classes = if is_enabled { 0xc0 } else { 0 };
                    let first = control(classes, is_enabled);
                    writes.push((again + after, host, end, VC1_CONTROL, first));
                    let second = register::CHANNEL_ENABLE | others;
                    writes.push((again + after, host, end, VC0_CONTROL, second));
                }
            }
        }
    }
    writes.sort_by_key(|write| write.0);
    for (at, host, function, register, value) in writes {
        let time = Time::ZERO + Span::from_ns(u64::from(at) + 5_000);
        simulation.run_until(time, &mut || true);
        let place = (u64::from(register) * 4, 4);
        let done = simulation.config_write(host, function, place, value, &mut || true);
        done.expect("a host");
    }
}

fn control(classes: u8, is_enabled: bool) -> u32 {
    let enable = if is_enabled {
        register::CHANNEL_ENABLE
    } else {
        0
    };
    enable | 1 << register::CHANNEL_ID_SHIFT | u32::from(classes)
}

/// The functions at the upper and at the lower end of the link above a node.
fn ends(simulation: &Simulation, node: &str) -> [FunctionId; 2] {
    let plan = simulation.plan();
    let lower = plan.nodes.iter().position(|one| one.name == node);
    let lower = &plan.nodes[lower.expect("a node")];
    let link = lower.upstream.expect("a node below another");
    let upper = &plan.nodes[plan.links[link].upstream.0];
    let port = upper.downstream.iter().position(|below| *below == link);
    let port = FunctionPlace::Port(port.expect("a port"));
    [
        upper.functions.id_of(port),
        lower.functions.id_of(FunctionPlace::Own),
    ]
}
