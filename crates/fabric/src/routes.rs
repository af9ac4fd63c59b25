//! Where a packet goes: by address through the windows of the bridges, by ID through their bus numbers.

use kernel::Port;
use protocol::{FunctionId, Header, Kind};

/// What lies below one downstream port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The port.
    pub port: Port,
    /// First and last address of a memory window; empty when first > last.
    pub memory: (u64, u64),
    /// The 64-bit prefetchable window, in the same way.
    pub prefetchable: (u64, u64),
    /// Secondary and subordinate bus.
    pub buses: (u8, u8),
}

/// Where a packet goes from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Out of this downstream port.
    Down(Port),
    /// To what is above, or here.
    Elsewhere,
}

/// The windows of all downstream ports, in order of address and of bus.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    memory: Vec<(u64, u64, Port)>,
    buses: Vec<(u8, u8, Port)>,
}

impl Routes {
    /// The table for `windows`, which do not overlap.
    pub fn new(windows: &[Window]) -> Self {
        let mut routes = Routes::default();
        for window in windows {
            for (first, last) in [window.memory, window.prefetchable] {
                if first <= last {
                    routes.memory.push((first, last, window.port));
                }
            }
            routes
                .buses
                .push((window.buses.0, window.buses.1, window.port));
        }
        routes.memory.sort_unstable();
        routes.buses.sort_unstable();
        routes
    }

    /// Where a packet with `header` goes.
    #[inline]
    pub fn of(&self, header: &Header) -> Route {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                lookup(&self.memory, request.address())
            }
            Kind::Completion(completion) => self.of_id(completion.requester),
            Kind::ConfigRead(request) | Kind::ConfigWrite(request) => self.of_id(request.target),
        }
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
        let window = |port, first, last, bus| Window {
            port: Port(port),
            memory: (first, last),
            prefetchable: (1, 0),
            buses: (bus, bus + 1),
        };
        let routes = Routes::new(&[window(2, 0x2000, 0x2fff, 5), window(1, 0x1000, 0x1fff, 3)]);
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
