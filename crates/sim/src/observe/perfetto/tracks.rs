//! The tracks of a trace: their numbers, names and order.

use protocol::Class;

use crate::observe::capture::names::{DirectionId, Names};
use crate::observe::capture::words;

use super::messages::{
    CounterDescriptor, EXPLICIT, SEQUENCE, TracePacket, TrackDescriptor, append,
};

/// A track of one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Track {
    /// A slice for each transmission.
    Wire,
    /// The number of TLPs that wait for the wire.
    Waiting,
    /// The packets in the replay buffer, in bytes on the wire.
    ReplayBuffer,
    /// The credit that the transmitter may still send.
    Credit {
        channel: u8,
        class: Class,
        is_data: bool,
    },
}

/// The number of the track above all others.
const ROOT: u64 = 1;

/// The tracks of a direction have neighbouring numbers, of which this is how many there may be.
pub(super) const EACH: usize = 64;

/// The numbers of tracks that hold both directions of a link.
const LINKS: u64 = 1 << 40;

impl Track {
    /// The place among the tracks of a direction.
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

    /// The number of the track in a direction.
    pub(super) fn uuid(self, direction: DirectionId) -> u64 {
        ((direction.0 + 1) * EACH + self.place()) as u64
    }

    /// The name after that of the direction, and the unit of a counter.
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
                let name = format!(" {} {kind} credits{of}", words::class(class));
                (name, Some("credits"))
            }
        }
    }

    /// Appends the description of the track.
    pub(super) fn describe(self, direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
        let at = names.direction(direction);
        let (what, unit) = self.words();
        let rank = direction.0 % 2 * EACH + self.place();
        let track = TrackDescriptor {
            uuid: Some(self.uuid(direction)),
            parent_uuid: Some(link(direction)),
            name: Some(format!("{} {}{what}", at.link, at.name)),
            counter: unit.map(|unit| CounterDescriptor {
                unit_name: Some(unit.to_owned()),
            }),
            sibling_order_rank: i32::try_from(rank).ok(),
            ..TrackDescriptor::default()
        };
        append(&packet(track), out);
    }
}

/// The number of the track that holds both directions of a link.
fn link(direction: DirectionId) -> u64 {
    LINKS + direction.0 as u64 / 2
}

/// Appends the description of the track that holds all others.
pub(super) fn describe_root(name: &str, description: &str, out: &mut Vec<u8>) {
    let track = TrackDescriptor {
        uuid: Some(ROOT),
        name: Some(name.to_owned()),
        description: Some(description.to_owned()),
        child_ordering: Some(EXPLICIT),
        ..TrackDescriptor::default()
    };
    append(&packet(track), out);
}

/// Appends the description of the track that holds both directions of a link.
pub(super) fn describe_link(direction: DirectionId, names: &Names, out: &mut Vec<u8>) {
    let track = TrackDescriptor {
        uuid: Some(link(direction)),
        parent_uuid: Some(ROOT),
        name: Some(names.direction(direction).link.clone()),
        child_ordering: Some(EXPLICIT),
        sibling_order_rank: i32::try_from(direction.0 / 2).ok(),
        ..TrackDescriptor::default()
    };
    append(&packet(track), out);
}

fn packet(track: TrackDescriptor) -> TracePacket {
    TracePacket {
        trusted_packet_sequence_id: Some(SEQUENCE),
        track_descriptor: Some(track),
        ..TracePacket::default()
    }
}
