//! Runs a shape of `peerlane bench shapes` once, for a profiler: `shape NAME DIVISOR`, with one part in `DIVISOR` of its work. The difference
//! of two amounts of work is the cost of the work alone, without that of the plan.

use std::process::ExitCode;

use sim::bench::Shape;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let shape = arguments.next().and_then(|name| Shape::named(&name));
    let divisor = arguments.next().and_then(|text| text.parse().ok());
    let (Some(shape), Some(1..=1024)) = (shape, divisor) else {
        let names: Vec<_> = Shape::ALL.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "write: shape NAME DIVISOR, with a divisor of 1 to 1024 and one of the names {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    };
    let mut simulation = shape.simulation(divisor.unwrap_or(1));
    let before = simulation.events();
    simulation.run(&mut |_| true);
    let Some(work) = shape.work(&simulation) else {
        eprintln!("some of the traffic did not arrive as it was sent");
        return ExitCode::FAILURE;
    };
    let events = simulation.events() - before;
    println!("{work} {} in {events} events", shape.unit());
    ExitCode::SUCCESS
}
