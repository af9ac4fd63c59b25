//! The way to the crossbar: packets that wait for room there, one on the way at a time.

use std::collections::VecDeque;

use kernel::{Span, Time};
use packet::{BusFrame, PacketId, Packets, Room};

/// A queue for each virtual channel.
#[derive(Clone, Debug)]
pub(super) struct Bus {
    channels: Vec<Channel>,
    cycle: Span,
    free_at: Time,
    /// The channel after the one that last sent.
    turn: usize,
}

#[derive(Clone, Debug)]
struct Channel {
    /// Packets, with their words and the time from which they may go.
    waiting: VecDeque<(Time, PacketId, u16)>,
    /// Words that the far end has room for.
    room: u32,
}

impl Bus {
    /// A bus of so many channels, each with room for `words` words of 16 bytes at the far end.
    pub(super) fn new(channels: usize, words: u32, cycle: Span) -> Self {
        let channel = Channel {
            waiting: VecDeque::new(),
            room: words,
        };
        Self {
            channels: vec![channel; channels],
            cycle,
            free_at: Time::ZERO,
            turn: 0,
        }
    }

    /// Whether one more packet may wait for `channel`.
    pub(super) fn is_open(&self, channel: u8) -> bool {
        self.channels[usize::from(channel)].waiting.len() < AHEAD
    }

    /// A packet waits for `channel`, ready to go at `ready`.
    pub(super) fn push(&mut self, channel: u8, packet: PacketId, ready: Time, packets: &Packets) {
        let words = words(packet, packets);
        let waiting = &mut self.channels[usize::from(channel)].waiting;
        waiting.push_back((ready, packet, words));
    }

    /// The far end has room again.
    pub(super) fn free(&mut self, room: Room) {
        self.channels[usize::from(room.channel)].room += u32::from(room.words);
    }

    /// The packet that goes at `now`, and when all of it has gone.
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

    /// When the next packet may go that has room and may not go at `now`.
    pub(super) fn due_after(&self, now: Time) -> Time {
        let firsts = self.channels.iter().filter_map(|channel| {
            let (ready, _, words) = channel.waiting.front()?;
            (u32::from(*words) <= channel.room).then_some((*ready).max(self.free_at))
        });
        firsts.filter(|due| *due > now).min().unwrap_or(Time::NEVER)
    }
}

/// Words of 16 bytes that a packet takes on the bus.
pub(super) fn words(packet: PacketId, packets: &Packets) -> u16 {
    packets[packet].bytes().len().div_ceil(16) as u16
}

/// Packets that wait for a channel at a time: one behind the one that goes.
const AHEAD: usize = 2;
