//! Frames that leave a region for another, with copies of their packets.

use std::mem;

use kernel::{Departure, Time, World};
use packet::{Frame, Packet, Packets, Pcie};

/// The frames that one region has sent to another and that have not entered the other region yet.
#[derive(Debug)]
pub(super) struct Mail {
    frames: Vec<Departure<Frame>>,
    /// Copies of the packets of the frames, in the order of the frames. After them, there are buffers of earlier copies, which are used again.
    packets: Vec<Packet>,
    copied: usize,
    /// The time of the first frame to arrive.
    earliest: Time,
    foreground: usize,
}

impl Default for Mail {
    fn default() -> Self {
        Mail {
            frames: Vec::new(),
            packets: Vec::new(),
            copied: 0,
            earliest: Time::NEVER,
            foreground: 0,
        }
    }
}

impl Mail {
    /// The time of the first frame to arrive, or [`Time::NEVER`].
    pub(super) fn earliest(&self) -> Time {
        self.earliest
    }

    /// The number of frames that are not in the background.
    pub(super) fn foreground(&self) -> usize {
        self.foreground
    }

    /// Adds a frame with a copy of its packet, and releases the packet in `store`.
    pub(super) fn take(&mut self, frame: Departure<Frame>, store: &mut Packets) {
        if let Some(packet) = frame.frame.packet() {
            if self.copied == self.packets.len() {
                self.packets.push(Packet::default());
            }
            self.packets[self.copied].copy(&store[packet]);
            self.copied += 1;
            store.release(packet);
        }
        self.earliest = self.earliest.min(frame.time());
        self.foreground += usize::from(!frame.is_in_background());
        self.frames.push(frame);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Moves all frames of another mail, with their packets, to this one.
    pub(super) fn append(&mut self, other: &mut Mail) {
        if self.is_empty() {
            return mem::swap(self, other);
        }
        self.frames.append(&mut other.frames);
        for packet in &mut other.packets[..other.copied] {
            if self.copied == self.packets.len() {
                self.packets.push(Packet::default());
            }
            mem::swap(&mut self.packets[self.copied], packet);
            self.copied += 1;
        }
        other.copied = 0;
        self.earliest = self.earliest.min(other.earliest);
        other.earliest = Time::NEVER;
        self.foreground += mem::take(&mut other.foreground);
    }

    /// Lets all frames enter the region of `world`.
    pub(super) fn enter(&mut self, world: &mut World<Pcie>) {
        let mut copies = self.packets.iter_mut();
        for mut frame in self.frames.drain(..) {
            if frame.frame.packet().is_some() {
                let copy = copies.next().expect("a frame comes with its packet");
                frame.frame = frame.frame.with_packet(world.store.admit(copy));
            }
            world.enter(frame);
        }
        self.copied = 0;
        self.earliest = Time::NEVER;
        self.foreground = 0;
    }
}
