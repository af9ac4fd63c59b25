//! Where a packet goes: by address through the windows of the bridges, by ID through their bus numbers.

use kernel::Port;
use protocol::{FunctionId, Header, Interval, Kind};
use transaction::Functions;

/// Where a packet goes from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Out of this downstream port.
    Down(Port),
    /// To what is above, or here.
    Elsewhere,
    /// To where the functions on its way say, as a configuration request.
    Configuration,
}

/// The windows of all downstream ports, in order of address and of bus.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    memory: Vec<(u64, u64, Port)>,
    buses: Vec<(u8, u8, Port)>,
}

impl Routes {
    /// What lies below the ports of `functions`, the first of which is port `first`, as their registers have it. A port with
    /// memory space disabled forwards no memory requests (PCIe Base 7.5.1.1.3).
    pub fn of_ports(functions: &Functions, first: u16) -> Self {
        let mut routes = Routes::default();
        for (space, port) in functions.ports().zip((first..).map(Port)) {
            if space.memory_enable() {
                routes.open(space.memory_window(), port);
                routes.open(space.prefetchable_window(), port);
            }
            let (secondary, subordinate) = space.buses();
            if secondary <= subordinate {
                routes.buses.push((secondary, subordinate, port));
            }
        }
        routes.memory.sort_unstable();
        routes.buses.sort_unstable();
        routes
    }

    fn open(&mut self, (first, last): Interval<u64>, port: Port) {
        if first <= last {
            self.memory.push((first, last, port));
        }
    }

    /// Where a packet with `header` goes.
    #[inline]
    pub fn of(&self, header: &Header) -> Route {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                self.of_address(request.address())
            }
            Kind::Completion(completion) => self.of_id(completion.requester),
            Kind::ConfigRead(_) | Kind::ConfigWrite(_) => Route::Configuration,
        }
    }

    /// Where a memory request for `address` goes.
    #[inline]
    pub fn of_address(&self, address: u64) -> Route {
        lookup(&self.memory, address)
    }

    fn of_id(&self, id: FunctionId) -> Route {
        lookup(&self.buses, id.bus())
    }
}

#[inline]
fn lookup<K: Copy + Ord>(table: &[(K, K, Port)], key: K) -> Route {
    let after = table.partition_point(|(first, _, _)| *first <= key);
    match after.checked_sub(1).map(|index| table[index]) {
        Some((_, last, port)) if key <= last => Route::Down(port),
        _ => Route::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_goes_to_the_window_that_holds_it() {
        let routes = Routes {
            memory: vec![(0x1000, 0x1fff, Port(1)), (0x2000, 0x2fff, Port(2))],
            buses: vec![(3, 4, Port(1)), (5, 6, Port(2))],
        };
        let write =
            |address| Header::memory_write(FunctionId(0), address, 4).expect("a legal write");
        assert_eq!(routes.of(&write(0x1ffc)), Route::Down(Port(1)));
        assert_eq!(routes.of(&write(0x2000)), Route::Down(Port(2)));
        assert_eq!(routes.of(&write(0x3000)), Route::Elsewhere);
        assert_eq!(routes.of(&write(0xffc)), Route::Elsewhere);
        let read = Header::memory_read(FunctionId::new(6, 0, 0), protocol::Tag(0), 0, 4)
            .expect("a legal read");
        let answer =
            Header::completion_with_data(&read, FunctionId(0), 0, 4).expect("the answer to a read");
        assert_eq!(routes.of(&answer), Route::Down(Port(2)));
    }
}
