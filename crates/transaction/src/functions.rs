//! The functions of one component, and the routing of configuration requests (PCIe Base 7.3).
//!
//! Both the components in a running fabric and the firmware that plans a fabric use this code, so that they always agree.

mod links;
mod ports;
mod virtual_spaces;

use std::collections::VecDeque;

use kernel::{Component, Effects};
use packet::{Incident, Observation, Packet, PacketId, Packets, Pcie, Refusal, Site, Stamp};
use protocol::{
    Class, Completion, ConfigKind, ConfigRequest, ConfigSpace, CorrectableError, Detected,
    EndpointFunction, ErrorControl, ErrorRecord, FunctionId, Header, Kind, Message, Pasid,
    Severity, Status, TriggerReason, UncorrectableError,
};

use crate::{Action, refuse};
pub use ports::PortAction;
use virtual_spaces::VirtualSpaces;

/// The kind of component, which decides how configuration requests are routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Device,
    Switch,
    Root,
}

/// The functions of a device, a switch or a root complex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Functions {
    role: Role,
    /// The bus and device number, captured from the last configuration write (PCIe Base 2.2.6.2).
    id: FunctionId,
    own: ConfigSpace,
    ports: Vec<PortFunction>,
    virtual_spaces: VirtualSpaces,
    /// The errors of functions of this component that must still be reported by messages.
    reports: VecDeque<ErrorReport>,
    /// The actions on links of downstream ports that registers require and that are not executed yet.
    actions: VecDeque<(usize, PortAction)>,
}

/// An error that a function reports. The report is a message or, at a root port, an entry in the root error registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// The function.
    pub place: FunctionPlace,
    /// The severity.
    pub severity: Severity,
}

/// The function of a downstream port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortFunction {
    /// The device number on the port's bus.
    pub device: u8,
    /// The function number in that device.
    pub function: u8,
    /// The configuration space of the port.
    pub space: ConfigSpace,
}

/// The position of a function in its component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionPlace {
    /// A device's physical function, a switch's upstream port, or a host bridge.
    Own,
    /// The downstream port with this index.
    Port(usize),
    /// The virtual function of a device with this number, from 0. It exists only while it is enabled.
    Virtual(usize),
}

/// The result of routing a configuration request in a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The request is for a function of this component.
    Here(FunctionPlace),
    /// The request must be forwarded to the port with this index, as a request of this type.
    Below(usize, ConfigKind),
    /// No function has this ID: the request is an unsupported request.
    Nobody,
}

/// The result of a configuration request that a function has executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// The completion.
    pub completion: PacketId,
    /// Whether the request has written a register.
    pub written: bool,
    /// Whether the request initiates a function level reset of its function.
    pub initiates_reset: bool,
    /// Whether the request retrains the link of its function, a downstream port.
    pub retrains_link: bool,
}

impl Functions {
    /// A device with a physical function, and with its virtual functions when they are enabled.
    pub fn device(function: &EndpointFunction) -> Self {
        let own = ConfigSpace::endpoint(function);
        Functions {
            virtual_spaces: VirtualSpaces::of(function),
            ..Self::new(Role::Device, own, Vec::new())
        }
    }

    /// A switch with an upstream port and downstream ports.
    pub fn switch(upstream: ConfigSpace, ports: Vec<PortFunction>) -> Self {
        Self::new(Role::Switch, upstream, ports)
    }

    /// A root complex with a host bridge and root ports, all on bus 0.
    pub fn root(host_bridge: ConfigSpace, ports: Vec<PortFunction>) -> Self {
        Self::new(Role::Root, host_bridge, ports)
    }

    fn new(role: Role, own: ConfigSpace, mut ports: Vec<PortFunction>) -> Self {
        let shared: Vec<u8> = ports
            .iter()
            .filter(|port| port.function > 0)
            .map(|port| port.device)
            .collect();
        for port in &mut ports {
            if port.function == 0 && shared.contains(&port.device) {
                port.space.set_multifunction();
            }
        }
        Functions {
            role,
            id: FunctionId::default(),
            own,
            ports,
            virtual_spaces: VirtualSpaces::default(),
            reports: VecDeque::new(),
            actions: VecDeque::new(),
        }
    }

