//! The interface to the crossbar. Packets wait until the crossbar's buffers have space, and are sent one at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use kernel::{Span, Time};
use packet::{BusFrame, PacketId, Packets, ReturnedSpace};
use protocol::QueuePairId;

/// The interface to the crossbar, with a queue for each virtual channel.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    channels: Vec<Channel>,
    /// The virtual channel for each processor.
    routes: Arc<[Option<u8>]>,
    get_channel: Option<u8>,
    cycle: Span,
    free_at: Time,
    /// The channel that is served first: the one after the channel that sent last.
    turn: usize,
}

#[derive(Clone, Debug)]
struct Channel {
    /// Waiting packets, each with its earliest send time and its length in words.
    waiting: VecDeque<(Time, PacketId, u16)>,
    /// Free words in the buffer at the crossbar.
    room: u32,
}

impl Bus {
    /// A bus with `channels` virtual channels for data, and one more for GETs if `has_get_channel`. `routes` has the channel for each processor.
    /// The crossbar has a buffer of `words` words of 16 bytes for each channel.
    pub(super) fn new(
        routes: Arc<[Option<u8>]>,
        (channels, has_get_channel): (u8, bool),
        words: u32,
        cycle: Span,
    ) -> Self {
        let channel = Channel {
            waiting: VecDeque::new(),
            room: words,
        };
        Self {
            channels: vec![channel; usize::from(channels) + usize::from(has_get_channel)],
            routes,
            get_channel: has_get_channel.then_some(channels),
            cycle,
            free_at: Time::ZERO,
            turn: 0,
        }
    }

    /// The virtual channel for packets to the processor of a queue pair; none if there is no such processor.
    pub(super) fn channel_to(&self, destination: QueuePairId) -> Option<u8> {
        let there = usize::from(destination.processor());
        self.routes.get(there).copied().flatten()
    }

    /// The virtual channel that only GETs use, if there is one.
    pub(super) fn get_channel(&self) -> Option<u8> {
        self.get_channel
    }

    /// Whether `channel` accepts another waiting packet.
    pub(super) fn is_open(&self, channel: u8) -> bool {
        self.channels[usize::from(channel)].waiting.len() < AHEAD
    }

    /// Adds a packet to `channel`. The packet may be sent from `ready` on.
    pub(super) fn push(&mut self, channel: u8, packet: PacketId, ready: Time, packets: &Packets) {
        let words = words(packet, packets);
        let waiting = &mut self.channels[usize::from(channel)].waiting;
        waiting.push_back((ready, packet, words));
    }

    /// Handles buffer space that the crossbar has returned.
    pub(super) fn free(&mut self, space: ReturnedSpace) {
        self.channels[usize::from(space.channel)].room += u32::from(space.words);
    }

    /// The packet to send at `now`, and the time at which it is completely sent.
    pub(super) fn next(&mut self, now: Time) -> Option<(BusFrame, Time)> {
        if self.free_at > now {
            return None;
        }
        let count = self.channels.len();
        for step in 0..count {
            let number = (self.turn + step) % count;
            let channel = &mut self.channels[number];
            let room = channel.room;
            let open = |one: &mut (Time, PacketId, u16)| one.0 <= now && u32::from(one.2) <= room;
            let Some((_, packet, cycles)) = channel.waiting.pop_front_if(open) else {
                continue;
            };
            channel.room -= u32::from(cycles);
            self.turn = (number + 1) % count;
            self.free_at = now + self.cycle * u64::from(cycles);
            let frame = BusFrame {
                packet,
                cycles,
                channel: number as u8,
            };
            return Some((frame, self.free_at));
        }
        None
    }

    /// The earliest time after `now` at which a packet may be sent, among the packets for which the crossbar has space.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let firsts = self.channels.iter().filter_map(|channel| {
            let (ready, _, words) = channel.waiting.front()?;
            (u32::from(*words) <= channel.room).then_some((*ready).max(self.free_at))
        });
        firsts.filter(|due| *due > now).min().unwrap_or(Time::NEVER)
    }
}

/// Length of a packet on the bus, in words of 16 bytes.
pub(super) fn words(packet: PacketId, packets: &Packets) -> u16 {
    packets[packet].bytes().len().div_ceil(16) as u16
}

/// Most packets that wait for a channel at a time.
const AHEAD: usize = 2;
