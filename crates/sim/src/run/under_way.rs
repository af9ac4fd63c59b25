//! A simulation that is controlled from outside: accesses that begin at one time and whose outcomes are taken when they have ended, and calls of
//! device models.

use kernel::Time;
use transaction::Direction;

use crate::model::Model;
use crate::run::access::{AccessError, Outcome};
use crate::run::host_thread::HostThread;
use crate::run::outside::InFlight;
use crate::run::simulation::{Halt, Simulation};

impl Simulation {
    /// Makes `requester` write `bytes` to `address` from now on. Returns the number of the access, whose outcome
    /// [`take_outcomes`](Self::take_outcomes) returns when the last byte has arrived or is lost.
    pub fn begin_write(
        &mut self,
        requester: &str,
        address: u64,
        bytes: Vec<u8>,
    ) -> Result<u32, AccessError> {
        let len = bytes.len() as u64;
        self.begin(requester, Direction::Write, (address, len), bytes)
    }

    /// Makes `requester` read `len` bytes at `address` from now on, as [`begin_write`](Self::begin_write) writes.
    pub fn begin_read(
        &mut self,
        requester: &str,
        address: u64,
        len: u64,
    ) -> Result<u32, AccessError> {
        Self::check_read(len)?;
        let empty = vec![0; len as usize];
        self.begin(requester, Direction::Read, (address, len), empty)
    }

    fn begin(
        &mut self,
        requester: &str,
        direction: Direction,
        (address, len): (u64, u64),
        bytes: Vec<u8>,
    ) -> Result<u32, AccessError> {
        let (node, flow) = self.inject(requester, direction, address, len, bytes)?;
        self.outside.accesses.add(InFlight {
            node,
            flow,
            address,
        });
        Ok(flow.0)
    }

    /// Takes the outcomes of the accesses that have ended, each with its number and the time of its last byte, or of its failure.
    pub fn take_outcomes(&mut self) -> Vec<(u32, Time, Outcome)> {
        let ended = self.outside.accesses.take_ended(&self.probes.meter);
        ended
            .into_iter()
            .map(|one| {
                let outcome = self.outcome(one);
                let meter = self.probes.meter.flow(one.flow);
                let time = match meter.arrived {
                    Some((_, last)) if outcome.is_ok() => last,
                    _ => meter.ended,
                };
                (one.flow.0, time, outcome)
            })
            .collect()
    }

    /// Lets time pass, at most to `limit`, until an access in flight has ended, one of `threads` has carried out its order, or `noticed` returns
    /// true, while `watch`, called from time to time, allows it. Returns false if no event is left and `limit` is [`Time::NEVER`].
    pub fn advance_to(
        &mut self,
        threads: &[&HostThread],
        limit: Time,
        noticed: &mut dyn FnMut() -> bool,
        watch: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.start();
        let waited = self.step_while(limit, watch, |all| {
            let is_over = noticed()
                || threads.iter().any(|thread| thread.is_done())
                || all.outside.accesses.any_has_ended(&all.probes.meter);
            is_over.then_some(())
        });
        let is_quiet = waited == Err(Halt::Quiet);
        if is_quiet && limit < Time::NEVER {
            self.pass_to(limit);
        }
        !is_quiet || limit < Time::NEVER
    }

    /// Calls the device model from outside that `device` uses, as if its timer with this number expired now.
    pub fn call_model(&mut self, device: &str, timer: u64) -> Result<(), AccessError> {
        let node = self.node(device)?;
        self.start();
        self.act(node, |model, id, world| {
            if let Model::Foreign(foreign) = model {
                foreign.prompt(timer, &mut world.effects(id));
            }
        });
        Ok(())
    }
}