    /// The ID of the device's physical function, the switch's upstream port, or the host bridge.
    pub fn id(&self) -> FunctionId {
        self.id
    }

    /// The ID of the function at `place`.
    pub fn id_of(&self, place: FunctionPlace) -> FunctionId {
        match place {
            FunctionPlace::Own => self.id,
            FunctionPlace::Port(index) => {
                let port = &self.ports[index];
                FunctionId::new(self.internal_bus(), port.device, port.function)
            }
            FunctionPlace::Virtual(number) => self.own.virtual_id(self.id, number),
        }
    }

    /// The configuration space of the function at `place`.
    pub fn space(&self, place: FunctionPlace) -> &ConfigSpace {
        match place {
            FunctionPlace::Own => &self.own,
            FunctionPlace::Port(index) => &self.ports[index].space,
            FunctionPlace::Virtual(number) => &self.virtual_spaces.spaces()[number],
        }
    }

    /// The configuration spaces of the downstream ports.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = &ConfigSpace> {
        self.ports.iter().map(|port| &port.space)
    }

    /// All functions that exist now.
    pub fn places(&self) -> impl Iterator<Item = FunctionPlace> + use<> {
        self.places_without_virtual().chain(self.virtual_places())
    }

    fn places_without_virtual(&self) -> impl Iterator<Item = FunctionPlace> + use<> {
        let ports = (0..self.ports.len()).map(FunctionPlace::Port);
        std::iter::once(FunctionPlace::Own).chain(ports)
    }

    /// All virtual functions that exist now.
    pub fn virtual_places(&self) -> impl Iterator<Item = FunctionPlace> + use<> {
        (0..self.virtual_spaces.spaces().len()).map(FunctionPlace::Virtual)
    }

    /// The position of the function with this ID, if it exists.
    pub fn place_of(&self, id: FunctionId) -> Option<FunctionPlace> {
        let physical = self.places_without_virtual();
        let own = physical.into_iter().find(|place| self.id_of(*place) == id);
        own.or_else(|| self.virtual_at(id.0.checked_sub(self.id.0)?))
    }

    /// The virtual function whose ID is larger than the ID of the physical function by `distance`, if it exists.
    fn virtual_at(&self, distance: u16) -> Option<FunctionPlace> {
        if self.virtual_spaces.spaces().is_empty() {
            return None;
        }
        let number = self.own.virtual_number(distance);
        number.map(FunctionPlace::Virtual)
    }

    fn internal_bus(&self) -> u8 {
        match self.role {
            Role::Root => 0,
            Role::Switch | Role::Device => self.own.secondary_bus(),
        }
    }

    /// Routes `request`, which arrived from above or, in a root complex, from the CPU.
    pub fn reach(&self, request: &ConfigRequest) -> Reach {
        let id = request.target;
        match (self.role, request.kind) {
            (Role::Switch, ConfigKind::Type0) if id.function() == 0 => {
                Reach::Here(FunctionPlace::Own)
            }
            (Role::Device, _) => self.reach_device(request),
            (Role::Switch, ConfigKind::Type1) if !is_below(&self.own, id) => Reach::Nobody,
            (Role::Root, _) if id == FunctionId::default() => Reach::Here(FunctionPlace::Own),
            (Role::Root, _) | (Role::Switch, ConfigKind::Type1) => self.reach_port(id),
            (Role::Switch, _) => Reach::Nobody,
        }
    }

    /// Finds a function of a device. In requests of type 0, only the function number counts. The bus number is ignored, because a write
    /// request may be about to set it. In requests of type 1, which are for virtual functions on other buses, the whole ID counts (PCIe Base
    /// 9.2.1.2). A device number other than 0 is part of an 8-bit function number.
    fn reach_device(&self, request: &ConfigRequest) -> Reach {
        let (own, id) = (self.id.0, request.target.0);
        let distance = match request.kind {
            ConfigKind::Type0 => Some(id & FUNCTION_WITH_ARI),
            ConfigKind::Type1 => id
                .checked_sub(own)
                .filter(|distance| *distance > FUNCTION_WITH_ARI),
        };
        let found = match distance {
            Some(0) => Some(FunctionPlace::Own),
            Some(distance) => self.virtual_at(distance),
            None => None,
        };
        found.map_or(Reach::Nobody, Reach::Here)
    }

    fn reach_port(&self, id: FunctionId) -> Reach {
        if id.bus() == self.internal_bus() {
            let found = self
                .ports
                .iter()
                .position(|port| (port.device, port.function) == (id.device(), id.function()));
            return found.map_or(Reach::Nobody, |index| {
                Reach::Here(FunctionPlace::Port(index))
            });
        }
        let below = self.ports().position(|port| is_below(port, id));
        match below {
            Some(index) if self.ports[index].space.secondary_bus() != id.bus() => {
                Reach::Below(index, ConfigKind::Type1)
            }
            // Only device 0 exists below a port (PCIe Base 7.3.1). With ARI, device numbers are part of the function number (6.13).
            Some(index) if id.device() == 0 || self.ports[index].space.forwards_ari() => {
                Reach::Below(index, ConfigKind::Type0)
            }
            _ => Reach::Nobody,
        }
    }

    /// Performs `action` of `request` on the function at `place`. Returns the value of a read.
    pub fn access(&mut self, place: FunctionPlace, request: &ConfigRequest, action: Action) -> u32 {
        match action {
            Action::Read => self.space(place).read(request.register),
            Action::Write { value, .. } => {
                self.write(place, request, value);
                0
            }
        }
    }

    fn write(&mut self, place: FunctionPlace, request: &ConfigRequest, value: u32) {
        if self.role != Role::Root && request.kind == ConfigKind::Type0 {
            let device = match self.role {
                // With ARI, the device number of all functions is 0 (PCIe Base 6.13).
                Role::Device => 0,
                Role::Switch | Role::Root => request.target.device(),
            };
            self.id = FunctionId::new(request.target.bus(), device, 0);
        }
        match place {
            FunctionPlace::Port(index) => self.write_port(index, request, value),
            FunctionPlace::Own => self.write_own(request, value),
            FunctionPlace::Virtual(_) => {
                self.space_mut(place)
                    .write(request.register, value, request.first_be);
            }
        }
        if place == FunctionPlace::Own {
            self.virtual_spaces.apply_registers(&mut self.own);
        }
    }

    fn space_mut(&mut self, place: FunctionPlace) -> &mut ConfigSpace {
        match place {
            FunctionPlace::Own => &mut self.own,
            FunctionPlace::Port(index) => &mut self.ports[index].space,
            FunctionPlace::Virtual(number) => &mut self.virtual_spaces.spaces_mut()[number],
        }
    }

    /// Executes the configuration request `packet` on the function at `place`, and releases the packet. The caller sends the
    /// completion and handles the effects of a write.
    pub fn serve(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        packets: &mut Packets,
    ) -> Served {
        let content = &packets[packet];
        let (header, stamp) = (*content.header(), content.stamp);
        let (request, action) = asked(&header, content.payload());
        let value = self.access(place, &request, action);
        let retrains_link = self.retrains_link(place, &request, action);
        let initiates_reset = match action {
            Action::Read => false,
            Action::Write { value, .. } => {
                let space = self.space(place);
                space.initiates_reset(request.register, value, request.first_be)
            }
        };
        packets.release(packet);
        let id = self.id_of(place);
        let answer = match action {
            Action::Read => Header::completion_with_data(&header, id, 0, 4),
            Action::Write { .. } => Header::completion(&header, id, Status::Successful),
        };
        let answer = answer.expect("a configuration request is non-posted");
        let value = value.to_le_bytes();
        let data = if action == Action::Read {
            &value[..]
        } else {
            &[]
        };
        let completion = packets.make(answer, stamp, data);
        Served {
            completion,
            written: action != Action::Read,
            initiates_reset,
            retrains_link,
        }
    }

    /// Drops `packet` at the function at `place`, and records the error there. The caller sends the completion, if there is one.
    pub fn refuse<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        why: Refusal,
        fx: &mut Effects<'_, C>,
    ) -> Option<PacketId> {
        self.record_refusal(place, packet, why, fx);
        refuse(packet, self.id_of(place), why, fx)
    }

    /// Records that the function at `place` drops `packet`.
    pub fn record_refusal<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        why: Refusal,
        fx: &mut Effects<'_, C>,
    ) {
        let packet = &fx.store()[packet];
        let header = logged(packet);
        let answered = packet.header().class() == Class::NonPosted;
        if why == Refusal::PoisonedTlp {
            self.record_parity_error(place);
        }
        self.record(place, why, (Some(header), answered), fx);
    }

    /// Records an error in a packet with this header that the engine of the function at `place` has detected.
    pub fn record_detected<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        why: Refusal,
        (header, is_answered): (&[u8], bool),
        fx: &mut Effects<'_, C>,
    ) {
        if why == Refusal::PoisonedTlp {
            self.record_parity_error(place);
        }
        let header = Some(Logged::of(header, None));
        self.record(place, why, (header, is_answered), fx);
    }

    /// Records that a poisoned packet has arrived at the function at `place`, which does not drop it. The error is advisory if the function
    /// only forwards the packet, or keeps its data marked as poisoned (PCIe Base 6.2.3.2.4.2, 6.2.3.2.4.3).
    pub fn record_poison<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        packet: PacketId,
        is_advisory: bool,
        fx: &mut Effects<'_, C>,
    ) {
        let header = Some(logged(&fx.store()[packet]));
        self.record_parity_error(place);
        let error = UncorrectableError::PoisonedTlp;
        self.record_error(place, (error, is_advisory), header, fx);
    }

    /// Records that a poisoned packet has arrived. A downstream port receives it at its secondary side.
    fn record_parity_error(&mut self, place: FunctionPlace) {
        let is_secondary = matches!(place, FunctionPlace::Port(_));
        self.space_mut(place).record_poison(is_secondary);
    }

    /// Records that the function at `place` has received poisoned data that it had requested, or sends poisoned data.
    pub fn record_data_parity_error(&mut self, place: FunctionPlace) {
        self.space_mut(place).record_data_parity_error();
    }

    /// Records a completion timeout at the function at `place`.
    pub fn record_timeout<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        fx: &mut Effects<'_, C>,
    ) {
        self.record(place, Refusal::CompletionTimeout, (None, false), fx);
    }

    /// Records an error. The arguments include the header to log, and whether the packet has a completion that notifies the requester.
    fn record<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        why: Refusal,
        (header, answered): (Option<Logged>, bool),
        fx: &mut Effects<'_, C>,
    ) {
        let (error, advisory) = match why {
            // The requester is notified by a completion with error status (PCIe Base 6.2.3.2.4.1).
            Refusal::UnsupportedRequest | Refusal::NotForwarded(_) => {
                (UncorrectableError::UnsupportedRequest, answered)
            }
            Refusal::AcsViolation => (UncorrectableError::AcsViolation, answered),
            Refusal::AtomicEgressBlocked => {
                (UncorrectableError::AtomicEgressBlocked, answered)
            }
            Refusal::PrefixBlocked => (UncorrectableError::PrefixBlocked, answered),
            Refusal::MalformedTlp => (UncorrectableError::MalformedTlp, false),
            Refusal::PoisonedTlp => (UncorrectableError::PoisonedTlp, false),
            // The requester is notified by the completion (PCIe Base 6.2.3.2.4.1).
            Refusal::CompleterAbort => (UncorrectableError::CompleterAbort, answered),
            Refusal::EcrcError => (UncorrectableError::EcrcError, false),
            // An unexpected completion is an advisory error (PCIe Base 6.2.3.2.4.5).
            Refusal::UnexpectedCompletion => (UncorrectableError::UnexpectedCompletion, true),
            Refusal::CompletionTimeout => (UncorrectableError::CompletionTimeout, false),
            // These reasons do not exist in PCI Express.
            Refusal::BitErrors
            | Refusal::SeveredFibre
            | Refusal::Unacknowledged
            | Refusal::Overflow
            // A function in reset drops packets without an error (PCIe Base 6.6.2).
            | Refusal::InReset
            // Packets that are dropped at a contained port are not recorded as errors (PCIe Base 2.9.3).
            | Refusal::Contained
            | Refusal::Nic(_) => return,
        };
        self.record_error(place, (error, advisory), header, fx);
    }

    fn record_error<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        (error, advisory): (UncorrectableError, bool),
        header: Option<Logged>,
        fx: &mut Effects<'_, C>,
    ) {
        let control = self.error_control_of(place);
        let record = ErrorRecord {
            error,
            header: header.map(|logged| logged.header),
            prefix: header.and_then(|logged| logged.prefix),
            advisory,
        };
        let detected = self.space_mut(place).record(&record, control);
        self.report_detected(place, error, detected, fx);
    }

    /// Reports an error that was recorded at `place`. It is always added to the log. A message is also sent if the registers require it and
    /// no port contains the error.
    fn report_detected<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        error: UncorrectableError,
        detected: Detected,
        fx: &mut Effects<'_, C>,
    ) {
        let what = Incident::Uncorrectable(error, detected);
        fx.observe(Observation::incident(self.site(place), what));
        if !self.contain_error(place, error, detected.severity) && detected.is_reported {
            self.report(place, detected.severity);
        }
    }

    fn report(&mut self, place: FunctionPlace, severity: Severity) {
        self.reports.push_back(ErrorReport { place, severity });
    }

    /// The error control registers of the function at `place`. A virtual function uses the registers of its physical function (PCIe Base
    /// 9.4.2).
    fn error_control_of(&self, place: FunctionPlace) -> ErrorControl {
        match place {
            FunctionPlace::Virtual(_) => self.own.error_control(),
            FunctionPlace::Own | FunctionPlace::Port(_) => self.space(place).error_control(),
        }
    }

    /// Records an internal error of the function at `place`, and returns its report. None if software has not enabled messages about these
    /// errors.
    pub fn own_error<C: Component<Traffic = Pcie>>(
        &mut self,
        place: FunctionPlace,
        severity: Severity,
        fx: &mut Effects<'_, C>,
    ) -> Option<ErrorReport> {
        let control = self.error_control_of(place);
        let detected = self.space_mut(place).record_own_error(severity, control);
        let what = match severity {
            Severity::Correctable => Incident::Correctable(CorrectableError::Internal),
            Severity::NonFatal | Severity::Fatal => {
                Incident::Uncorrectable(UncorrectableError::Internal, detected)
            }
        };
        let site = self.site(place);
        fx.observe(Observation::Incident { site, what });
        detected
            .is_reported
            .then_some(ErrorReport { place, severity })
    }

    /// Removes and returns the next error to report. The component sends the message.
    pub fn take_report(&mut self) -> Option<ErrorReport> {
        self.reports.pop_front()
    }

    /// The message that reports an error of a function of this component.
    pub fn error_message(&self, report: ErrorReport, packets: &mut Packets) -> PacketId {
        let header = Header::message(self.id_of(report.place), Message::Error(report.severity));
        packets.make(header, Stamp::default(), &[])
    }

    /// Handles an error message of `source` that arrived from below the bridge at `place`. Returns whether the message is forwarded (PCIe
    /// Base 6.2.6). It is not forwarded if the port contains the error (PCIe Base 6.2.10).
    pub fn forwards_error(
        &mut self,
        place: FunctionPlace,
        (severity, source): (Severity, FunctionId),
    ) -> bool {
        if self.contain(place, TriggerReason::Message(severity, source)) {
            return false;
        }
        self.space_mut(place).forwards_error(severity)
    }

    /// Records an error message of `source` in the root error registers of the root port at `place`.
    pub fn record_error_message(
        &mut self,
        place: FunctionPlace,
        severity: Severity,
        source: FunctionId,
    ) {
        self.space_mut(place).record_error_message(severity, source);
    }

    /// The function of the port with this number, if it has one.
    pub fn place_of_port(&self, port: usize) -> Option<FunctionPlace> {
        match self.role {
            Role::Root => (port < self.ports.len()).then_some(FunctionPlace::Port(port)),
            Role::Device | Role::Switch => match port.checked_sub(1) {
                None => Some(FunctionPlace::Own),
                Some(index) => (index < self.ports.len()).then_some(FunctionPlace::Port(index)),
            },
        }
    }

    /// The name of the function at `place` in the log of incidents.
    pub fn site(&self, place: FunctionPlace) -> Site {
        match (self.role, place) {
            (Role::Root, FunctionPlace::Own) => Site::Node,
            (Role::Root, FunctionPlace::Port(index)) => Site::Port(index as u16),
            (_, FunctionPlace::Own) => Site::Port(0),
            (_, FunctionPlace::Port(index)) => Site::Port(index as u16 + 1),
            (_, FunctionPlace::Virtual(number)) => Site::Virtual(number as u16),
        }
    }

    /// Records in the status register of the requester that its request was completed with an error.
    pub fn record_abort(&mut self, completion: &Completion) {
        let place = self.place_of(completion.requester);
        let space = self.space_mut(place.unwrap_or(FunctionPlace::Own));
        match completion.status {
            Status::UnsupportedRequest => space.record_master_abort(),
            Status::CompleterAbort => space.record_target_abort(),
            _ => {}
        }
    }

    /// Performs a function level reset of the function at `place`. A reset of a physical function removes its virtual functions (PCIe Base
    /// 9.2.2.2).
    pub fn function_level_reset(&mut self, place: FunctionPlace) {
        self.space_mut(place).function_level_reset();
        if place == FunctionPlace::Own {
            self.virtual_spaces.apply_registers(&mut self.own);
        }
    }

    /// Performs a hot reset of a device or switch. Registers return to their values after reset, except sticky registers. Virtual functions
    /// are removed, and the links of downstream ports go down (PCIe Base 6.6.1).
    pub fn hot_reset(&mut self) {
        self.reset_all(ConfigSpace::hot_reset);
    }

    /// Performs a reset of a device or switch that has lost its power. Sticky registers are also reset.
    pub fn cold_reset(&mut self) {
        self.reset_all(ConfigSpace::cold_reset);
    }

    fn reset_all(&mut self, reset: impl Fn(&mut ConfigSpace)) {
        self.id = FunctionId::default();
        reset(&mut self.own);
        self.virtual_spaces.apply_registers(&mut self.own);
        for port in &mut self.ports {
            reset(&mut port.space);
        }
        self.reports.clear();
    }
}

