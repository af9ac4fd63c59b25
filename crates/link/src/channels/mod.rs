//! The virtual channels of a link end (PCIe Base 2.5, 6.3): the map of traffic classes, the arbitration among channels, and the
//! initialisation of the flow control of channels that software enables.

mod arbiter;
mod counters;
mod ledger;
mod map;
mod negotiation;
mod per_channel;
mod phases;

pub(crate) use arbiter::Arbiter;
pub(crate) use counters::ChannelCount;
pub use counters::ChannelCounters;
pub(crate) use ledger::Ledger;
pub(crate) use map::ChannelMap;
pub(crate) use negotiation::Negotiation;
pub(crate) use per_channel::PerChannel;
pub(crate) use phases::Phases;

use protocol::Class;

/// The number of a class of a channel, counted over the classes of all channels.
pub(crate) const fn number_of(channel: usize, class: Class) -> usize {
    channel * Class::ALL.len() + class.index()
}

pub(crate) const fn channel_and_class(number: usize) -> (usize, Class) {
    let classes = Class::ALL.len();
    (number / classes, Class::ALL[number % classes])
}
