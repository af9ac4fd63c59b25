//! Runs a shape of `peerlane bench shapes` once, for a profiler: `shape NAME DIVISOR` runs one part in `DIVISOR` of its work. The
//! difference between two amounts of work is the cost of the work alone, without the cost of the plan. `shape NAME DIVISOR THREADS` runs
//! the shape on threads, including link initialisation, and prints how the threads shared the work.

use std::process::ExitCode;
use std::time::Instant;

use sim::bench::Shape;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let shape = arguments.next().and_then(|name| Shape::named(&name));
    let divisor = arguments.next().and_then(|text| text.parse().ok());
    let (Some(shape), Some(1..=1024)) = (shape, divisor) else {
        let names: Vec<_> = Shape::ALL.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "write: shape NAME DIVISOR, with a divisor of 1 to 1024 and one of the names {}; a number of threads may follow",
            names.join(", ")
        );
        return ExitCode::from(2);
    };
    let divisor = divisor.unwrap_or(1);
    let threads = arguments.next().and_then(|text| text.parse().ok());
    let mut simulation = match threads {
        None => shape.simulation(divisor),
        Some(threads) => shape.on_threads(divisor, threads),
    };
    let before = simulation.events();
    let begun = Instant::now();
    simulation.run(&mut |_| true);
    let took = begun.elapsed();
    let Some(work) = shape.work(&simulation) else {
        eprintln!("some of the traffic did not arrive as it was sent");
        return ExitCode::FAILURE;
    };
    let events = simulation.events() - before;
    println!("{work} {} in {events} events", shape.unit());
    if threads.is_some() {
        let (threads, fewer) = simulation.threads();
        println!(
            "{:.3} s on {threads} threads: {}",
            took.as_secs_f64(),
            fewer.unwrap_or("as many as asked for")
        );
        println!("{:?}", simulation.shares());
    }
    ExitCode::SUCCESS
}
