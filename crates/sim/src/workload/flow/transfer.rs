//! Flows that the driver of a scatter/gather engine moves: the unit of the engine, the source of the data, and the address of the descriptor list.

use device::SgDmaParameters;
use device::sg_dma::registers::{DESCRIPTOR, Unit};
use host::driver::pages;
use kernel::{Bytes, Span};

use crate::plan::NodePlan;
use crate::plan::address::show;
use crate::scenario::{ScenarioError, advice};
use crate::workload::flow::section::{Clock, Direction, Flow};
use crate::workload::planner::Planner;

use super::{FlowPlan, HAS_DRIVER, PLACE_KEYS, TransferPlan};

impl Planner<'_> {
    /// Returns an error if a flow without a driver has keys for drivers, or if a flow with a driver has keys that its driver does not support.
    pub(crate) fn check_driven(&self, flow: &Flow, from: &NodePlan) -> Result<(), ScenarioError> {
        let parameters = &flow.parameters;
        let driven = from.engine().is_some() || from.drive().is_some();
        if !driven {
            let keys = [
                ("carries", parameters.carries.is_some()),
                ("after", parameters.after.is_some()),
                ("clock", parameters.clock == Clock::Application),
            ];
            return match keys.iter().find(|(_, set)| *set) {
                Some((key, _)) => Err(self.error(flow, key, NO_DRIVER)),
                None => Ok(()),
            };
        }
        if parameters.direction == Direction::Both {
            return Err(self.error(flow, "direction", ONE_WAY));
        }
        let keys = [
            ("count", parameters.count.is_some()),
            ("duration", parameters.duration.is_some()),
            ("interval", parameters.interval > Span::ZERO),
            ("window", parameters.window.is_some()),
        ];
        if parameters.traffic_class > 0 && from.drive().is_some() {
            return Err(self.error(flow, "traffic_class", NO_CLASS_OF_DATA));
        }
        let of_places = PLACE_KEYS.map(|key| (key, flow.lines.has(key)));
        match keys.iter().chain(&of_places).find(|(_, set)| *set) {
            Some(("socket", _)) => Err(self.error(flow, "socket", SOCKET_OF_BUFFER)),
            Some(("requests", _)) => Err(self.error(flow, "requests", HAS_DRIVER)),
            Some((key, _)) => Err(self.error(flow, key, ONE_BUFFER)),
            None => Ok(()),
        }
    }

    /// If the flow is from a scatter/gather engine: plans the transfer of its driver. `plan` is the flow as planned so far, and `earlier` are the
    /// flows above it in the scenario.
    pub(crate) fn transfer(
        &mut self,
        flow: &Flow,
        plan: &FlowPlan,
        earlier: &[FlowPlan],
    ) -> Result<Option<TransferPlan>, ScenarioError> {
        let from = &self.nodes[plan.from];
        let Some(engine) = from.engine() else {
            return Ok(None);
        };
        let to_host = plan.to == Some(from.driver.host);
        let unit = match plan.direction {
            Direction::Read => Unit::Read,
            _ if to_host => Unit::Write,
            _ => Unit::Peer,
        };
        if unit == Unit::Peer && plan.window > u64::from(u32::MAX) {
            let message = "a command moves less than 4 GiB; write less";
            return Err(self.error(flow, "size", message));
        }
        self.check_carried(flow, plan, earlier)?;
        self.check_reflector(flow, plan, earlier)?;
        let payload = self.payload(flow, unit)?;
        let packet = u64::from(from.max_payload);
        if plan.direction == Direction::RoundTrip && plan.window > packet {
            let message = format!(
                "one packet makes a round trip; write {} at most",
                show(packet)
            );
            return Err(self.error(flow, "size", &message));
        }
        let after = flow.parameters.after.as_deref();
        let after = after.map(|id| self.above(flow, "after", id, earlier));
        let after = after.transpose()?;
        if after.is_some_and(|(_, after)| !after.is_driven()) {
            return Err(self.error(flow, "after", NO_DRIVER));
        }
        let list = match unit {
            Unit::Peer => None,
            _ => self.list(flow, plan, engine)?,
        };
        Ok(Some(TransferPlan {
            unit,
            payload,
            list,
            after: after.map(|(number, _)| number),
        }))
    }

    /// The number of the earlier flow whose data `flow` carries; `None` if the flow has data of its own.
    pub(crate) fn carried(
        &self,
        flow: &Flow,
        from: &NodePlan,
        earlier: &[FlowPlan],
    ) -> Result<Option<u32>, ScenarioError> {
        if from.drive().is_some() {
            return self.carried_blocks(flow, earlier);
        }
        let Some(engine) = from.engine() else {
            return Ok(None);
        };
        let by_fifo = flow.parameters.direction == Direction::Write && !engine.user.never_stalls();
        match &flow.parameters.carries {
            Some(id) if by_fifo => {
                let (_, carried) = self.above(flow, "carries", id, earlier)?;
                Ok(Some(carried.pattern))
            }
            Some(_) => Err(self.error(flow, "carries", OWN_BYTES)),
            None if by_fifo => Err(self.error(flow, "from", BYTES_OF_ANOTHER)),
            None => Ok(None),
        }
    }

    /// Checks that a flow carries all data of the FIFO, and that no other flow carries the same data.
    fn check_carried(
        &self,
        flow: &Flow,
        plan: &FlowPlan,
        earlier: &[FlowPlan],
    ) -> Result<(), ScenarioError> {
        let Some(carried) = earlier.get(plan.pattern as usize) else {
            return Ok(());
        };
        if carried.window != plan.window {
            let message = format!(
                "{} of the {} that {:?} brings; write the same size",
                show(plan.window),
                show(carried.window),
                carried.id
            );
            return Err(self.error(flow, "size", &message));
        }
        let again = |other: &&FlowPlan| {
            other.from == plan.from
                && other.pattern == plan.pattern
                && other.direction != Direction::Read
        };
        let mut earlier = earlier.iter();
        earlier.find(again).map_or(Ok(()), |other| {
            let message = format!(
                "{:?} carries these bytes from here already, and they come once; write another flow to carry",
                other.id
            );
            Err(self.error(flow, "carries", &message))
        })
    }

    /// Checks that all flows to a reflector are from the same device, because the reflector has only one register for the address of its answers.
    fn check_reflector(
        &self,
        flow: &Flow,
        plan: &FlowPlan,
        earlier: &[FlowPlan],
    ) -> Result<(), ScenarioError> {
        if plan.reply.is_none() {
            return Ok(());
        }
        let others = |other: &&FlowPlan| {
            other.reply.is_some() && other.to == plan.to && other.from != plan.from
        };
        let mut earlier = earlier.iter();
        earlier.find(others).map_or(Ok(()), |other| {
            let message = format!(
                "{:?} has it send back to {}, and it sends to one address; write another reflector",
                other.id, self.nodes[other.from].name
            );
            Err(self.error(flow, "to", &message))
        })
    }

    pub(super) fn above<'e>(
        &self,
        flow: &Flow,
        key: &str,
        id: &str,
        earlier: &'e [FlowPlan],
    ) -> Result<(u32, &'e FlowPlan), ScenarioError> {
        let mut all = (0..).zip(earlier.iter());
        let found = all.find(|(_, other)| other.id == id);
        found.ok_or_else(|| {
            let above = earlier.iter();
            let above: Vec<&str> = above.map(|other| other.id.as_str()).collect();
            let advice = match above.as_slice() {
                [] => "write the id of one that is".to_owned(),
                above => advice(id, above),
            };
            let message = format!("there is no flow {id:?} above this one; {advice}");
            self.error(flow, key, &message)
        })
    }

    /// The payload per packet that the driver sets: whole dwords, at most the max payload size; 0 if the engine chooses it.
    fn payload(&self, flow: &Flow, unit: Unit) -> Result<u32, ScenarioError> {
        let Some(Bytes(wanted)) = flow.parameters.request_size else {
            return Ok(0);
        };
        if unit == Unit::Read {
            return Err(self.error(flow, "request_size", READ_SIZE));
        }
        let largest = self.nodes[self.names[flow.from.value.as_str()]].max_payload;
        if wanted % 4 != 0 || wanted > u64::from(largest) {
            let message = format!(
                "{} is not a packet size of this engine; write whole dwords up to its max payload size of {}",
                show(wanted),
                show(largest.into())
            );
            return Err(self.error(flow, "request_size", &message));
        }
        Ok(wanted as u32)
    }

    /// The address of the descriptor list in memory, if the engine fetches descriptors. Otherwise the driver writes the list into the engine, and it
    /// must fit there.
    fn list(
        &mut self,
        flow: &Flow,
        plan: &FlowPlan,
        engine: &SgDmaParameters,
    ) -> Result<Option<u64>, ScenarioError> {
        let count = pages(plan.address, plan.window);
        let from = &self.nodes[plan.from];
        if !engine.descriptor_fetch {
            if count > u64::from(engine.descriptors) {
                let message = format!(
                    "{} takes {count} descriptors, a page each, and the memory of {} holds {}; write less, more descriptors, or descriptor_fetch = true",
                    show(plan.window),
                    from.name,
                    engine.descriptors
                );
                return Err(self.error(flow, "size", &message));
            }
            return Ok(None);
        }
        let host = from.driver.host;
        let room = self.nodes[host].region().and_then(|memory| {
            let offset = self.claims.keep_list(host, memory, count * DESCRIPTOR)?;
            Some(memory.base + offset)
        });
        room.map(Some).ok_or_else(|| {
            let message = format!(
                "the list of its {count} descriptors does not fit in the memory of {}; write a larger memory there",
                self.nodes[host].name
            );
            self.error(flow, "size", &message)
        })
    }
}

pub(super) const NO_DRIVER: &str = "no driver moves this flow; write it only where the flow is from a device with model = \"sg-dma\" or \"nvme\"";
const NO_CLASS_OF_DATA: &str = "NVM Express has no register for the class of data; leave it out, or write descriptor_traffic_class or interrupt_traffic_class of the drive";
const SOCKET_OF_BUFFER: &str = "the buffer of a driver is in the memory of socket 0; leave it out";
const ONE_WAY: &str = "a driver moves a buffer one way; write \"write\" or \"read\", and a second flow for the other way";
const ONE_BUFFER: &str = "a driver moves one buffer once; write its size alone, such as size = \"4 MiB\", and steady = true in [measure] for a call that goes on";
const OWN_BYTES: &str = "these bytes do not come through a FIFO; write it only for writes of a device with user = \"loopback\" or \"matrix\"";
const BYTES_OF_ANOTHER: &str = "this device sends what its FIFOs bring; write carries = \"ID\" of the flow above whose bytes they are";
const READ_SIZE: &str =
    "read requests are as large as max_read_request and the FIFO allow; leave it out";
