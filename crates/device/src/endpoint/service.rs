//! The endpoint as a completer: requests to its memory and to its configuration space, and packets that it refuses.

use kernel::{Effects, Time};
use link::{At, LinkChange, LinkCommand};
use packet::{FlowId, Observation, PacketId, Packets, Refusal};
use protocol::{ConfigRequest, Header, Kind, MemoryRequest, Message, Severity};
use transaction::{Completions, FunctionPlace, Memory, Reach, arrived, deliver};

use super::{BOUNDARY, Device, Endpoint, PORT};

impl Endpoint {
    /// Serves a request to BAR 0 of any function or to the configuration space; refuses other packets, such as completions.
    /// Releases `packet`, and reports a delivered request of a flow.
    pub(crate) fn serve<C: Device>(&mut self, packet: PacketId, fx: &mut Effects<'_, C>) {
        let header = *fx.store()[packet].header();
        if let Err(why) = self.verdict(&header) {
            return self.refuse(packet, why, fx);
        }
        let is_memory = matches!(&header.kind, Kind::MemoryRead(_) | Kind::MemoryWrite(_));
        if is_memory && self.has_resets() && self.is_in_reset(self.addressee(&header), fx.now()) {
            return self.refuse(packet, Refusal::InReset, fx);
        }
        match &header.kind {
            Kind::MemoryWrite(request) => {
                let behind = self.virtual_memory.as_mut();
                let behind = behind.and_then(|behind| behind.for_request_mut(request));
                let (memory, base) = behind.unwrap_or((&mut self.bar, self.bars[0]));
                let content = &fx.store()[packet];
                if let Some(told) = deliver(content, request, memory, base, &self.patterns) {
                    fx.observe(told);
                }
            }
            Kind::MemoryRead(request) => {
                let due = fx.now() + self.parameters.read_latency;
                let behind = self.virtual_memory.as_ref();
                let behind = behind.and_then(|behind| behind.for_request(request));
                let (memory, base) = behind.unwrap_or((&self.bar, self.bars[0]));
                let answers = self.completions(packet, memory, base, fx.store());
                self.answers.extend(answers.map(|answer| (due, answer)));
            }
            Kind::ConfigRead(request) | Kind::ConfigWrite(request) => {
                return self.configure(packet, request, fx);
            }
            Kind::Completion(_) => {
                return self.refuse(packet, Refusal::UnexpectedCompletion, fx);
            }
            Kind::Message(request) if request.message == Message::ActiveStateNak => {}
            // The devices complete no atomic operations (Device Capabilities 2). Coherent agents handle coherence messages before this function
            // is called.
            Kind::Atomic(_) | Kind::Message(_) | Kind::Network(_) | Kind::Coherence(_) => {
                return self.refuse(packet, Refusal::UnsupportedRequest, fx);
            }
        }
        fx.store().release(packet);
    }

    /// Reports the payload of a write that the device has executed, and releases the packet.
    pub(crate) fn end_write<C: Device>(
        &self,
        packet: PacketId,
        request: &MemoryRequest,
        fx: &mut Effects<'_, C>,
    ) {
        let told = arrived(&fx.store()[packet], request, &self.patterns);
        fx.store().release(packet);
        if let Some(told) = told {
            fx.observe(told);
        }
    }

