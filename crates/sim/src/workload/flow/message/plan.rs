//! Flows of messages: from the queue pair of one network interface controller to that of another.

use device::nic::descriptor::Descriptor;
use device::nic::registers::PAIRS;
use host::message::{Message, Primitive};
use host::queue_pair::{AREA, ENTRIES, QueuePairPlace};
use kernel::{Bytes, Span};
use protocol::QueuePairId;

use crate::plan::NodePlan;
use crate::plan::address::show;
use crate::scenario::ScenarioError;
use crate::workload::flow::section::{Direction, Flow, Target};
use crate::workload::flow::{Amount, FlowPlan, HAS_DRIVER, Mover, PLACE_KEYS, Places};
use crate::workload::planner::Planner;

use super::MessagePlan;

/// Maximum bytes of a PUT or GET. A descriptor holds 255 items of 2 MiB, which is much more.
const LARGEST: u64 = 128 << 20;

/// Default number of outstanding messages.
const OUTSTANDING: u32 = 8;

impl Planner<'_> {
    /// Plans a flow between network interface controllers; returns `None` for any other flow.
    pub(crate) fn message_flow(
        &mut self,
        flow: &Flow,
        from: usize,
        earlier: &[FlowPlan],
    ) -> Result<Option<FlowPlan>, ScenarioError> {
        let is_nic = |node: usize| self.nodes[node].attachment.is_some();
        let to = match self.named_target(flow) {
            Some(to) if is_nic(from) && is_nic(to) => to,
            Some(to) if is_nic(to) => {
                let message = format!(
                    "{} takes messages from nic devices only; write one of those in from, or its host in to",
                    self.nodes[to].name
                );
                return Err(self.error(flow, "to", &message));
            }
            _ if is_nic(from) => {
                if let Target::Node(name) = &flow.to.value {
                    self.find(flow, "to", name)?;
                }
                let message = format!(
                    "{} sends messages to nic devices only; write the nic of the host that is meant",
                    self.nodes[from].name
                );
                return Err(self.error(flow, "to", &message));
            }
            _ => return self.check_no_messages(flow).map(|()| None),
        };
        self.check_ends(flow, from, to)?;
        let primitive = self.primitive(flow)?;
        self.check_keys(flow)?;
        let amount = self.amount(flow)?;
        let size = self.message_size(flow, primitive, amount)?;
        let amount = match amount {
            Amount::Requests(count) => Amount::Bytes(count.saturating_mul(size)),
            other => other,
        };
        let window = self.message_window(flow, size)?;
        let (asking, asked) = (self.nodes[from].root, self.nodes[to].root);
        let (sender, receiver) = match primitive {
            Primitive::Get => (asked, asking),
            _ => (asking, asked),
        };
        let function = flow.parameters.function.map(|function| function as u8);
        let key = KEYS ^ earlier.len() as u16;
        let parameters = &flow.parameters;
        let outstanding = parameters.outstanding.unwrap_or(OUTSTANDING);
        let from_pair = self.queue_pair(flow, from, (function, outstanding), key)?;
        // The receiver uses the function with the same number as the sender's, if this function exists and has a free queue pair: functions with the
        // same number probably have the same owner.
        let alike = from_pair.id.function();
        let alike = self.nodes[to].doorbells(alike).map(|_| alike);
        let has_alike = alike.filter(|function| self.pairs.of(to, *function).count() < PAIRS);
        let to_pair = self.queue_pair(flow, to, (has_alike, 0), key)?;
        let source = self.buffer(flow, sender, window)?;
        let target = if primitive.is_nap() {
            to_pair.area
        } else {
            self.buffer(flow, receiver, window)?
        };
        Ok(Some(FlowPlan {
            id: flow.id.value.clone(),
            from,
            to: Some(to),
            address: target,
            functions: [0; 2],
            disguise: self.disguise(flow, from)?,
            offset: 0,
            window,
            reply: None,
            direction: match primitive {
                Primitive::Get => Direction::Read,
                _ => Direction::Write,
            },
            places: Places::Sequential,
            amount,
            sized: true,
            write_size: size,
            read_size: size,
            parameters: parameters.clone(),
            pattern: earlier.len() as u32,
            is_disturbed: false,
            mover: Mover::Messages(MessagePlan {
                message: Message {
                    primitive,
                    from: from_pair,
                    to: to_pair,
                    source,
                    target,
                    size,
                    outstanding,
                },
                smallest: self.smallest(flow, size)?,
            }),
        }))
    }

    /// Checks that no key for messages is written.
    fn check_no_messages(&self, flow: &Flow) -> Result<(), ScenarioError> {
        for key in ["primitive", "outstanding", "smallest"] {
            if flow.lines.has(key) {
                let message =
                    "this flow has no messages; write it only where the flow is from a nic device";
                return Err(self.error(flow, key, message));
            }
        }
        Ok(())
    }

    fn check_ends(&self, flow: &Flow, from: usize, to: usize) -> Result<(), ScenarioError> {
        let (source, target) = (&self.nodes[from], &self.nodes[to]);
        if from == to {
            let message = format!(
                "{} is also where it comes from; write another nic",
                target.name
            );
            return Err(self.error(flow, "to", &message));
        }
        let way = source.attachment.zip(target.attachment);
        let way = way
            .and_then(|(here, there)| self.controllers[here.controller].port_to(there.processor));
        if way.is_none() {
            let message = format!(
                "no cables lead from the controller of {} to that of {}; write [[cables]] between them",
                source.name, target.name
            );
            return Err(self.error(flow, "to", &message));
        }
        Ok(())
    }

    fn primitive(&self, flow: &Flow) -> Result<Primitive, ScenarioError> {
        let parameters = &flow.parameters;
        let by_direction = match parameters.direction {
            Direction::Write => Primitive::Put,
            Direction::Read => Primitive::Get,
            Direction::Both | Direction::RoundTrip => {
                let message = "messages go one way; write \"write\" or \"read\", and a second flow for the other way";
                return Err(self.error(flow, "direction", message));
            }
        };
        let primitive = parameters.primitive.unwrap_or(by_direction);
        if flow.lines.has("direction")
            && (primitive == Primitive::Get) != (by_direction == Primitive::Get)
        {
            let message = format!(
                "{:?} goes the other way; leave out direction, or write another primitive",
                primitive.name()
            );
            return Err(self.error(flow, "direction", &message));
        }
        Ok(primitive)
    }

    /// Returns an error if the flow has keys that do not apply to messages.
    fn check_keys(&self, flow: &Flow) -> Result<(), ScenarioError> {
        if flow.lines.has("requests") {
            return Err(self.error(flow, "requests", HAS_DRIVER));
        }
        for key in ["offset", "carries", "after"].iter().chain(&PLACE_KEYS) {
            if flow.lines.has(key) {
                let message =
                    "messages have buffers of their own, one after the other; leave it out";
                return Err(self.error(flow, key, message));
            }
        }
        if flow.lines.has("clock") {
            let message = "latencies of messages count from when a program begins; leave it out";
            return Err(self.error(flow, "clock", message));
        }
        if flow.parameters.interval > Span::ZERO {
            let message = "messages follow each other as fast as outstanding allows; leave it out";
            return Err(self.error(flow, "interval", message));
        }
        Ok(())
    }

    fn message_size(
        &self,
        flow: &Flow,
        primitive: Primitive,
        amount: Amount,
    ) -> Result<u64, ScenarioError> {
        let most = if primitive.is_nap() {
            Descriptor::MAX_NAP
        } else {
            LARGEST
        };
        let (key, size) = match (flow.parameters.request_size, amount) {
            (Some(Bytes(size)), _) => ("request_size", size),
            (None, Amount::Bytes(all)) => ("request_size", all.min(most)),
            (None, _) => ("request_size", DEFAULT_SIZE),
        };
        if size == 0 || size > most {
            let message = format!(
                "{} is not a message size of a {}; write 1 B to {}",
                show(size),
                primitive.name(),
                show(most)
            );
            return Err(self.error(flow, key, &message));
        }
        Ok(size)
    }

    fn smallest(&self, flow: &Flow, size: u64) -> Result<Option<u64>, ScenarioError> {
        let Some(Bytes(smallest)) = flow.parameters.smallest else {
            return Ok(None);
        };
        if (1..=size).contains(&smallest) {
            return Ok(Some(smallest));
        }
        let (smallest, size) = (show(smallest), show(size));
        let message = format!("{smallest} is not a message size up to {size}; write 1 B to {size}");
        Err(self.error(flow, "smallest", &message))
    }

    fn message_window(&self, flow: &Flow, size: u64) -> Result<u64, ScenarioError> {
        let Some(Bytes(window)) = flow.parameters.window else {
            return Ok(size);
        };
        if window < size {
            let (window, size) = (show(window), show(size));
            let message = format!("{window} hold no message of {size}; write {size} at least");
            return Err(self.error(flow, "window", &message));
        }
        Ok(window - window % size)
    }

    /// Allocates an unused queue pair of `node`; if `function` is given, one of this function.
    fn queue_pair(
        &mut self,
        flow: &Flow,
        node: usize,
        (function, requests): (Option<u8>, u32),
        key: u16,
    ) -> Result<QueuePairPlace, ScenarioError> {
        let nic = &self.nodes[node];
        if let Some(function) = function
            && nic.doorbells(function).is_none()
        {
            let message = format!(
                "{} has no function {function}; write a smaller one, or virtual_functions = {function} or more there",
                nic.name
            );
            return Err(self.error(flow, "function", &message));
        }
        let Some(id) = self.pairs.take(node, nic, (function, requests)) else {
            let message = match function {
                Some(_) => {
                    "other flows have its 4 queue pairs, or the 32 requests that it may have under way; write another function, or a smaller outstanding"
                }
                None => {
                    "other flows have all queue pairs of the nic, 4 of each function, or the 32 requests that each may have under way; write virtual_functions = 7 for it, fewer flows or a smaller outstanding"
                }
            };
            let name = if function.is_some() {
                "function"
            } else {
                "from"
            };
            return Err(self.error(flow, name, message));
        };
        let area = self.buffer(flow, nic.root, AREA)?;
        Ok(place(id, &self.nodes[node], area, key))
    }

    /// Allocates `size` bytes of a host's memory and returns their address.
    fn buffer(&mut self, flow: &Flow, host: usize, size: u64) -> Result<u64, ScenarioError> {
        let memory = self.nodes[host].memory;
        let place =
            memory.and_then(|memory| Some(memory.base + self.claims.claim(host, memory, size)?));
        place.ok_or_else(|| {
            let message = format!(
                "its messages need {} more than there are in the memory of {}; write a larger memory there, or less",
                show(size),
                self.nodes[host].name
            );
            self.error(flow, "from", &message)
        })
    }
}

/// The queue pair `id` of `nic`, with its descriptors, rings and buffers at `area`.
pub(crate) fn place(id: QueuePairId, nic: &NodePlan, area: u64, key: u16) -> QueuePairPlace {
    let page = nic.doorbells(id.function());
    QueuePairPlace {
        id,
        page: page.expect("a queue pair is one of a function that is there"),
        area,
        entries: ENTRIES,
        requests: nic.requests(),
        key,
        pushes: nic.pushes_descriptors(),
    }
}

/// Default bytes of a message, if the flow has neither a message size nor an amount.
const DEFAULT_SIZE: u64 = 2048;

/// Base of the keys, which differ from flow to flow.
const KEYS: u16 = 0x5a5a;
