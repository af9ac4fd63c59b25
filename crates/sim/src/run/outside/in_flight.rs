//! The accesses from outside that are in flight.

use packet::FlowId;

use crate::meters::meter::Meter;

/// An access that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) struct InFlight {
    pub(in crate::run) node: usize,
    pub(in crate::run) flow: FlowId,
    pub(in crate::run) address: u64,
}

#[derive(Debug, Default)]
pub(in crate::run) struct Accesses {
    all: Vec<InFlight>,
    /// The number of ends of flows when all accesses were last checked.
    checked_at: u64,
    /// The number of ends of flows when accesses were last taken.
    taken_at: u64,
}

impl Accesses {
    pub(in crate::run) fn add(&mut self, access: InFlight) {
        self.all.push(access);
    }

    pub(in crate::run) fn take_ended(&mut self, meter: &Meter) -> Vec<InFlight> {
        if std::mem::replace(&mut self.taken_at, meter.ends()) == meter.ends() {
            return Vec::new();
        }
        let all = std::mem::take(&mut self.all);
        let (ended, left) = all
            .into_iter()
            .partition(|one| meter.flow(one.flow).is_closed());
        self.all = left;
        ended
    }

    /// Whether an access has ended and was not taken. All of them are checked only after an end of some flow.
    pub(in crate::run) fn any_has_ended(&mut self, meter: &Meter) -> bool {
        if std::mem::replace(&mut self.checked_at, meter.ends()) == meter.ends() {
            return false;
        }
        let mut all = self.all.iter();
        all.any(|one| meter.flow(one.flow).is_closed())
    }
}
