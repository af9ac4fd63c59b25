//! Policies by which a port sends Acks and UpdateFCs: as many as the packets that cause them, or fewer, because a later one stands for
//! the earlier ones.

kernel::choices! {
    /// How soon a DLLP is sent that a later one of its kind would replace.
    pub enum DllpPolicy {
        /// One for each packet, even if several wait for the wire.
        AtOnce = "at-once",
        /// As soon as the wire is free; while the wire is busy, a newer one replaces the one that waits.
        Merged = "merged",
        /// At a share of the limit or of the buffer, or after a number of packets, as other parameters say.
        Share = "share",
        /// As late as the specification permits.
        Limit = "limit",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AckRule {
    /// The latest time of an Ack, as a fraction of the latency limit.
    pub(crate) limit_fraction: f64,
    /// The number of packets after which an Ack is due; 0 for no such number.
    pub(crate) packets: u32,
    /// Whether each packet has an Ack of its own.
    pub(crate) is_each: bool,
}

/// The UpdateFCs of a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UpdateRule {
    /// The share of the buffer for headers, or of the buffer for data, whose release makes an UpdateFC due.
    pub(crate) share: f64,
    /// The number of packets whose release makes an UpdateFC due; 0 for no such number.
    pub(crate) packets: u16,
    /// Whether each packet has an UpdateFC of its own.
    pub(crate) is_each: bool,
}

impl DllpPolicy {
    /// The Acks by this policy, with the numbers of the policy share.
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

    /// The UpdateFCs by this policy, with the numbers of the policy share.
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
