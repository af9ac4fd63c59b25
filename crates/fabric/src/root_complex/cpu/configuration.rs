//! The CPU's accesses to configuration spaces. Accesses below root ports are sent as packets, one at a time.

use kernel::{Effects, Port, Span, Time};
use link::{At, LinkCommand};
use packet::{Observation, PacketId, Packets, Refusal, Stamp};
use protocol::{Completion, CompletionTimeout, ConfigRequest, FunctionId, Kind, Status, Tag};
use transaction::{
    Action, CompletionBuffer, ConfigAccess, FunctionPlace, Outstanding, OutstandingLimits, Reach,
};

use super::Cpu;
use crate::root_complex::RootComplex;
use crate::root_complex::timer::RootTimer;

/// The CPU's current access, and the outstanding requests of this and earlier accesses. The requester is the root port that sends the
/// request, so that these tags are separate from the tags of the CPU's memory requests.
#[derive(Clone, Debug)]
pub(in crate::root_complex) struct Configuration {
    progress: Progress,
    /// The ticket of the program that makes the access. None for an access from outside the simulation.
    program: Option<u32>,
    /// The outstanding requests, with the root port of each.
    requests: Outstanding<usize>,
}

/// The state of the CPU's access.
#[derive(Clone, Copy, Debug)]
enum Progress {
    /// There is no access.
    Idle,
    /// The access has begun, and the location of its function is not determined yet. If the access has an effect at a root port, programs
    /// may run and start further accesses, which wait for this one.
    Begun,
    /// A request below this root port waits for a tag.
    Waiting(usize, ConfigRequest, Action),
    /// A request was sent below a root port. The value is its requester.
    Sent(FunctionId),
    /// The access is complete, with the value, or none if it failed.
    Answered(Option<u32>),
}

/// The number of tags of a function without extended tags (PCIe Base 2.2.6.2). An access needs one tag, and the tags of requests that timed
/// out are in quarantine.
const TAGS: u16 = 32;

impl Configuration {
    /// A state without an access. Each request will have this completion timeout, and its tag will have this quarantine.
    pub(in crate::root_complex) fn new(completion_timeout: Span, tag_quarantine: Span) -> Self {
        Configuration {
            progress: Progress::Idle,
            program: None,
            requests: Outstanding::new(OutstandingLimits {
                tags: TAGS,
                completion_timeout,
                tag_quarantine,
                completion_buffer: CompletionBuffer::default(),
            }),
        }
    }

    /// Begins an access of the program with this ticket, or an access from outside the simulation if there is no ticket.
    pub(super) fn start(&mut self, program: Option<u32>) {
        self.program = program;
        self.progress = Progress::Begun;
    }

    /// Whether a program makes the access.
    pub(super) fn is_of_program(&self) -> bool {
        self.program.is_some()
    }

    /// Returns and removes the result of a complete access of a program, with the program's ticket.
    pub(super) fn take_result_of_program(&mut self) -> Option<(u32, Option<u32>)> {
        if !self.is_complete() {
            return None;
        }
        let ticket = self.program.take()?;
        Some((ticket, self.take_result()))
    }

    /// Whether an access has begun and its result has not been read yet.
    pub(super) fn is_busy(&self) -> bool {
        !matches!(self.progress, Progress::Idle)
    }

    /// Ends the access at once with this result: the value, or none if no function answers.
    pub(super) fn answer(&mut self, result: Option<u32>) {
        self.progress = Progress::Answered(result);
    }

    /// Sends the access to a function below root port `port`. The port is the requester, and its registers select the completion `timeout`.
    pub(super) fn send_below(
        &mut self,
        (port, timeout): (usize, CompletionTimeout),
        request: ConfigRequest,
        action: Action,
    ) {
        self.requests.time_out_after(timeout);
        self.progress = Progress::Waiting(port, request, action);
    }

    /// The request of the access and its root port, if the request waits to be sent and a tag is free.
    pub(super) fn next_request(
        &mut self,
        now: Time,
        packets: &mut Packets,
    ) -> Option<(usize, PacketId)> {
        let Progress::Waiting(port, mut request, action) = self.progress else {
            return None;
        };
        if !self.requests.is_open(now) {
            return None;
        }
        let awaited = match action {
            Action::Read => 4,
            Action::Write { .. } => 0,
        };
        request.tag = self.requests.begin(port, (0, awaited), now);
        self.progress = Progress::Sent(request.requester);
        let stamp = Stamp::default();
        let packet = match action {
            Action::Read => packets.make(Kind::ConfigRead(request).into(), stamp, &[]),
            Action::Write { value, .. } => packets.make(
                Kind::ConfigWrite(request).into(),
                stamp,
                &value.to_le_bytes(),
            ),
        };
        Some((port, packet))
    }

