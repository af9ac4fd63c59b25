//! The counters of one direction of a link.

use std::mem::offset_of;

use kernel::Span;
use protocol::DLLP_BYTES;

use crate::WireTiming;

/// Declares a struct of counters, with a method for the difference to an earlier reading.
macro_rules! counters {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$attribute])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// The counts since an `earlier` reading of the same counters.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                $name { $($field: self.$field.saturating_sub(earlier.$field),)* }
            }
        }
    };
}
pub(crate) use counters;

counters! {
    /// The counters of one direction of a link. The counters that each packet changes are the last fields.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[repr(C)]
    pub struct Counters {
        /// The bytes of replayed and nullified TLPs only.
        pub replayed_bytes: u64,
        /// Ordered sets, in bytes over all lanes: SKP ordered sets, and one ordered set of each kind that trains the link.
        pub ordered_set_bytes: u64,
        /// The number of TLPs that were sent again.
        pub replays: u64,
        /// Time in which the wire was free and a packet waited only for credit.
        pub credit_stall: Span,
        /// Time in which the transmitter was in L0s.
        pub in_l0s: Span,
        /// Time in which the link was in L1.
        pub in_l1: Span,
        /// Number of times that the link has entered L1.
        pub l1_entries: u64,
        /// DLLPs, in bytes.
        pub dllp_bytes: u64,
        /// TLPs sent for the first time.
        pub packets: u64,
        /// Payload of TLPs sent for the first time, in bytes.
        pub payload_bytes: u64,
        /// Headers, framing and LCRC of TLPs sent for the first time, and all bytes of replayed and nullified TLPs.
        pub overhead_bytes: u64,
        /// Time in which the wire was busy, including ordered sets.
        pub busy: Span,
    }
}

impl Counters {
    /// The size of the fields that packets and their acknowledgements change. These are the last fields.
    pub(crate) const PACKETS: usize = size_of::<Counters>() - offset_of!(Counters, dllp_bytes);

    /// Adds DLLPs that were not simulated one by one.
    pub(crate) fn add_dllps(&mut self, count: u64, timing: &WireTiming) {
        self.dllp_bytes += count * u64::from(DLLP_BYTES);
        self.busy += timing.length(DLLP_BYTES) * count;
    }

    pub(crate) fn skip(&mut self, ordered_sets: u64, timing: &WireTiming) {
        let (length, bytes) = timing.skip();
        self.ordered_set_bytes += ordered_sets * u64::from(bytes);
        self.busy += length * ordered_sets;
    }
}
