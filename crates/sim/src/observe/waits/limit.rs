//! The rule that finds the limit of a flow from the shares of its time.

use serde::Serialize;

/// A cause for which a flow waits, in the form of results.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NamedCause {
    /// The kind: "wire", "credit", "tags", "outstanding", "replay-buffer", "datapath", "memory", "socket", "arbitration",
    /// "software", "latency" or "other".
    pub kind: &'static str,
    /// The link, the node, or the link between sockets.
    #[serde(rename = "where")]
    pub place: String,
    /// The direction of a link.
    pub direction: Option<&'static str>,
    /// For credit: the class, and whether header or data credits are missing. For arbitration: the other workload. For other kinds: a further
    /// description, if there is one.
    pub detail: Option<String>,
}

/// If a wait in a closed loop has at least this share, the share of the wires is added to it before the largest share is chosen as the limit. Closed
/// loops are the waits for credits, tags, outstanding bytes and acknowledgements, and for the engine's own work. While a flow waits in a closed loop,
/// its packets occupy wires for a part of the time; without the wait, they would occupy wires all the time.
const LEAST: f64 = 0.03;

/// If other flows occupy a wire for more than this part of a flow's time at the wire, these flows limit the flow, and not the wire itself.
const SHARED: f64 = 0.25;

/// All causes at one wire, or all causes of one kind at one place.
struct Group<'c> {
    causes: Vec<(&'c NamedCause, f64)>,
}

impl<'c> Group<'c> {
    /// The first cause, whose place is the place of all causes of the group.
    fn cause(&self) -> &'c NamedCause {
        self.causes[0].0
    }

    fn share(&self) -> f64 {
        self.causes.iter().map(|(_, share)| share).sum()
    }

    /// Whether the flow waits in a closed loop, for something that its own earlier packets still occupy. `engines` are the names of the nodes that
    /// make the requests of the flow.
    fn closes_a_loop(&self, engines: &[&str]) -> bool {
        let cause = self.cause();
        match cause.kind {
            "credit" | "tags" | "outstanding" | "replay-buffer" => true,
            // A datapath cause has a detail if, for example, the node keeps packets in its receive buffer.
            "datapath" if cause.detail.is_some() => true,
            "datapath" | "memory" => engines.contains(&cause.place.as_str()),
            _ => false,
        }
    }

    /// The cause with the largest share. If other flows occupy the wire for more than the part `SHARED` of the time, only the causes of these flows
    /// count.
    fn longest(&self) -> &'c NamedCause {
        let is_shared = |cause: &NamedCause| cause.kind == "arbitration";
        let others = self.causes.iter().filter(|(cause, _)| is_shared(cause));
        let others: f64 = others.map(|(_, share)| share).sum();
        let by_others = others > SHARED * self.share();
        let all = self.causes.iter();
        let all = all.filter(|(cause, _)| !by_others || is_shared(cause));
        let longest = all.max_by(|(_, one), (_, other)| one.total_cmp(other));
        longest.map_or(self.cause(), |(cause, _)| cause)
    }
}

fn is_of_wire(cause: &NamedCause) -> bool {
    matches!(cause.kind, "wire" | "arbitration")
}

/// Returns the limit of a flow from the `shares` of its time. `engines` are the names of the nodes that make the requests of the flow. `None` without
/// shares.
pub(super) fn limit<'c>(
    shares: impl Iterator<Item = (&'c NamedCause, f64)>,
    engines: &[&str],
) -> Option<&'c NamedCause> {
    let mut groups: Vec<Group<'c>> = Vec::new();
    for (cause, share) in shares {
        let is_with = |group: &&mut Group<'c>| {
            let other = group.cause();
            let same_kind = cause.kind == other.kind || is_of_wire(cause) && is_of_wire(other);
            same_kind && (&cause.place, cause.direction) == (&other.place, other.direction)
        };
        match groups.iter_mut().find(is_with) {
            Some(group) => group.causes.push((cause, share)),
            None => groups.push(Group {
                causes: vec![(cause, share)],
            }),
        }
    }
    let wires = groups.iter().filter(|group| is_of_wire(group.cause()));
    let on_wires: f64 = wires.map(Group::share).sum();
    let weight = |group: &Group<'c>| {
        let share = group.share();
        if share >= LEAST && group.closes_a_loop(engines) {
            share + on_wires
        } else {
            share
        }
    };
    let most = groups
        .iter()
        .max_by(|one, other| weight(one).total_cmp(&weight(other)));
    most.map(Group::longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(kind: &'static str, place: &str) -> NamedCause {
        NamedCause {
            kind,
            place: place.to_owned(),
            direction: None,
            detail: None,
        }
    }

    /// The kind and the place of the limit of a flow of engine "a".
    fn limit_of(shares: &[(&'static str, &str, f64)]) -> (&'static str, String) {
        let causes: Vec<(NamedCause, f64)> = shares
            .iter()
            .map(|(kind, place, share)| (cause(kind, place), *share))
            .collect();
        let shares = causes.iter().map(|(cause, share)| (cause, *share));
        let found = limit(shares, &["a"]).expect("there are shares");
        (found.kind, found.place.clone())
    }

    #[test]
    fn a_wire_that_is_nearly_always_busy_is_the_limit() {
        let found = limit_of(&[("wire", "h-a", 0.98), ("tags", "a", 0.02)]);
        assert_eq!(found, ("wire", "h-a".to_owned()));
    }

    #[test]
    fn what_closes_a_loop_is_the_limit_even_if_the_wire_is_busy_for_longer() {
        for kind in ["tags", "credit", "outstanding", "replay-buffer", "datapath"] {
            let found = limit_of(&[("wire", "h-a", 0.9), (kind, "a", 0.1)]);
            assert_eq!(found, (kind, "a".to_owned()));
        }
    }

    #[test]
    fn a_memory_that_is_seldom_late_is_not_the_limit() {
        let found = limit_of(&[("wire", "h-a", 0.9), ("memory", "h", 0.1)]);
        assert_eq!(found, ("wire", "h-a".to_owned()));
    }

    #[test]
    fn who_shares_a_wire_is_limited_by_the_others() {
        let equal = limit_of(&[("wire", "h-s", 0.55), ("arbitration", "h-s", 0.45)]);
        assert_eq!(equal.0, "arbitration");
        let alone = limit_of(&[("wire", "h-s", 0.9), ("arbitration", "h-s", 0.1)]);
        assert_eq!(alone.0, "wire");
        let shares = [
            ("wire", "h-s", 0.3),
            ("arbitration", "h-s", 0.3),
            ("memory", "h", 0.4),
        ];
        assert_eq!(limit_of(&shares).1, "h-s");
    }
}
