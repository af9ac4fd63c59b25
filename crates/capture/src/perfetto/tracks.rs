//! The tracks of a trace: their numbers, names and order.

use protocol::Class;

use super::message::Message;
use super::{PACKET, SEQUENCE, SEQUENCE_ID};
use crate::fields;
use crate::names::{DirectionId, Names};

/// A track of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Track {
    /// The track with a slice for each transmission.
    Wire,
    /// The number of TLPs that wait for the wire.
    Waiting,
    /// The fill level of the replay buffer, in bytes on the wire.
    ReplayBuffer,
    /// The credit that is left to the transmitter.
    Credit {
        channel: u8,
        class: Class,
        is_data: bool,
    },
}

const ROOT: u64 = 1;

/// The maximum number of tracks of one direction. Their numbers are consecutive.
pub(super) const EACH: usize = 64;

/// The first number of the tracks that contain both directions of a link.
const LINKS: u64 = 1 << 40;

impl Track {
    /// The index of the track among the tracks of its direction.
    pub(super) fn place(self) -> usize {
        match self {
            Track::Wire => 0,
            Track::Waiting => 1,
            Track::ReplayBuffer => 2,
            Track::Credit {
                channel,
                class,
                is_data,
            } => 3 + usize::from(channel) * 6 + class.index() * 2 + usize::from(is_data),
        }
    }

    pub(super) fn uuid(self, direction: DirectionId) -> u64 {
        ((direction.0 + 1) * EACH + self.place()) as u64
    }

    /// The text that is appended to the name of the direction, and the unit if the track is a counter.
    fn words(self) -> (String, Option<&'static str>) {
        match self {
            Track::Wire => (String::new(), None),
            Track::Waiting => (" waiting TLPs".to_owned(), Some("TLPs")),
            Track::ReplayBuffer => (" replay buffer".to_owned(), Some("bytes")),
            Track::Credit {
                channel,
                class,
                is_data,
            } => {
                let kind = if is_data { "data" } else { "header" };
                let of = match channel {
                    0 => String::new(),
                    other => format!(" VC{other}"),
                };
                let name = format!(" {} {kind} credits{of}", fields::class(class));
                (name, Some("credits"))
            }
        }
    }

    /// Appends the description of the track.
    pub(super) fn describe(self, direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
        let at = names.direction(direction);
        let (what, unit) = self.words();
        append(out, |track| {
            track.uint(UUID, self.uuid(direction));
            track.text(NAME, &format!("{} {}{what}", at.link, at.name));
            track.uint(PARENT, link(direction));
            if let Some(unit) = unit {
                track.message::<1>(COUNTER, |counter| {
                    counter.text(6, unit);
                });
            }
            track.uint(RANK, (direction.0 % 2 * EACH + self.place()) as u64);
        });
    }
}

/// The number of the track that contains both directions of a link.
fn link(direction: DirectionId) -> u64 {
    LINKS + direction.0 as u64 / 2
}

/// Appends the description of the track that contains all other tracks.
pub(super) fn describe_root(name: &str, description: &str, out: &mut Vec<u8>) {
    append(out, |track| {
        track.uint(UUID, ROOT).text(NAME, name);
        track.uint(ORDERING, EXPLICIT);
        track.text(DESCRIPTION, description);
    });
}

/// Appends the description of the track that contains both directions of a link.
pub(super) fn describe_link(direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
    append(out, |track| {
        track.uint(UUID, link(direction));
        track.text(NAME, &names.direction(direction).link);
        track.uint(PARENT, ROOT).uint(ORDERING, EXPLICIT);
        track.uint(RANK, direction.0 as u64 / 2);
    });
}

/// Appends a packet with the description of a track.
fn append(out: &mut Vec<u8>, describe: impl FnOnce(&mut Message<'_>)) {
    Message(out).message::<1>(PACKET, |packet| {
        packet.uint(SEQUENCE_ID, SEQUENCE);
        packet.message::<1>(60, describe);
    });
}

/// Field numbers in the description of a track.
const UUID: u32 = 1;
const NAME: u32 = 2;
const PARENT: u32 = 5;
const COUNTER: u32 = 8;
const ORDERING: u32 = 11;
const RANK: u32 = 12;
const DESCRIPTION: u32 = 14;

/// The value of the field for the order of the tracks within a track: the order is explicit, by rank.
const EXPLICIT: u64 = 3;