    /// The next time after `now` at which a request times out, or a tag is free again.
    pub(super) fn next_change(&mut self, now: Time) -> Time {
        self.requests.next_change(now)
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self.progress, Progress::Answered(_))
    }

    /// Returns and removes the result of a complete access: the value, or none if no function answered.
    pub(super) fn take_result(&mut self) -> Option<u32> {
        match std::mem::replace(&mut self.progress, Progress::Idle) {
            Progress::Answered(result) => result,
            Progress::Idle | Progress::Begun | Progress::Waiting(..) | Progress::Sent(_) => None,
        }
    }

    /// Handles a completion. Returns false if no request waits for it.
    pub(super) fn take(&mut self, completion: &Completion, payload: &[u8]) -> bool {
        if !matches!(self.progress, Progress::Sent(id) if id == completion.requester) {
            return false;
        }
        let Some(part) = self.requests.take(completion) else {
            return false;
        };
        if part.last {
            let data = payload.first_chunk::<4>().copied();
            let good = completion.status == Status::Successful;
            let answer = good.then(|| data.map_or(0, u32::from_le_bytes));
            self.progress = Progress::Answered(answer);
        }
        true
    }

    /// Ends the access whose request has timed out by `now` (PCIe Base 2.8); returns the root port of the request.
    pub(super) fn give_up(&mut self, now: Time) -> Option<usize> {
        let lost = self.requests.give_up(now)?;
        self.progress = Progress::Answered(None);
        Some(lost.what)
    }
}

impl<C: Cpu> RootComplex<C> {
    /// Whether an access of the CPU to a configuration space has begun and its result has not been read yet.
    pub fn is_configuring(&self) -> bool {
        self.configuration.is_busy()
    }

    /// Begins an access of the CPU to a configuration space. The previous access must be complete.
    pub fn configure(&mut self, access: &ConfigAccess, fx: &mut Effects<'_, Self>) {
        self.begin_configuration(None, access, fx);
    }

    /// Begins a configuration access of the program with the ticket `program`, or an access from outside the simulation if there is no
    /// ticket.
    fn begin_configuration(
        &mut self,
        program: Option<u32>,
        access: &ConfigAccess,
        fx: &mut Effects<'_, Self>,
    ) {
        self.configuration.start(program);
        let mut request = access.request(self.functions.id(), Tag::default());
        match self.functions.reach(&request) {
            Reach::Nobody => self.configuration.answer(None),
            Reach::Here(place) => {
                self.record_links(fx);
                let had_reason = self.functions.space(place).has_error_interrupt();
                let value = self.functions.access(place, &request, access.action);
                if self.functions.retrains_link(place, &request, access.action)
                    && let FunctionPlace::Port(index) = place
                {
                    self.on_link(Port(index as u16), fx, |link, at| {
                        link.retrain_for_software(at)
                    });
                }
                if access.action != Action::Read {
                    self.apply_registers();
                    for port in self.ports.numbers() {
                        self.on_link(port, fx, |link, at| link.initialize_channels(at));
                    }
                    self.interrupt_for_errors(place, had_reason, fx);
                    self.report_errors(fx);
                }
                self.configuration.answer(Some(value));
            }
            Reach::Below(port, kind) => {
                request.kind = kind;
                let place = FunctionPlace::Port(port);
                request.requester = self.functions.id_of(place);
                let timeout = self.functions.space(place).completion_timeout();
                self.configuration
                    .send_below((port, timeout), request, access.action);
                self.advance_configuration(fx);
            }
        }
    }

    /// Passes a command from outside the fabric to the link end at `port`.
    pub fn command_link(&mut self, port: Port, command: LinkCommand, fx: &mut Effects<'_, Self>) {
        let link = self.ports.link(port);
        link.command_later(command, &mut At::new(fx, port));
    }

    /// Returns and removes the result of the access to a configuration space that was begun from outside: the value, or none if no function
    /// answered. `None` while the access is outstanding.
    pub fn configured(&mut self) -> Option<Option<u32>> {
        let is_complete = self.configuration.is_complete() && !self.configuration.is_of_program();
        is_complete.then(|| self.configuration.take_result())
    }

    /// Begins the configuration accesses of programs, one after the other.
    pub(super) fn begin_configurations(&mut self, fx: &mut Effects<'_, Self>) {
        while !self.configuration.is_busy()
            && let Some((ticket, access)) = self.cpu.next_configuration()
        {
            self.begin_configuration(Some(ticket), &access, fx);
            self.end_configuration(fx);
        }
    }

