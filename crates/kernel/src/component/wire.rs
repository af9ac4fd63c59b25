//! The wires from the ports of components.

use super::{COUNT_BITS, ComponentId, Rank};
use crate::{Span, Time, prefetch};

/// A wire from one port to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) to: Rank,
    pub(super) delay: Span,
    /// The time at which all frames sent so far have arrived.
    pub(super) empty_at: Time,
    /// The number of frames sent since the wire was last empty.
    count: u32,
    /// Whether the wire leads into another region of a divided world.
    pub(super) leaves: bool,
}

impl Wire {
    pub(super) fn new((component, port): (ComponentId, u32), delay: Span) -> Self {
        Wire {
            to: Rank::frame(component, port),
            delay,
            empty_at: Time::ZERO,
            count: 0,
            leaves: false,
        }
    }

    /// Returns the rank of a frame that is sent at `now` and arrives at `arrival`. Frames that arrive at the same time keep the
    /// order in which they were sent.
    ///
    /// The count restarts when the wire is empty. The count also wraps after 2^30 frames without an empty wire, which takes many simulated
    /// seconds. If frames then arrive at the same time, the frames after the wrap are ordered before the frames that were sent earlier.
    #[inline]
    pub(super) fn rank(&mut self, now: Time, arrival: Time) -> Rank {
        let count = if now > self.empty_at { 0 } else { self.count };
        self.count = (count + 1) & ((1 << COUNT_BITS) - 1);
        self.empty_at = self.empty_at.max(arrival);
        self.to.after(count)
    }
}

/// The wires from the ports of one component, by the number of the port. Most packets leave by port 0, the upstream port, so its wire is
/// stored without a pointer.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub(super) struct Wires {
    first: Option<Wire>,
    others: Vec<Option<Wire>>,
}

impl Wires {
    pub(super) fn lay(&mut self, port: u32, wire: Wire) {
        let Some(other) = port.checked_sub(1) else {
            self.first = Some(wire);
            return;
        };
        let other = other as usize;
        if self.others.len() <= other {
            self.others.resize(other + 1, None);
        }
        self.others[other] = Some(wire);
    }

    pub(super) fn at(&self, port: u32) -> Option<&Wire> {
        match port {
            0 => self.first.as_ref(),
            _ => self.others.get(port as usize - 1)?.as_ref(),
        }
    }

    #[inline]
    pub(super) fn at_mut(&mut self, port: u32) -> Option<&mut Wire> {
        match port {
            0 => self.first.as_mut(),
            _ => self.others.get_mut(port as usize - 1)?.as_mut(),
        }
    }

    /// The wires with the numbers of their ports.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Wire)> {
        let all = (0..).zip([&self.first].into_iter().chain(&self.others));
        all.filter_map(|(port, wire)| Some((port, wire.as_ref()?)))
    }

    /// Begins to load the wire at a port other than port 0. The pointer to the wires of these ports is already loaded.
    pub(super) fn prefetch(&self, port: u32) {
        let other = port
            .checked_sub(1)
            .and_then(|other| self.others.get(other as usize));
        if let Some(wire) = other {
            prefetch(wire, 0..size_of_val(wire));
        }
    }
}
