//! The kinds of packets, ordered sets and blocks on wires, by the abbreviations of the specifications.

use protocol::{AtomicOperation, ConfigKind, Dllp, Header, Message, PacketType, Severity};

/// Declares the kinds, each with its group and its name.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $group:ident $name:literal,)*) => {
        /// A kind of TLP, DLLP or ordered set, or a frame or control block of a fibre.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            /// The name in traces and filters.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$kind => $name,)*
                }
            }

            /// The group that the kind is in.
            pub const fn group(self) -> Group {
                match self {
                    $(Kind::$kind => Group::$group,)*
                }
            }
        }
    };
}

kinds! {
    /// Memory read request.
    MemoryRead Tlp "MRd",
    /// Memory write request.
    MemoryWrite Tlp "MWr",
    /// Fetch and add.
    FetchAdd Tlp "FetchAdd",
    /// Unconditional swap.
    Swap Tlp "Swap",
    /// Compare and swap.
    CompareAndSwap Tlp "CAS",
    /// Configuration read of type 0.
    ConfigRead0 Tlp "CfgRd0",
    /// Configuration read of type 1.
    ConfigRead1 Tlp "CfgRd1",
    /// Configuration write of type 0.
    ConfigWrite0 Tlp "CfgWr0",
    /// Configuration write of type 1.
    ConfigWrite1 Tlp "CfgWr1",
    /// Completion without data.
    Completion Tlp "Cpl",
    /// Completion with data.
    CompletionWithData Tlp "CplD",
    /// Invalidate Request message.
    InvalidateRequest Tlp "InvReq",
    /// Invalidate Completion message.
    InvalidateCompletion Tlp "InvCpl",
    /// Page Request message.
    PageRequest Tlp "PageReq",
    /// PRG Response message.
    PageGroupResponse Tlp "PrgRsp",
    /// Error message of a correctable error.
    ErrorCorrectable Tlp "ERR_COR",
    /// Error message of a non-fatal error.
    ErrorNonFatal Tlp "ERR_NONFATAL",
    /// Error message of a fatal error.
    ErrorFatal Tlp "ERR_FATAL",
    /// Message that refuses L1.
    ActiveStateNak Tlp "PM_Active_State_Nak",
    /// Coherence messages.
    Coherence Tlp "coherence",
    /// Network access packet of a controller.
    Nap Tlp "NAP",
    /// Put packet of a controller.
    Put Tlp "PUT",
    /// Get packet of a controller.
    Get Tlp "GET",
    /// Acknowledgement.
    Ack Dllp "Ack",
    /// Negative acknowledgement.
    Nak Dllp "Nak",
    /// Initial limits of credit.
    InitFc1 Dllp "InitFC1",
    /// Confirmation of the initial limits of credit.
    InitFc2 Dllp "InitFC2",
    /// Later limits of credit.
    UpdateFc Dllp "UpdateFC",
    /// Data Link Feature.
    Feature Dllp "Feature",
    /// Request for L1.
    ActiveStateRequest Dllp "PM_Active_State_Request_L1",
    /// Acknowledgement of a request for L1.
    PowerRequestAck Dllp "PM_Request_Ack",
    /// Any other DLLP.
    OtherDllp Dllp "other",
    /// SKP ordered set.
    Skip OrderedSet "SKP",
    /// Training ordered set.
    Training OrderedSet "TS",
    /// Frame of user data on a fibre.
    Frame Frame "frame",
    /// Control block on a fibre.
    Block Block "block",
}

/// A group of kinds, named as its key in the lines of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Transaction-layer packets.
    Tlp,
    /// Data-link-layer packets.
    Dllp,
    /// Ordered sets.
    OrderedSet,
    /// Frames of fibres.
    Frame,
    /// Control blocks of fibres.
    Block,
}

impl Group {
    /// The name in traces and filters.
    pub const fn name(self) -> &'static str {
        match self {
            Group::Tlp => "tlp",
            Group::Dllp => "dllp",
            Group::OrderedSet => "ordered_set",
            Group::Frame => "frame",
            Group::Block => "block",
        }
    }
}

