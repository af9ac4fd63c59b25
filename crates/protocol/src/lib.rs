//! The rules of the specifications: packets of PCI Express, their checksums, ordering and link timing; frames on optical links.
//!
//! The crate has no clock, and no state except the registers of a configuration space. Every other crate takes its numbers and its
//! packet formats from here, so each rule of the specification is written once.

mod atomic;
pub mod aurora;
mod class;
pub mod coherence;
mod completion;
mod config;
mod crc;
mod dllp;
mod enumerated;
mod envelope;
mod error;
mod generation;
mod id;
mod message;
mod network;
mod ordering;
mod pasid;
mod request;
mod tlp;
mod translation;
mod wire;

pub use atomic::{AtomicOperation, AtomicRequest};
pub use class::{Attributes, Class, PerClass, TrafficClass};
pub use completion::{Completion, Status};
pub use config::{
    AccessService, AddressSpaces, AddressTranslation, Arbitration, Ats, Bar, BridgeFunction,
    ChannelControl, ChannelsControl, CompletionTimeout, ConfigSpace, CorrectableError,
    DataLinkFeatures, Detected, EndpointFunction, ErrorControl, ErrorRecord, Express, Identity,
    Interval, LinkHold, MOST_CHANNELS, MsixTable, PageRequests, PasidControl, PortType, Severity,
    Signalling, SrIov, TriggerReason, UncorrectableError, VirtualBar, VirtualChannels,
    WINDOW_BYTES, register,
};
pub use crc::{dllp_crc, ecrc, lcrc};
pub use dllp::{Credit, DLLP_BYTES, Dllp, DllpError, Scale};
pub use envelope::{Content, Envelope, EnvelopeError};
pub use error::TlpError;
pub use generation::{Generation, SIMPLIFIED_REPLAY_TIMER, SkipOrderedSet, lanes_exist};
pub use id::{FunctionId, NotAFunction, Tag};
pub use message::{Message, MessageRequest, MessageRouting};
pub use network::{NetworkError, NetworkHeader, PacketType, QueuePairId};
pub use ordering::{Passing, Row, may_pass};
pub use pasid::Pasid;
pub use request::{AddressType, ConfigKind, ConfigRequest, MemoryRequest};
pub use tlp::{Header, Kind, MAX_TLP_OVERHEAD, TLP_FRAMING};
pub use translation::{
    Access, CompletionCount, InvalidateTag, InvalidateTags, Invalidation, Page, PageGroup,
    PageRange, PageRequest, PageResponse, Translation,
};
