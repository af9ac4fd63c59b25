//! The progress of workloads, and the time that they may still take.

use kernel::Time;

use crate::meters::meter::Meter;
use crate::setup::Plan;

/// The mean of the completed shares of all workloads, 0 to 1. This function reads all workloads.
pub(super) fn share_done(plan: &Plan, meter: &Meter, now: Time) -> f64 {
    if let Some(limit) = plan.steady {
        return (now.since(Time::ZERO).as_ns() / (meter.up() + limit).as_ns()).min(1.0);
    }
    let shares = shares_done(plan, meter, now);
    let (sum, count) = shares.fold((0.0, 0_u32), |(sum, count), share| (sum + share, count + 1));
    sum / f64::from(count.max(1))
}

/// The completed shares of the workloads, as far as they are known.
fn shares_done(plan: &Plan, meter: &Meter, now: Time) -> impl Iterator<Item = f64> {
    let all = plan.workloads.iter();
    all.filter_map(move |one| one.share_done(meter, now))
}

/// The latest end of the workloads that last for a given time.
pub(super) fn lasts_until(plan: &Plan) -> Time {
    let all = plan.workloads.iter();
    let ends = all.filter_map(|one| one.workload.kind().lasts_until());
    ends.max().unwrap_or(Time::ZERO)
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

    /// The completed share after `us` microseconds of a run, and at its end.
    fn course(text: &str, us: u64) -> (f64, f64) {
        let plan = Plan::read(text, "work").expect("the scenario is right");
        let mut simulation = Simulation::new(plan);
        simulation.run_until(Time::ZERO + Span::from_us(us), &mut || true);
        let done = simulation.share_done();
        assert!(simulation.run(&mut |_| true));
        (done, simulation.share_done())
    }

    #[test]
    fn of_a_collective_the_bytes_that_its_nodes_send_are_known_from_the_beginning() {
        let text = "[networks.t]\nshape = \"torus\"\nsize = \"4x4\"\n[networks.t.routers]\nvirtual_channels = 2\n\
            [[collectives]]\nnetwork = \"t\"\nalgorithm = \"ring\"\nsize = \"64 KiB\"\n";
        let (done, end) = course(text, 10);
        assert!(0.0 < done && done < 0.5, "{done}");
        assert!(end >= 1.0, "{end}");
    }

    #[test]
    fn of_accesses_and_work_under_locks_the_share_is_known() {
        for work in ["accesses", "locks"] {
            let text = format!(
                "[hosts.h]\ncoherent = true\n[buffers.b]\nhost = \"h\"\nsize = \"4 KiB\"\n\
                [[{work}]]\nby = \"h\"\nbuffer = \"b\"\ncores = 2\ncount = 100\ninterval = \"100 ns\"\n"
            );
            let (done, end) = course(&text, 10);
            assert!(0.0 < done && done < 1.0, "{work}: {done}");
            assert!(end >= 1.0, "{work}: {end}");
        }
    }

    #[test]
    fn offers_that_a_controller_cannot_carry_are_left_when_their_time_is_over() {
        let text = "[controllers.c]\nports = 4\n[hosts.\"h{i}\"]\neach = \"i = 0..3\"\nmemory = \"16 MiB\"\n\
            [devices.\"n{i}\"]\neach = \"i = 0..3\"\nmodel = \"nic\"\nupstream = \"h{i}\"\n\
            [[traffic]]\nnetwork = \"c\"\nload = \"20 GB/s\"\nmessage = \"4 KiB\"\nduration = \"20 us\"\n";
        let (done, end) = course(text, 25);
        assert!(0.0 < done && done < 0.5, "{done}");
        assert!(end >= 1.0, "{end}");
    }
}