    /// Passes the result of a complete access to the program that made it.
    pub(super) fn end_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some((ticket, result)) = self.configuration.take_result_of_program() {
            self.cpu.configured(ticket, result, fx.now());
            fx.wake(RootTimer::Cpu, Span::ZERO);
        }
    }

    /// If the request of the access has timed out, ends the access. If the request waits and a tag is free, sends the request.
    pub(in crate::root_complex) fn advance_configuration(&mut self, fx: &mut Effects<'_, Self>) {
        if let Some(port) = self.configuration.give_up(fx.now()) {
            self.functions.record_timeout(FunctionPlace::Port(port), fx);
            self.report_errors(fx);
            fx.observe(Observation::Refused {
                why: Refusal::CompletionTimeout,
                flow: None,
                bytes: 0,
                offset: None,
            });
            self.end_configuration(fx);
        }
        let now = fx.now();
        let request = self.configuration.next_request(now, fx.store());
        let next = self.configuration.next_change(now);
        if next < Time::NEVER && self.configuration_wake.schedule(next) {
            fx.wake(RootTimer::Configuration, next.since(now));
        }
        if let Some((port, packet)) = request {
            self.send_down(Port(port as u16), packet, fx);
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::{ConfigKind, Header};

    use super::*;

    const PORT: FunctionId = FunctionId::new(0, 2, 0);
    const PATIENCE: Span = Span::from_us(50);

    fn request() -> ConfigRequest {
        ConfigRequest {
            requester: PORT,
            tag: Tag(0),
            target: FunctionId::new(4, 0, 0),
            register: 1,
            first_be: 0xf,
            kind: ConfigKind::Type0,
        }
    }

    fn configuration() -> Configuration {
        Configuration::new(PATIENCE, PATIENCE)
    }

    /// Begins a read of a program below root port 2, and returns the header of its request.
    fn send(configuration: &mut Configuration, packets: &mut Packets, now: Time) -> Option<Header> {
        configuration.start(Some(7));
        configuration.send_below((2, CompletionTimeout::default()), request(), Action::Read);
        let (port, packet) = configuration.next_request(now, packets)?;
        assert_eq!(port, 2);
        Some(*packets[packet].header())
    }

    fn answer(request: &Header) -> Completion {
        let answer = Header::completion_with_data(request, FunctionId::new(4, 0, 0), 0, 4);
        match answer.expect("a legal completion").kind {
            Kind::Completion(completion) => completion,
            other => panic!("a completion is no {other:?}"),
        }
    }

    #[test]
    fn an_access_ends_with_the_completion_of_its_own_request() {
        let mut configuration = configuration();
        let request = send(&mut configuration, &mut Packets::default(), Time::ZERO);
        let own = answer(&request.expect("a tag is free"));
        let other = Completion {
            requester: FunctionId::new(0, 3, 0),
            ..own
        };
        assert!(!configuration.take(&other, &[9; 4]));
        assert_eq!(configuration.take_result_of_program(), None);
        assert!(configuration.is_busy());
        assert!(configuration.take(&own, &[1, 2, 0, 0]));
        assert_eq!(
            configuration.take_result_of_program(),
            Some((7, Some(0x201)))
        );
        assert!(!configuration.is_busy() && !configuration.take(&own, &[9; 4]));
    }

    #[test]
    fn an_access_without_an_answer_ends_with_no_value_at_its_timeout() {
        let mut configuration = configuration();
        let mut packets = Packets::default();
        send(&mut configuration, &mut packets, Time::ZERO).expect("a tag is free");
        let due = configuration.next_change(Time::ZERO);
        assert_eq!(configuration.give_up(Time::ZERO), None);
        assert_eq!(configuration.give_up(due), Some(2));
        assert_eq!(configuration.take_result_of_program(), Some((7, None)));
    }

    #[test]
    fn an_access_waits_while_the_tags_of_all_timed_out_requests_are_in_quarantine() {
        let mut configuration = Configuration::new(PATIENCE, PATIENCE * 1000);
        let (mut packets, mut now) = (Packets::default(), Time::ZERO);
        for _ in 0..TAGS {
            send(&mut configuration, &mut packets, now).expect("a tag is free");
            now = configuration.next_change(now);
            assert_eq!(configuration.give_up(now), Some(2));
            assert_eq!(configuration.take_result(), None);
        }
        assert_eq!(send(&mut configuration, &mut packets, now), None);
        let later = configuration.next_change(now);
        assert!(later > now && configuration.is_busy());
        assert!(configuration.next_request(later, &mut packets).is_some());
    }
}
