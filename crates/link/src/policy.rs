//! The policies by which a port sends Acks and UpdateFCs. A port can send a DLLP for each packet, or fewer DLLPs, because a later one
//! replaces earlier ones.

kernel::choices! {
    /// The time at which an Ack or an UpdateFC is sent. A later DLLP of the same kind can replace it.
    pub enum DllpPolicy {
        /// A separate DLLP is sent for each packet, even if several packets wait for the wire.
        AtOnce = "at-once",
        /// A DLLP is sent as soon as the wire is free. While the wire is busy, a newer DLLP replaces the DLLP that waits.
        Merged = "merged",
        /// A DLLP is sent at a share of the limit or of the buffer, or after a number of packets, according to other parameters.
        Share = "share",
        /// A DLLP is sent as late as the specification permits.
        Limit = "limit",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AckRule {
    /// The latest time at which an Ack is sent, as a fraction of the latency limit.
    pub(crate) limit_fraction: f64,
    /// The number of packets after which an Ack is due, or 0 if the number of packets does not matter.
    pub(crate) packets: u32,
    /// Whether a separate Ack is sent for each packet.
    pub(crate) is_each: bool,
}

/// The rule by which a port sends UpdateFCs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UpdateRule {
    /// The share of the header buffer or of the data buffer that must be free for an UpdateFC to be due.
    pub(crate) share: f64,
    /// The number of freed packets that makes an UpdateFC due, or 0 if the number of packets does not matter.
    pub(crate) packets: u16,
    /// Whether a separate UpdateFC is sent for each packet.
    pub(crate) is_each: bool,
}

impl DllpPolicy {
    /// The rule for Acks under this policy. The arguments are the settings of the policy share.
    pub(crate) fn ack_rule(self, limit_fraction: f64, packets: u32) -> AckRule {
        let (limit_fraction, packets) = match self {
            DllpPolicy::AtOnce | DllpPolicy::Merged => (1.0, 1),
            DllpPolicy::Share => (limit_fraction, packets),
            DllpPolicy::Limit => (1.0, 0),
        };
        AckRule {
            limit_fraction,
            packets,
            is_each: self == DllpPolicy::AtOnce,
        }
    }

    /// The rule for UpdateFCs under this policy. The arguments are the settings of the policy share.
    pub(crate) fn update_rule(self, share: f64, packets: u32) -> UpdateRule {
        let (share, packets) = match self {
            DllpPolicy::AtOnce | DllpPolicy::Merged => (0.0, 0),
            DllpPolicy::Share => (share, packets as u16),
            DllpPolicy::Limit => (1.0, 0),
        };
        UpdateRule {
            share,
            packets,
            is_each: self == DllpPolicy::AtOnce,
        }
    }
}
