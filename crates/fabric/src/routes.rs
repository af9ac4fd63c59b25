//! Routing: by address through the windows of bridges, by ID through their bus numbers.

use kernel::Port;
use protocol::{ConfigSpace, FunctionId, Header, Interval, Kind, Message, MessageRouting};
use transaction::{FunctionPlace, Functions};

/// The route of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The packet is routed to this downstream port.
    Down(Port),
    /// Only packets from below are routed to this downstream port, because the address is outside the upstream port's windows.
    Across(Port),
    /// The packet is routed upstream, or is for this component itself.
    Elsewhere,
    /// The packet is routed to no port. Its address is in the upstream port's windows but in no downstream port's windows, or the packet
    /// cannot be routed.
    Nowhere,
    /// The packet is a configuration request, which the functions on its way route.
    Configuration,
}

/// The routing tables by address and by bus number.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    memory: Table,
    buses: Table,
}

/// An interval of addresses or buses, and its route.
type Claim = (Interval<u64>, Route);

impl Routes {
    /// The routing tables of a root complex.
    pub fn of_root(functions: &Functions) -> Self {
        let table = |below: Below| {
            let ports = ports(functions, 0, below).into_iter();
            let claims: Vec<Claim> = ports
                .map(|(interval, port)| (interval, Route::Down(port)))
                .collect();
            Table::of(&claims)
        };
        Self {
            memory: table(windows),
            buses: table(buses),
        }
    }

    /// The routing tables of a switch. Its upstream port forwards down only addresses and IDs in its own windows and buses, and forwards up
    /// only addresses and IDs outside them (PCIe Base 7.5.1.3).
    pub fn of_switch(functions: &Functions) -> Self {
        let table = |below: Below| {
            let own = below(functions.space(FunctionPlace::Own));
            let ports = ports(functions, 1, below);
            let mut claims: Vec<Claim> = Vec::new();
            for (interval, port) in &ports {
                let through = own.iter().map(|own| overlap(*interval, *own));
                claims.extend(through.map(|both| (both, Route::Down(*port))));
            }
            let across = ports.iter();
            claims.extend(across.map(|(interval, port)| (*interval, Route::Across(*port))));
            claims.extend(own.iter().map(|own| (*own, Route::Nowhere)));
            Table::of(&claims)
        };
        Self {
            memory: table(windows),
            buses: table(buses),
        }
    }

    /// The route of a packet with `header`.
    #[inline]
    pub fn of(&self, header: &Header) -> Route {
        if let Kind::MemoryRead(request) | Kind::MemoryWrite(request) = &header.kind {
            return self.of_address(request.address());
        }
        self.of_other(header)
    }

    /// The route of a packet that is not a memory request.
    fn of_other(&self, header: &Header) -> Route {
        match &header.kind {
            Kind::MemoryRead(request) | Kind::MemoryWrite(request) => {
                self.of_address(request.address())
            }
            Kind::Atomic(request) => self.of_address(request.address()),
            Kind::Completion(completion) => self.of_id(completion.requester),
            // Each bridge decides whether it forwards an error message.
            Kind::Message(request) if matches!(request.message, Message::Error(_)) => {
                Route::Nowhere
            }
            Kind::Message(request) => match request.message.routing() {
                MessageRouting::ToRoot => Route::Elsewhere,
                MessageRouting::ById(target) => self.of_id(target),
                MessageRouting::Local => Route::Nowhere,
            },
            Kind::ConfigRead(_) | Kind::ConfigWrite(_) => Route::Configuration,
            // Coherence messages end at the link partner.
            Kind::Coherence(_) => Route::Elsewhere,
            // Only controllers route these packets.
            Kind::Network(_) => Route::Nowhere,
        }
    }

    /// The route of a memory request for `address`.
    #[inline]
    pub fn of_address(&self, address: u64) -> Route {
        self.memory.of_number(address)
    }

    fn of_id(&self, id: FunctionId) -> Route {
        self.buses.of_number(id.bus().into())
    }
}

/// A function that returns the intervals below a bridge.
type Below = fn(&ConfigSpace) -> Vec<Interval<u64>>;

fn ports(functions: &Functions, first: u16, below: Below) -> Vec<(Interval<u64>, Port)> {
    let ports = functions.ports().zip((first..).map(Port));
    ports
        .flat_map(|(space, port)| {
            below(space)
                .into_iter()
                .map(move |interval| (interval, port))
        })
        .collect()
}

