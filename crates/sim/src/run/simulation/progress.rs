//! How far the workloads are, how long they may still take, and which packets stand still.

use kernel::Time;
use packet::Packet;
use protocol::{FunctionId, Header, Kind, Message};

use super::Simulation;
use crate::workload::Progress;

impl Simulation {
    /// Time from which nothing more will arrive, if nothing has until then. Events alone do not show it: links with errors update
    /// their credit for ever.
    pub(super) fn patient_until(&self) -> Time {
        let all = self.progress().map(|progress| progress.patient_until);
        let workloads = all.max().unwrap_or(Time::NEVER);
        workloads.max(self.awaits_incidents_until())
    }

    /// The number of packets that nothing can move. Drivers that look for a state of their device make packets to the end. Error messages,
    /// and the configuration accesses of the software that serves them, go on for ever where links have errors. The requester of a
    /// configuration access is a root port.
    pub(super) fn standing_packets(&self) -> usize {
        let is_passing = |header: &Header| match &header.kind {
            Kind::Message(request) => {
                matches!(request.message, Message::Error(_) | Message::ActiveStateNak)
            }
            Kind::Completion(completion) => {
                let requester = completion.requester;
                requester.bus() == 0 && requester != FunctionId::default()
            }
            _ => header.is_config(),
        };
        let is_old = |packet: &Packet| {
            let made = self.old.1.as_ref();
            made.is_none_or(|made| Self::was_made(made, packet.number()))
        };
        let stands = |packet: &Packet| is_old(packet) && !is_passing(packet.header());
        match &self.regions {
            None => self.world.store.count_of(stands),
            Some(regions) => regions.count_of(stands),
        }
    }

    /// Share done of the workloads with a known end: by bytes if they have an amount, by time and bytes if they have a duration.
    pub(super) fn share_done(&self) -> f64 {
        let now = self.world.now();
        let all = self.plan.workloads.iter();
        let shares = all.filter_map(|one| {
            let kind = one.workload.kind();
            kind.share_done(&one.own, &self.meter, now)
        });
        let (sum, count) = shares.fold((0.0, 0_u32), |(sum, count), share| {
            (sum + share.min(1.0), count + 1)
        });
        sum / f64::from(count.max(1))
    }

    /// The time before which no end is expected of the workloads that last for a given time.
    pub(super) fn lasts_until(&self) -> Time {
        let all = self.plan.workloads.iter();
        let ends = all.filter_map(|one| one.workload.kind().lasts_until());
        ends.max().unwrap_or(Time::ZERO)
    }

    /// The work that is left, as a multiple of the time since flows began, if it goes on as until now; `None` if nothing is done yet.
    pub(super) fn work_left(&self) -> Option<f64> {
        let (mut arrived, mut left) = (0.0, 0.0);
        for one in &self.plan.workloads {
            let each = one.workload.kind().bytes_each();
            for part in one.own.meters(&self.meter) {
                arrived += part.delivered as f64;
                left += part.left_of(each) as f64;
            }
        }
        let bytes = (arrived > 0.0 && left > 0.0).then(|| left / arrived);
        let shares = self.progress().filter_map(|progress| progress.done);
        // What has had all its time waits for packets that are on their way.
        let counted = shares.filter(|done| *done > 0.0 && *done < 1.0);
        let slowest = counted.map(|done| (1.0 - done) / done).reduce(f64::max);
        match (bytes, slowest) {
            // The slowest may wait for others that end before it, and go faster then. All together do not.
            (Some(bytes), Some(slowest)) => Some(bytes.min(slowest)),
            (Some(left), None) => Some(left),
            (None, Some(left)) => {
                // A workload that has not begun will take its time, too. Our guess: half of what has passed.
                let has_idle = self.progress().any(|progress| progress.done == Some(0.0));
                Some(if has_idle { left.max(0.5) } else { left })
            }
            (None, None) => None,
        }
    }

    fn progress(&self) -> impl Iterator<Item = Progress> {
        let all = self.plan.workloads.iter();
        all.map(|one| {
            let kind = one.workload.kind();
            kind.progress(&one.own, &self.meter, self.world.now())
        })
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Span, Time};

    use crate::{Plan, Simulation};

    #[test]
    fn a_network_that_is_offered_too_much_is_done_when_all_has_arrived() {
        let text = "[networks.t]\nshape = \"ring\"\nsize = \"16\"\n\
            [[traffic]]\nnetwork = \"t\"\nload = \"5 GB/s\"\nfrom = \"routers\"\nto = \"routers\"\nduration = \"20 us\"\n";
        let plan = Plan::read(text, "work").expect("the scenario is right");
        let mut simulation = Simulation::new(plan);
        simulation.run_until(Time::ZERO + Span::from_us(20), &mut || true);
        let half = simulation.share_done();
        assert!((0.5..0.9).contains(&half), "{half}");
        let mut seen = vec![half];
        simulation.run(&mut |share| {
            seen.push(share);
            true
        });
        assert!(seen.is_sorted(), "{seen:?}");
        assert!(simulation.share_done() > 0.999_999);
    }

    #[test]
    fn offers_of_processors_have_a_share_that_grows() {
        let text = "[controllers.c]\nports = 2\n[hosts.\"h{i}\"]\neach = \"i = 0..1\"\n\
            [devices.\"n{i}\"]\neach = \"i = 0..1\"\nmodel = \"nic\"\nupstream = \"h{i}\"\n\
            [[traffic]]\nnetwork = \"c\"\nload = \"1 GB/s\"\nmessage = \"1 KiB\"\nduration = \"200 us\"\n";
        let plan = Plan::read(text, "work").expect("the scenario is right");
        let mut simulation = Simulation::new(plan);
        simulation.run_until(Time::ZERO + Span::from_us(100), &mut || true);
        let half = simulation.share_done();
        assert!((0.3..0.7).contains(&half), "{half}");
        simulation.run(&mut |_| true);
        assert!(simulation.share_done() > 0.99);
    }

    #[test]
    fn short_flows_that_have_asked_for_all_their_bytes_hide_nothing_of_a_long_one() {
        let text = "[controllers.c]\nports = 2\n[hosts.\"h{i}\"]\neach = \"i = 0..1\"\nmemory = \"16 MiB\"\n\
            [devices.\"n{i}\"]\neach = \"i = 0..1\"\nmodel = \"nic\"\nupstream = \"h{i}\"\n[devices.d]\nupstream = \"h0\"\n\
            [[flows]]\nfrom = \"d\"\nto = \"h0\"\ncount = 10000\n\
            [[flows]]\nfrom = \"n0\"\nto = \"n1\"\nsize = \"64 KiB\"\n";
        let plan = Plan::read(text, "work").expect("the scenario is right");
        let mut simulation = Simulation::new(plan);
        simulation.run_until(Time::ZERO + Span::from_us(20), &mut || true);
        let short = simulation.plan().workloads[1].own.first();
        let short = simulation.meter.flow(short);
        assert!(short.delivered > 0 && short.delivered < 1 << 16);
        let left = simulation.work_left().expect("bytes have arrived");
        assert!(left > 10.0, "{left}");
    }
}
