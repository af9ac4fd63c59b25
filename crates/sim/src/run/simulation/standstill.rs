//! The only definition of progress of a run, and of its end without progress.
//!
//! A run makes progress when a payload of a workload arrives, when an incident happens, when a program that an incident has started runs
//! on, and, after the workloads, when a packet is made that is not of a [service](is_service). A run without progress for some time ends.
//! Events alone are not progress: links with errors update their credit for ever.

use host::{Course, ThreadId, Wait};
use kernel::{Span, Time};
use packet::Packet;
use protocol::{FunctionId, Header, Kind, Message};

use super::{CHUNK, Simulation};
use crate::model::Model;
use crate::result::FlowResult;
use crate::setup::Plan;
use crate::workload::Patience;

/// Time for which a program of an incident may wait for one event. Our choice: as long as workloads may make no progress, and longer than the
/// completion timeouts of hosts, which each end a wait.
const PATIENCE: Span = Span::from_us(100_000);

/// Number of times that a program of an incident may run. Our choice: more than it takes to write all registers of 1,000 functions.
const MOST_STEPS: u32 = 200_000;

/// Largest number of events from the last incident to the end of the programs of incidents: the first number is for each link or fibre, the second
/// for each packet that is made. Our choice: a link with a bit error rate of 1e-4 has 25 events a microsecond; a packet has some ten on each hop.
const MOST_EVENTS: u64 = 10_000_000;
const MOST_EVENTS_OF_PACKET: u64 = 1_000;

/// Time without progress for which resets of devices may continue. Our choice: a second until the link is up and a second until its functions answer
/// (PCIe Base 6.6.1).
const LONGEST_RESETS: Span = Span::from_us(2_000_000);

/// A packet that is not at its target after this time cannot move. Our choice: longer than any way through a fabric where nothing blocks,
/// and shorter than the patience of every workload.
const PASSAGE: Span = Span::from_us(1_000);

/// Time for which models from outside may make packets after the workloads and incidents. Our choice.
const LONGEST_MODELS: Span = Span::from_us(10_000_000);

/// The largest number of lines about programs and flows that wait.
const MOST_LINES: usize = 8;

/// Whether a packet belongs to the service of errors or of links, which continues for ever if links have errors: error messages, refusals of L1, and
/// configuration accesses with a root port as requester.
fn is_service(header: &Header) -> bool {
    match &header.kind {
        Kind::Message(request) => {
            matches!(request.message, Message::Error(_) | Message::ActiveStateNak)
        }
        Kind::Completion(completion) => {
            let requester = completion.requester;
            requester.bus() == 0 && requester != FunctionId::default()
        }
        _ => header.is_config(),
    }
}

/// The time for which a run may continue without progress, and whether a run has ended because of it.
#[derive(Debug)]
pub(super) struct Standstill {
    /// The time for which all workloads may make no progress, if there are workloads.
    patience: Option<Patience>,
    /// Whether the last run ended because of a lack of progress.
    pub(super) is_reached: bool,
    /// An end of the patience, and the number of packets that each region had made shortly before it. Packets that were made before this and are
    /// still in use at the end of the run cannot move any more. Without numbers, this applies to all packets.
    old: (Time, Option<Vec<u64>>),
}

impl Standstill {
    /// The standstill of a run of `plan` that has not begun.
    pub(super) fn new(plan: &Plan) -> Self {
        Standstill {
            patience: Patience::of(&plan.workloads),
            is_reached: false,
            old: (Time::ZERO, Some(Vec::new())),
        }
    }

    /// Records the number of packets that each region had `made` shortly before `patient`, the end of the patience.
    pub(super) fn note_old(&mut self, patient: Time, made: Vec<u64>) {
        self.old = (patient, Some(made));
    }

    /// Records that the run has ended without progress, because no event is left.
    pub(super) fn reach_without_events(&mut self) {
        self.is_reached = true;
        self.old.1 = None;
    }
}

impl Simulation {
    /// The time up to which a run continues for now, and the end of the patience. The first time is shortly before the second, until the packets made
    /// so far have been counted there.
    pub(super) fn limits(&self) -> (Time, Time) {
        let patient = self.patient_until();
        if self.standstill.old.0 == patient {
            return (patient, patient);
        }
        let before = patient.as_fs().saturating_sub(PASSAGE.as_fs());
        (Time::from_fs(before), patient)
    }

    /// Time at which the run ends, if there is no progress until then.
    pub(super) fn patient_until(&self) -> Time {
        self.patience_ends().max(self.awaits_incidents_until())
    }

    /// Time until which all workloads may make no progress.
    fn patience_ends(&self) -> Time {
        let meter = &self.probes.meter;
        match self.standstill.patience {
            Some(patience) => patience.after(meter.progress()),
            None if meter.open() > 0 => Time::NEVER,
            None => Time::ZERO,
        }
    }

    /// Whether a host resets devices whose drivers wait for the end of the reset.
    fn is_resetting(&self) -> bool {
        let mut hosts = self.engine.models().iter().filter_map(Model::host);
        hosts.any(|host| host.cpu().is_resetting())
    }

    /// Whether the run waits for the end of a program or of a reset. No observation reports these ends.
    pub(super) fn awaits_programs(&self) -> bool {
        let incidents = &self.outside.incidents;
        incidents.has_programs(self.engine.models()) || self.is_resetting()
    }