/// The bits of an ID that contain the function number with ARI.
const FUNCTION_WITH_ARI: u16 = 0xff;

/// The header of a packet in the format of the header log, and the prefix before it.
#[derive(Clone, Copy)]
struct Logged {
    header: [u8; 16],
    prefix: Option<Pasid>,
}

fn logged(packet: &Packet) -> Logged {
    Logged::of(packet.header_behind_prefix(), packet.header().pasid)
}

impl Logged {
    fn of(bytes: &[u8], prefix: Option<Pasid>) -> Self {
        let mut header = [0; 16];
        let length = bytes.len().min(header.len());
        header[..length].copy_from_slice(&bytes[..length]);
        Logged { header, prefix }
    }
}

/// Whether the bus of `id` is below `bridge`.
fn is_below(bridge: &ConfigSpace, id: FunctionId) -> bool {
    let (secondary, subordinate) = bridge.buses();
    (secondary..=subordinate).contains(&id.bus())
}

/// The configuration request and the operation that a packet's header and payload describe.
fn asked(header: &Header, payload: &[u8]) -> (ConfigRequest, Action) {
    match &header.kind {
        Kind::ConfigRead(request) => (*request, Action::Read),
        Kind::ConfigWrite(request) => {
            let value = payload.first_chunk::<4>().copied();
            let action = Action::Write {
                value: value.map_or(0, u32::from_le_bytes),
                enables: request.first_be,
            };
            (*request, action)
        }
        _ => panic!("only configuration requests can be executed"),
    }
}

/// Changes the type of the configuration request `packet` to `kind`. Returns the same packet, or a copy that replaces it.
pub fn retype(packet: PacketId, kind: ConfigKind, packets: &mut Packets) -> PacketId {
    let mut header = *packets[packet].header();
    match &mut header.kind {
        Kind::ConfigRead(request) | Kind::ConfigWrite(request) if request.kind != kind => {
            request.kind = kind;
        }
        _ => return packet,
    }
    packets.rewritten(packet, header)
}

#[cfg(test)]
mod tests;