    /// Returns an error with the reason if a packet must not be served.
    pub(crate) fn verdict(&self, header: &Header) -> Result<(), Refusal> {
        self.check_size(header)?;
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) if self.holds(request) => {
                if self.aborts(request) {
                    return Err(Refusal::CompleterAbort);
                }
                Ok(())
            }
            // The link has ended its wait for this refusal of L1, so the message has no effect.
            Kind::Message(request) if request.message == Message::ActiveStateNak => Ok(()),
            Kind::MemoryRead(_)
            | Kind::MemoryWrite(_)
            | Kind::Message(_)
            | Kind::Network(_)
            | Kind::Coherence(_) => Err(Refusal::UnsupportedRequest),
            _ => Ok(()),
        }
    }

    /// Checks the payload of a packet against the max payload size (PCIe Base 2.2.2), its traffic class against the mapping of classes to
    /// channels (2.5.3), and its prefix against the registers (2.2.10.2).
    pub(crate) fn check_size(&self, header: &Header) -> Result<(), Refusal> {
        if header.checked_size() >= self.checked_from {
            return self.look_closely(header);
        }
        Ok(())
    }

    fn look_closely(&self, header: &Header) -> Result<(), Refusal> {
        let own = self.functions.space(FunctionPlace::Own);
        let is_too_large = header.payload_len() as u32 > self.max_payload;
        let is_known = header.pasid.is_none() || own.supports_prefixes();
        if is_too_large || !is_known || !self.link.maps(header.traffic_class) {
            return Err(Refusal::MalformedTlp);
        }
        // Our choice: a function whose PASID capability is not enabled handles the address as unknown.
        if header.pasid.is_some() && !own.pasid_control().is_enabled {
            return Err(Refusal::UnsupportedRequest);
        }
        Ok(())
    }

    /// Refuses a packet and releases it. If it is a non-posted request, a completion is sent.
    pub(crate) fn refuse<C: Device>(
        &mut self,
        packet: PacketId,
        why: Refusal,
        fx: &mut Effects<'_, C>,
    ) {
        let place = match why {
            // An error of the link belongs to the physical function (PCIe Base 9.4.2).
            Refusal::MalformedTlp => FunctionPlace::Own,
            _ => self.addressee(fx.store()[packet].header()),
        };
        let why = if self.has_resets() && self.is_in_reset(place, fx.now()) {
            Refusal::InReset
        } else {
            why
        };
        if let Some(answer) = self.functions.refuse(place, packet, why, fx) {
            self.answers.push_back((fx.now(), answer));
        }
        self.report_errors(fx);
    }

    /// Records the errors that the link has detected and the changes of its state in the registers.
    pub(super) fn record_link<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        while let Some(change) = self.link.take_change() {
            let (own, link) = (FunctionPlace::Own, &self.link);
            self.functions.record_change(own, link, change, fx);
            if let LinkChange::Down(cause) = change {
                self.begin_reset_of_link(cause, fx);
            }
        }
        let (own, now) = (FunctionPlace::Own, fx.now());
        self.functions.record_link(own, &mut self.link, now);
    }

    /// Gives the link end a command from outside the fabric, such as an incident.
    pub(crate) fn command_link<C: Device>(
        &mut self,
        command: LinkCommand,
        fx: &mut Effects<'_, C>,
    ) {
        self.link.command_later(command, &mut At::new(fx, PORT));
    }

    /// Records the errors that the link has detected and the changes of its state in the registers, and sends the error messages.
    pub(super) fn report_link<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        self.record_link(fx);
        self.report_errors(fx);
    }

    /// Sends the messages for errors that functions report. The PCI Express core makes them, so they do not pass the engine's datapath.
    pub(super) fn report_errors<C: Device>(&mut self, fx: &mut Effects<'_, C>) {
        while let Some(report) = self.functions.take_report() {
            let message = self.functions.error_message(report, fx.store());
            self.send(message, fx);
        }
    }

    fn configure<C: Device>(
        &mut self,
        packet: PacketId,
        request: &ConfigRequest,
        fx: &mut Effects<'_, C>,
    ) {
        let Reach::Here(place) = self.functions.reach(request) else {
            return self.refuse(packet, Refusal::UnsupportedRequest, fx);
        };
        if self.has_resets() && self.is_in_reset(place, fx.now()) {
            return self.refuse(packet, Refusal::InReset, fx);
        }
        self.record_link(fx);
        let virtual_functions = self.functions.virtual_places().count();
        let served = self.functions.serve(place, packet, fx.store());
        if served.initiates_reset {
            self.begin_reset(place, fx);
        } else if served.written {
            self.apply_registers();
            self.end_virtual_functions(virtual_functions, fx);
            self.link.initialize_channels(&mut At::new(fx, PORT));
        }
        // The reset takes effect after this completion (PCIe Base 6.6.2).
        self.answers.push_back((fx.now(), served.completion));
        self.report_errors(fx);
    }

    /// The message for an internal error of this severity in the function at `place`, to be handed over now. None if software has not enabled
    /// these messages, or if the function no longer exists.
    pub(crate) fn own_error<C: Device>(
        &mut self,
        place: FunctionPlace,
        severity: Severity,
        fx: &mut Effects<'_, C>,
    ) -> Option<PacketId> {
        self.space_of(place)?;
        let report = self.functions.own_error(place, severity, fx)?;
        Some(self.functions.error_message(report, fx.store()))
    }

    /// Records a completion timeout of the function at `place`, if the function still exists.
    pub(crate) fn record_timeout<C: Device>(
        &mut self,
        place: FunctionPlace,
        fx: &mut Effects<'_, C>,
    ) {
        if self.space_of(place).is_some() {
            self.functions.record_timeout(place, fx);
            self.report_errors(fx);
        }
    }

    /// Records a completion timeout of the function at `place`, and reports the request. If the request belongs to a flow, the report has no
    /// bytes, because the requester reports them when the request has ended; otherwise the report has the request's `bytes`.
    pub(crate) fn give_up<C: Device>(
        &mut self,
        place: FunctionPlace,
        flow: Option<FlowId>,
        bytes: u32,
        fx: &mut Effects<'_, C>,
    ) {
        self.record_timeout(place, fx);
        fx.observe(match flow {
            Some(flow) => Observation::timed_out(flow, 0, 0),
            None => Observation::gave_up(bytes),
        });
    }

    /// Records an error that the engine has detected in a packet with this header, and sends the error message. `is_answered` is true if a
    /// completion informs the requester.
    pub(crate) fn record_detected<C: Device>(
        &mut self,
        why: Refusal,
        (header, is_answered): (&[u8], bool),
        fx: &mut Effects<'_, C>,
    ) {
        let place = FunctionPlace::Own;
        self.functions
            .record_detected(place, why, (header, is_answered), fx);
        self.report_errors(fx);
    }

    /// Completes a read with data from `memory`, which begins at address `base`, instead of data from BAR 0.
    pub(crate) fn answer<C: Device>(
        &mut self,
        request: PacketId,
        memory: &Memory,
        base: u64,
        fx: &mut Effects<'_, C>,
    ) {
        let due = fx.now() + self.parameters.read_latency;
        self.answer_at(due, request, memory, base, fx);
    }

    /// Completes a read as [`answer`](Self::answer) does, with data that is available at `due`. Returns the first completion.
    pub(crate) fn answer_at<C: Device>(
        &mut self,
        due: Time,
        request: PacketId,
        memory: &Memory,
        base: u64,
        fx: &mut Effects<'_, C>,
    ) -> Option<&mut PacketId> {
        let first = self.answers.len();
        let answers = self.completions(request, memory, base, fx.store());
        self.answers.extend(answers.map(|answer| (due, answer)));
        self.answers.get_mut(first).map(|(_, answer)| answer)
    }

    /// The completions of a read, with data from `memory`, which begins at address `base`.
    pub(super) fn completions<'m>(
        &self,
        request: PacketId,
        memory: &'m Memory,
        base: u64,
        packets: &'m mut Packets,
    ) -> impl Iterator<Item = PacketId> + use<'m> {
        let header = packets[request].header();
        let completer = self.id_of(self.addressee(header));
        let answers = Completions::of(header, completer, self.max_payload, BOUNDARY);
        answers.packets(request, memory, base, packets)
    }
}