impl Kind {
    pub fn of_tlp(header: &Header) -> Self {
        match &header.kind {
            protocol::Kind::MemoryRead(_) => Kind::MemoryRead,
            protocol::Kind::MemoryWrite(_) => Kind::MemoryWrite,
            protocol::Kind::Atomic(atomic) => match atomic.operation() {
                AtomicOperation::FetchAdd => Kind::FetchAdd,
                AtomicOperation::Swap => Kind::Swap,
                AtomicOperation::CompareAndSwap => Kind::CompareAndSwap,
            },
            protocol::Kind::ConfigRead(request) => match request.kind {
                ConfigKind::Type0 => Kind::ConfigRead0,
                ConfigKind::Type1 => Kind::ConfigRead1,
            },
            protocol::Kind::ConfigWrite(request) => match request.kind {
                ConfigKind::Type0 => Kind::ConfigWrite0,
                ConfigKind::Type1 => Kind::ConfigWrite1,
            },
            protocol::Kind::Completion(completion) if completion.dwords == 0 => Kind::Completion,
            protocol::Kind::Completion(_) => Kind::CompletionWithData,
            protocol::Kind::Message(request) => match request.message {
                Message::InvalidateRequest { .. } => Kind::InvalidateRequest,
                Message::InvalidateCompletion { .. } => Kind::InvalidateCompletion,
                Message::PageRequest(_) => Kind::PageRequest,
                Message::PageGroupResponse { .. } => Kind::PageGroupResponse,
                Message::Error(Severity::Correctable) => Kind::ErrorCorrectable,
                Message::Error(Severity::NonFatal) => Kind::ErrorNonFatal,
                Message::Error(Severity::Fatal) => Kind::ErrorFatal,
                Message::ActiveStateNak => Kind::ActiveStateNak,
            },
            protocol::Kind::Coherence(_) => Kind::Coherence,
            protocol::Kind::Network(network) => match network.packet_type {
                PacketType::Nap => Kind::Nap,
                PacketType::Put => Kind::Put,
                PacketType::Get => Kind::Get,
            },
        }
    }

    /// The kind of a DLLP. `None` stands for a DLLP with wrong or unknown content.
    pub fn of_dllp(dllp: Option<&Dllp>) -> Self {
        match dllp {
            Some(Dllp::Ack { .. }) => Kind::Ack,
            Some(Dllp::Nak { .. }) => Kind::Nak,
            Some(Dllp::InitFc1(_)) => Kind::InitFc1,
            Some(Dllp::InitFc2(_)) => Kind::InitFc2,
            Some(Dllp::UpdateFc(_)) => Kind::UpdateFc,
            Some(Dllp::Feature { .. }) => Kind::Feature,
            Some(Dllp::ActiveStateRequest) => Kind::ActiveStateRequest,
            Some(Dllp::PowerRequestAck) => Kind::PowerRequestAck,
            None => Kind::OtherDllp,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u64);

impl Kinds {
    pub const NONE: Kinds = Kinds(0);

    /// The kinds that `name` stands for, which is the name of a kind or of a group. Upper and lower case are equivalent.
    pub fn named(name: &str) -> Option<Self> {
        let named = Kind::ALL.iter().filter(|kind| {
            let names = [kind.name(), kind.group().name()];
            names.iter().any(|one| one.eq_ignore_ascii_case(name))
        });
        let found = named.fold(0, |set, kind| set | 1 << *kind as u32);
        (found != 0).then_some(Kinds(found))
    }

    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Kinds(self.0 | other.0)
    }

    pub fn contains(self, kind: Kind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_kind_and_a_group_for_its_kinds() {
        let only = Kinds::named("mwr").expect("MWr is a kind");
        let members = |set: Kinds| {
            let all = Kind::ALL.iter();
            all.filter(|kind| set.contains(**kind))
                .map(|kind| kind.name())
                .collect::<Vec<_>>()
        };
        assert_eq!(members(only), ["MWr"]);
        let dllps = Kinds::named("dllp").expect("there are DLLPs");
        assert_eq!(members(dllps).first(), Some(&"Ack"));
        assert_eq!(members(dllps).len(), 9);
        assert_eq!(members(only.and(dllps)).len(), 10);
        assert_eq!(Kinds::named("write"), None);
    }
}
