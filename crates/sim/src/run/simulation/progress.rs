//! The progress of workloads, and the time that they may still take.

use kernel::Time;

use super::Simulation;

impl Simulation {
    /// The mean of the shares that are done of the workloads, 0 to 1. It is found by a look at all of them.
    pub fn share_done(&self) -> f64 {
        let (sum, count) = self
            .shares_done()
            .fold((0.0, 0_u32), |(sum, count), share| (sum + share, count + 1));
        sum / f64::from(count.max(1))
    }

    /// The shares of the workloads that can be told.
    fn shares_done(&self) -> impl Iterator<Item = f64> {
        let (meter, now) = (&self.meter, self.world.now());
        let all = self.plan.workloads.iter();
        all.filter_map(move |one| one.share_done(meter, now))
    }

    /// The time before which no end is expected of the workloads that last for a given time.
    pub(super) fn lasts_until(&self) -> Time {
        let all = self.plan.workloads.iter();
        let ends = all.filter_map(|one| one.workload.kind().lasts_until());
        ends.max().unwrap_or(Time::ZERO)
    }

    /// The work that is left, as a multiple of the time since flows began, if it goes on as until now; `None` if nothing is done yet.
    pub(super) fn work_left(&self) -> Option<f64> {
        let all = self.plan.workloads.iter();
        let (arrived, left) = all.fold((0.0, 0.0), |(arrived, left), one| {
            let (done, more) = one.done_and_left(&self.meter);
            (arrived + done as f64, left + more as f64)
        });
        let bytes = (arrived > 0.0 && left > 0.0).then(|| left / arrived);
        // What has had all its time waits for packets that are on their way.
        let counted = self.shares_done().filter(|done| *done > 0.0 && *done < 1.0);
        let slowest = counted.map(|done| (1.0 - done) / done).reduce(f64::max);
        match (bytes, slowest) {
            // The slowest may wait for others that end before it, and go faster then. All together do not.
            (Some(bytes), Some(slowest)) => Some(bytes.min(slowest)),
            (Some(left), None) => Some(left),
            (None, Some(left)) => {
                // A workload that has not begun will take its time, too. Our guess: half of what has passed.
                let has_idle = self.shares_done().any(|done| done == 0.0);
                Some(if has_idle { left.max(0.5) } else { left })
            }
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Span, Time};

    use crate::{Plan, Simulation};

    #[test]
    fn a_network_that_is_offered_too_much_is_done_when_all_has_arrived() {
        let text = "[networks.t]\nshape = \"ring\"\nsize = \"8\"\n\
            [[traffic]]\nnetwork = \"t\"\nload = \"5 GB/s\"\nfrom = \"routers\"\nto = \"routers\"\nduration = \"20 us\"\n";
        let plan = Plan::read(text, "work").expect("the scenario is right");
        let mut simulation = Simulation::new(plan);
        simulation.run_until(Time::ZERO + Span::from_us(20), &mut || true);
        let half = simulation.share_done();
        assert!((0.2..0.9).contains(&half), "{half}");
        let mut seen = vec![half];
        simulation.run(&mut |simulation| {
            seen.push(simulation.share_done());
            true
        });
        assert!(seen.is_sorted(), "{seen:?}");
        assert!(simulation.share_done() > 0.999_999);
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

    /// The share that is done and the work that is left after so many microseconds of a run, and the share at its end.
    fn course(text: &str, us: u64) -> (f64, Option<f64>, f64) {
        let plan = Plan::read(text, "work").expect("the scenario is right");
        let mut simulation = Simulation::new(plan);
        simulation.run_until(Time::ZERO + Span::from_us(us), &mut || true);
        let (done, left) = (simulation.share_done(), simulation.work_left());
        assert!(simulation.run(&mut |_| true));
        (done, left, simulation.share_done())
    }

    #[test]
    fn of_a_collective_the_bytes_that_its_nodes_send_are_known_from_the_beginning() {
        let text = "[networks.t]\nshape = \"torus\"\nsize = \"4x4\"\n[networks.t.routers]\nvirtual_channels = 2\n\
            [[collectives]]\nnetwork = \"t\"\nalgorithm = \"ring\"\nsize = \"64 KiB\"\n";
        let (done, left, end) = course(text, 10);
        let left = left.expect("bytes have arrived");
        assert!(0.0 < done && done < 0.5, "{done}");
        assert!((left - (1.0 - done) / done).abs() < 1e-9, "{left}, {done}");
        assert!(end >= 1.0, "{end}");
    }

    #[test]
    fn of_accesses_and_work_under_locks_the_share_is_known() {
        for work in ["accesses", "locks"] {
            let text = format!(
                "[hosts.h]\ncoherent = true\n[buffers.b]\nhost = \"h\"\nsize = \"4 KiB\"\n\
                [[{work}]]\nby = \"h\"\nbuffer = \"b\"\ncores = 2\ncount = 100\ninterval = \"100 ns\"\n"
            );
            let (done, _, end) = course(&text, 10);
            assert!(0.0 < done && done < 1.0, "{work}: {done}");
            assert!(end >= 1.0, "{work}: {end}");
        }
    }

    #[test]
    fn offers_that_a_controller_cannot_carry_are_left_when_their_time_is_over() {
        let text = "[controllers.c]\nports = 4\n[hosts.\"h{i}\"]\neach = \"i = 0..3\"\nmemory = \"16 MiB\"\n\
            [devices.\"n{i}\"]\neach = \"i = 0..3\"\nmodel = \"nic\"\nupstream = \"h{i}\"\n\
            [[traffic]]\nnetwork = \"c\"\nload = \"20 GB/s\"\nmessage = \"4 KiB\"\nduration = \"20 us\"\n";
        let (done, left, end) = course(text, 25);
        assert!(0.0 < done && done < 0.5, "{done}");
        assert!(left.is_some_and(|left| left > 1.0), "{left:?}");
        assert!(end >= 1.0, "{end}");
    }
}