/// The address windows of a bridge. If Memory Space Enable is clear, the bridge forwards no addresses (PCIe Base 7.5.1.1.3).
fn windows(bridge: &ConfigSpace) -> Vec<Interval<u64>> {
    if bridge.memory_enable() {
        vec![bridge.memory_window(), bridge.prefetchable_window()]
    } else {
        Vec::new()
    }
}

fn buses(bridge: &ConfigSpace) -> Vec<Interval<u64>> {
    let (secondary, subordinate) = bridge.buses();
    vec![(secondary.into(), subordinate.into())]
}

fn overlap(one: Interval<u64>, other: Interval<u64>) -> Interval<u64> {
    (one.0.max(other.0), one.1.min(other.1))
}

/// Disjoint intervals in ascending order. A number outside all intervals has the route `Elsewhere`.
#[derive(Clone, Debug, Default)]
struct Table(Vec<(u64, u64, Route)>);

impl Table {
    /// A table of `claims`. If claims overlap, the first one applies.
    fn of(claims: &[Claim]) -> Self {
        let claims = claims.iter().filter(|((first, last), _)| first <= last);
        let claims: Vec<Claim> = claims.copied().collect();
        let edges = claims.iter();
        let edges = edges.flat_map(|((first, last), _)| [*first, last.saturating_add(1)]);
        let mut edges: Vec<u64> = edges.collect();
        edges.sort_unstable();
        edges.dedup();
        let mut table = Self::default();
        for pair in edges.windows(2) {
            let (first, last) = (pair[0], pair[1] - 1);
            let covers = |(claim, _): &&Claim| claim.0 <= first && last <= claim.1;
            if let Some((_, route)) = claims.iter().find(covers) {
                table.append(first, last, *route);
            }
        }
        table
    }

    fn append(&mut self, first: u64, last: u64, route: Route) {
        match self.0.last_mut() {
            Some(before) if before.1 + 1 == first && before.2 == route => before.1 = last,
            _ => self.0.push((first, last, route)),
        }
    }

    #[inline]
    fn of_number(&self, number: u64) -> Route {
        let after = self.0.partition_point(|(first, _, _)| *first <= number);
        match after.checked_sub(1).map(|index| self.0[index]) {
            Some((_, last, route)) if number <= last => route,
            _ => Route::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::{Access, InvalidateTag, Message, Page, PageGroup, PageRequest};

    #[test]
    fn an_address_goes_to_the_window_that_holds_it() {
        let [one, two] = [1, 2].map(|port| Route::Down(Port(port)));
        let routes = Routes {
            memory: Table::of(&[((0x1000, 0x1fff), one), ((0x2000, 0x2fff), two)]),
            buses: Table::of(&[((3, 4), one), ((5, 6), two)]),
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

    #[test]
    fn a_message_goes_up_or_to_the_bus_of_its_target() {
        let one = Route::Down(Port(1));
        let routes = Routes {
            memory: Table::default(),
            buses: Table::of(&[((3, 4), one)]),
        };
        let message = |message| Header::message(FunctionId(0), message);
        let invalidate = |target| {
            let tag = InvalidateTag::default();
            message(Message::InvalidateRequest { target, tag })
        };
        assert_eq!(routes.of(&invalidate(FunctionId::new(4, 0, 0))), one);
        let elsewhere = routes.of(&invalidate(FunctionId::new(5, 0, 0)));
        assert_eq!(elsewhere, Route::Elsewhere);
        let request = PageRequest {
            page: Page::of(0),
            group: PageGroup::default(),
            is_last: true,
            access: Access::Read,
        };
        let up = routes.of(&message(Message::PageRequest(request)));
        assert_eq!(up, Route::Elsewhere);
    }

    #[test]
    fn a_window_within_another_takes_no_addresses_from_it() {
        let [one, two] = [1, 2].map(|port| Route::Down(Port(port)));
        let within = Table::of(&[((0, 0x3fff), one), ((0x1000, 0x1fff), one), ((1, 0), two)]);
        assert_eq!(within.0, [(0, 0x3fff, one)]);
        let between = Table::of(&[((0x1000, 0x1fff), two), ((0, 0x3fff), one)]);
        assert_eq!(
            between.0,
            [
                (0, 0xfff, one),
                (0x1000, 0x1fff, two),
                (0x2000, 0x3fff, one)
            ]
        );
    }
}
