//! The map from traffic classes to virtual channels.

use protocol::{ChannelsControl, MOST_CHANNELS, TrafficClass};

/// The virtual channel of each traffic class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChannelMap([u8; MOST_CHANNELS]);

/// The entry of a traffic class that maps to no channel.
const NONE: u8 = u8::MAX;

impl ChannelMap {
    /// The map of a link without a Virtual Channel capability: the traffic classes map to the channels in order, and the remaining classes
    /// map to the last channel.
    pub(crate) fn in_order(channels: usize) -> Self {
        ChannelMap(std::array::from_fn(|class| class.min(channels - 1) as u8))
    }

    /// The map that control registers set. If software maps a class to two channels, which is not allowed, the lower channel is used.
    pub(crate) fn of(control: &ChannelsControl) -> Self {
        let channels = || (0_u8..).zip(&control.channels);
        ChannelMap(std::array::from_fn(|class| {
            let mut all = channels();
            let found = all.find(|(_, channel)| {
                channel
                    .as_ref()
                    .is_some_and(|channel| channel.classes >> class & 1 != 0)
            });
            found.map_or(NONE, |(id, _)| id)
        }))
    }

    /// The channel of `class`. The number is beyond the last channel if the class maps to no channel.
    pub(crate) fn channel_of(&self, class: TrafficClass) -> usize {
        usize::from(self.0[usize::from(class.number() & 7)])
    }

    /// Whether every class maps to a channel.
    pub(crate) fn is_complete(&self) -> bool {
        !self.0.contains(&NONE)
    }
}
