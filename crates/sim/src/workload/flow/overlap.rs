//! Flows that use the same bytes, and flows that read bytes which are not in memory.

use std::ops::Range;

use device::router::USER;
use device::sg_dma::registers::DESCRIPTOR;
use host::driver::pages;

use crate::plan::Region;
use crate::plan::address::show;
use crate::scenario::NodeKind;
use crate::workload::planner::Planner;

use super::{FlowPlan, Mover};

/// Bytes of a host's memory, or of BAR 0 of one function of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    node: usize,
    function: u8,
    /// Offsets from the beginning of the memory or the BAR.
    bytes: Range<u64>,
}

/// Bytes that a workload fills or writes.
struct Use {
    place: Stored,
    /// The pattern of the bytes, and the offset in the pattern at which they begin; `None` for bytes that software writes.
    content: Option<(u32, u64)>,
}

impl Use {
    /// Whether the content of the bytes depends on which of the two uses wrote them last.
    fn disturbs(&self, other: &Use) -> bool {
        let (a, b) = (&self.place, &other.place);
        (a.node, a.function) == (b.node, b.function)
            && a.bytes.start < b.bytes.end
            && b.bytes.start < a.bytes.end
            && (self.content.is_none() || self.content != other.content)
    }
}

impl Planner<'_> {
    /// Marks the flows whose read data is not compared. Returns a warning for each flow that reads bytes which another flow uses, and for each flow
    /// that reads registers.
    ///
    /// `flows` are the flows of the scenario, in its order. If several flows use the same bytes, the data that a flow reads depends on the timing of
    /// all of them. If the address has no memory, or if nothing has written the memory, the read data is not known in advance.
    pub(crate) fn mark_disturbed(&self, flows: &mut [FlowPlan]) -> Vec<String> {
        let uses: Vec<Vec<Use>> = flows.iter().map(|flow| self.uses(flow)).collect();
        let mut warnings = Vec::new();
        for number in 0..flows.len() {
            let reader = &flows[number];
            if !reader.direction.reads() || matches!(reader.mover, Mover::Messages(_)) {
                continue;
            }
            let others = (0..flows.len()).filter(|other| *other != number);
            let own = self.targeted(reader);
            let mut others = others.filter(|other| {
                let read = uses[number].iter().take(own.len());
                read.clone()
                    .any(|read| uses[*other].iter().any(|other| other.disturbs(read)))
            });
            let other = others.next().map(|other| &flows[other]);
            if let Some(other) = other {
                let line = self.written.flows[number].lines.of("offset");
                let message = format!(
                    "flow {:?}, offset: flow {:?} uses bytes of the same place, so what is read is not compared; write an offset or a window of its own",
                    reader.id, other.id
                );
                warnings.push(self.scenario.error(line, message).to_string());
            }
            warnings.extend(own.iter().filter_map(|place| self.registers(number, place)));
            flows[number].is_disturbed = other.is_some() || !self.is_kept(reader, &own);
        }
        warnings
    }

    /// A warning if the flow with this number reads registers at `place`, and memory follows them.
    fn registers(&self, number: usize, place: &Stored) -> Option<String> {
        let (flow, node) = (&self.written.flows[number], &self.nodes[place.node]);
        let (registers, bar) = (node.bar_registers(), node.registers(place.function)?);
        if place.bytes.start >= registers || registers >= bar.size {
            return None;
        }
        let registers = show(registers);
        let message = format!(
            "the first {registers} of BAR 0 of {} are registers, so the bytes that the flow reads are not compared; write an offset of at least {registers}, where the memory of the card begins",
            node.name
        );
        Some(self.error(flow, "offset", &message).to_string())
    }

    /// Whether a read of `flow` from `places` returns the bytes that were written there: by earlier writes of the flow itself, or, before
    /// the run, into the target that the flow names.
    fn is_kept(&self, flow: &FlowPlan, places: &[Stored]) -> bool {
        let keeps = |place: &Stored| {
            let node = &self.nodes[place.node];
            place.bytes.start >= node.bar_registers()
                && !(flow.parameters.read_after_write && node.has_fifo())
        };
        let known = places
            .iter()
            .map(|place| place.bytes.end - place.bytes.start);
        (flow.to.is_some() || flow.parameters.read_after_write)
            && known.sum::<u64>() == flow.window
            && places.iter().all(keeps)
    }

    /// The bytes that `flow` fills or writes; the bytes of its target come first.
    fn uses(&self, flow: &FlowPlan) -> Vec<Use> {
        if let Mover::Messages(messages) = &flow.mover {
            let (from, to) = messages.hosts(flow, self.nodes);
            let places = [
                (from, messages.message.source),
                (to, messages.message.target),
            ];
            let of_software = |(host, address)| self.of_software(host, address, flow.window);
            return places.into_iter().flat_map(of_software).collect();
        }
        let mut before = 0;
        let of_pattern = |place: Stored| {
            let begin = place.bytes.start.wrapping_sub(before);
            before += place.bytes.end - place.bytes.start;
            let content = Some((flow.pattern, begin));
            Use { place, content }
        };
        let mut uses: Vec<Use> = self.targeted(flow).into_iter().map(of_pattern).collect();
        let root = self.nodes[flow.from].driver.host;
        let reply = flow.reply.map(|address| (address, flow.write_size));
        let list = flow.transfer().and_then(|transfer| transfer.list);
        let list = list.map(|list| (list, DESCRIPTOR * pages(flow.address, flow.window)));
        let area = flow.blocks().map(|blocks| blocks.area);
        let area = area.map(|area| (area.address, area.size()));
        for (address, size) in [reply, list, area].into_iter().flatten() {
            uses.extend(self.of_software(root, address, size));
        }
        uses
    }

    /// The uses of `size` bytes at `address` in the tree of `root` by software, whose content is not known.
    fn of_software(&self, root: usize, address: u64, size: u64) -> impl Iterator<Item = Use> {
        let places = self.stored(root, address..address + size);
        places.into_iter().map(|place| Use {
            place,
            content: None,
        })
    }

    /// The stored bytes at the target of `flow`.
    fn targeted(&self, flow: &FlowPlan) -> Vec<Stored> {
        let Some(node) = flow.to else {
            let end = flow.address.saturating_add(flow.window);
            return match self.networks.members[flow.from] {
                Some((network, _)) => self.behind_routers(network, 0, &(flow.address..end)),
                None => self.reached(self.nodes[flow.from].root, flow.address..end),
            };
        };
        vec![Stored {
            node,
            function: flow.functions[1],
            bytes: flow.offset..flow.offset + flow.window,
        }]
    }

    /// The stored bytes at `addresses` in the tree of `root`: in this tree itself, and in other trees that windows at these addresses lead to.
    fn reached(&self, root: usize, addresses: Range<u64>) -> Vec<Stored> {
        let mut all = self.stored(root, addresses.clone());
        let tree = (0..self.nodes.len()).filter(|node| self.nodes[*node].root == root);
        for node in tree {
            let Some(window) = self.nodes[node].bars[2] else {
                continue;
            };
            if let Some((network, _)) = self.networks.members[node] {
                all.extend(self.behind_routers(network, window.base, &addresses));
            } else if let Some(own) = self.nodes[node].attachment {
                let controller = &self.controllers[own.controller];
                let size = controller.parameters.processor_space.0;
                for (processor, other) in self.processors(own.controller) {
                    let base = window.base + controller.base(processor);
                    let inside = overlap(Region { base, size }, &addresses);
                    all.extend(
                        inside
                            .into_iter()
                            .flat_map(|there| self.stored(other, there)),
                    );
                }
            }
        }
        all
    }

    /// The processors at the controllers that are joined to `controller`, each with the root of its tree.
    fn processors(&self, controller: usize) -> impl Iterator<Item = (u8, usize)> {
        let group = self.controllers[controller].group;
        let places = self.nodes.iter().filter_map(|node| {
            let place = node.attachment.or(node.io_port)?;
            Some((place, node.root))
        });
        places
            .filter(move |(place, _)| self.controllers[place.controller].group == group)
            .map(|(place, root)| (place.processor, root))
    }

    /// The stored bytes that `addresses` reach through the window of `network`. The window begins at `base`.
    fn behind_routers(&self, network: usize, base: u64, addresses: &Range<u64>) -> Vec<Stored> {
        let network = &self.networks.all[network];
        let routers = network.routers.iter().zip(&network.targets).zip(0..);
        let behind = routers.flat_map(|((router, targets), number)| {
            let targets = [*router].into_iter().chain(targets.iter().copied());
            (USER..).zip(targets).map(move |target| (number, target))
        });
        let inside = behind.filter_map(|(number, (port, node))| {
            let region = self.nodes[node].region()?;
            let base = base + network.window.base(number, port);
            let size = region.size.min(network.window.aperture());
            let bytes = overlap(Region { base, size }, addresses)?;
            Some(Stored {
                node,
                function: 0,
                bytes,
            })
        });
        inside.collect()
    }

    /// The stored bytes at `addresses` in the tree of `root`: in the host's memory, and in BAR 0 of each function.
    fn stored(&self, root: usize, addresses: Range<u64>) -> Vec<Stored> {
        let mut all = Vec::new();
        for (node, plan) in self.nodes.iter().enumerate() {
            if plan.root != root {
                continue;
            }
            let functions = match &plan.kind {
                NodeKind::Device(core, _) => 0..=core.virtual_functions as u8,
                _ => 0..=0,
            };
            all.extend(functions.filter_map(|function| {
                let region = plan.memory.or_else(|| plan.registers(function))?;
                let bytes = overlap(region, &addresses)?;
                Some(Stored {
                    node,
                    function,
                    bytes,
                })
            }));
        }
        all
    }
}

/// The offsets in `region` of the bytes that are also at `addresses`; `None` if there are none.
fn overlap(region: Region, addresses: &Range<u64>) -> Option<Range<u64>> {
    let first = addresses.start.max(region.base);
    let end = addresses.end.min(region.end());
    (first < end).then(|| first - region.base..end - region.base)
}