    /// Whether programs of incidents have run for more events than they may. Incidents need one thread, so that the numbers of events and
    /// packets are the same in every run.
    pub(super) fn have_programs_had_enough(&self) -> bool {
        let incidents = &self.outside.incidents;
        let (events, made) = incidents.counts;
        let links = self.plan.links.len() + self.plan.fibres.len() + self.plan.cables.len();
        let most = MOST_EVENTS * links as u64
            + MOST_EVENTS_OF_PACKET * self.packets_made().saturating_sub(made);
        self.events().saturating_sub(events) > most && incidents.has_programs(self.engine.models())
    }

    /// The time until which the run waits for incidents: for the next incident, for the programs of earlier incidents, and for resets.
    pub(super) fn awaits_incidents_until(&self) -> Time {
        let mut until = match self.next_incident() {
            Time::NEVER => Time::ZERO,
            next => next,
        };
        if self.is_resetting() {
            let last = self.probes.meter.progress();
            let last = last.max(self.outside.incidents.last);
            until = until.max(last + LONGEST_RESETS);
        }
        let now = self.now();
        for one in self.outside.incidents.programs() {
            let Some(host) = self.model(one.host).host() else {
                continue;
            };
            let awaited = match host.cpu().course(one.thread, now) {
                _ if host.cpu().steps(one.thread) > MOST_STEPS => continue,
                Course::Ended => continue,
                Course::Continues(due) => due + PATIENCE,
                Course::Waits(wait) => wait.since + PATIENCE,
            };
            until = until.max(awaited);
        }
        until
    }

    /// The number of packets that can no longer move. Packets of services and recent packets do not count, because services, and drivers that poll
    /// their device, make packets until the end of the run.
    pub(super) fn standing_packets(&self) -> usize {
        let stands = |packet: &Packet| !is_service(packet.header());
        match &self.standstill.old.1 {
            None => self.engine.count_of(stands),
            Some(made) => self.engine.count_of_old(made, stands),
        }
    }

    /// Continues until the device models from outside, if there are any, are quiet: no event is left, or for [`PASSAGE`] only services have made
    /// packets. Returns false if `watch` has ended the run.
    pub(super) fn run_models(&mut self, watch: &mut dyn FnMut(&Simulation) -> bool) -> bool {
        if !self.engine.has_models_from_outside() {
            return true;
        }
        let (mut made, mut last) = (self.packets_made(), self.now());
        let end = last + LONGEST_MODELS;
        loop {
            for _ in 0..CHUNK {
                let is_over = self.is_at_end();
                let limit = end.min(last + PASSAGE);
                if self.has_stopped() || is_over || !self.step_until(limit) {
                    return true;
                }
                let before = std::mem::replace(&mut made, self.packets_made());
                if made != before && self.has_work_since(before) {
                    last = self.now();
                }
            }
            if !watch(self) {
                return false;
            }
        }
    }

    /// Whether a packet with the number `first` or a higher one is not of a service.
    fn has_work_since(&self, first: u64) -> bool {
        let is_work = |packet: &Packet| packet.number() >= first && !is_service(packet.header());
        self.engine.count_of(is_work) > 0
    }

    /// The programs and `flows` that have not ended, each with the event that it waits for and the time from which it has waited.
    pub(super) fn standstill(&self, flows: &[FlowResult]) -> Vec<String> {
        let mut lines = self.standing_programs();
        let open = flows.iter().filter(|flow| !flow.completed);
        lines.extend(open.map(|flow| {
            let (to, from) = match flow.direction {
                "read" => (&flow.from, &flow.to),
                _ => (&flow.to, &flow.from),
            };
            let last = [flow.last_byte_ns, flow.sent_first_ns, flow.called_ns];
            let since = last.into_iter().flatten().next().unwrap_or_default();
            let id = &flow.id;
            format!("{to} waits for bytes of {id} from {from} since {since} ns")
        }));
        lines.truncate(MOST_LINES);
        lines
    }

    fn standing_programs(&self) -> Vec<String> {
        let now = self.now();
        let mut lines = Vec::new();
        for one in self.outside.incidents.programs() {
            let Some(host) = self.model(one.host).host() else {
                continue;
            };
            let incident = &self.plan.incidents[one.incident];
            let who = format!(
                "{} ({} at {}) on {}",
                incident.id,
                incident.what,
                self.name(incident.node),
                self.name(one.host)
            );
            match host.cpu().course(one.thread, now) {
                Course::Ended => {}
                Course::Continues(_) => {
                    let steps = host.cpu().steps(one.thread);
                    lines.push(format!("{who} has not ended after {steps} steps"));
                }
                Course::Waits(wait) => lines.push(waiting(&who, &wait)),
            }
        }
        for (node, host) in self.engine.models().iter().enumerate() {
            let Some(host) = host.host() else { continue };
            let programs = self.outside.incidents.programs().iter();
            let known: Vec<ThreadId> = programs
                .filter(|one| one.host == node)
                .map(|one| one.thread)
                .collect();
            // A program that has waited only for a short time is not listed.
            let all = host.cpu().waits(now);
            let all = all.filter(|(_, wait)| wait.since + PASSAGE <= now);
            for (thread, wait) in all.filter(|(thread, _)| !known.contains(thread)) {
                let who = format!("program {} on {}", thread.0, self.name(node));
                lines.push(waiting(&who, &wait));
            }
        }
        lines
    }

    fn name(&self, node: usize) -> &str {
        &self.plan.nodes[node].name
    }
}

fn waiting(who: &str, wait: &Wait) -> String {
    let since = wait.since.as_ns();
    format!("{who} waits for {} since {since} ns", wait.what)
}
