//! Filters of captures: by link, kind, address, flow and time.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use kernel::{Quantity, Span, Time, Value};
use packet::Packet;
use protocol::{Dllp, FunctionId, Kind as Protocol, Message, Tag, coherence};
use thiserror::Error;
use transaction::messages;

use super::event::{Content, Departure, Mark, OrderedSets, What, WireEvent};
use super::kind::{Group, Kind, Kinds};
use super::names::{DirectionId, Names};

/// The parts of a filter as the user writes them. An empty part lets everything pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterOptions {
    /// Names of links, fibres and cables.
    pub at: Vec<String>,
    /// Names of kinds, and of groups of kinds.
    pub kinds: Vec<String>,
    /// Two addresses with a hyphen between: the first and the last byte.
    pub address: Option<String>,
    /// Names of flows and other workloads.
    pub flows: Vec<String>,
    /// Two times with `..` between: the beginning, and the end, which is not part of the window. Each of them may be left out.
    pub window: Option<String>,
}

/// The error that a part of a filter is wrong.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{part} {written:?}: {advice}")]
pub struct FilterError {
    /// The part: `at`, `kind`, `address`, `flow` or `window`.
    pub part: &'static str,
    /// The text of the user.
    pub written: String,
    /// The fault, and the text to write instead.
    pub advice: String,
}

/// A filter of departures and arrivals on wires.
///
/// A departure passes if it matches all parts of the filter. A completion matches a range of addresses if its request does. An arrival passes if the
/// departure of the same packet matched; only the window is compared with the time of the arrival itself.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Whether each direction passes, by its number. `None` if all directions pass.
    directions: Option<Vec<bool>>,
    kinds: Option<Kinds>,
    /// The first and the last byte.
    addresses: Option<(u64, u64)>,
    /// Whether each flow passes, by its number. `None` if all flows pass.
    flows: Option<Vec<bool>>,
    window: Option<Range<Time>>,
    /// The outstanding requests in the range of addresses, whose completions pass.
    requests: BTreeSet<Request>,
    has_arrivals: bool,
    /// For each direction: the sequence numbers of the TLPs that were sent and have not arrived, and whether they passed. They are recorded only if
    /// the capture has arrivals and if the filter has kinds, addresses or flows.
    on_the_way: Vec<VecDeque<(u16, bool)>>,
}

/// The transaction ID of a request, with the host of the tree in which it is unique.
type Request = (Option<usize>, FunctionId, Tag);

impl Filter {
    /// Makes a filter from its options. The names in the options must be among `names`.
    pub fn new(options: &FilterOptions, names: &Names) -> Result<Self, FilterError> {
        Ok(Filter {
            directions: links(&options.at, names)?,
            kinds: kinds(&options.kinds)?,
            addresses: options.address.as_deref().map(addresses).transpose()?,
            flows: flows(&options.flows, names)?,
            window: options.window.as_deref().map(window).transpose()?,
            requests: BTreeSet::new(),
            has_arrivals: true,
            on_the_way: vec![VecDeque::new(); names.directions().len()],
        })
    }

    /// Sets whether the capture has records of arrivals.
    #[must_use]
    pub fn with_arrivals(self, has_arrivals: bool) -> Self {
        Filter {
            has_arrivals,
            ..self
        }
    }

    /// The part of `event` that passes the filter, if there is one. Of several ordered sets, the ordered sets within the window pass.
    pub fn pass<'a>(&mut self, event: &WireEvent<'a>) -> Option<WireEvent<'a>> {
        let passes = self.passes_direction(event.direction)
            && (!self.looks_at_kinds() || self.passes_kinds(event));
        passes.then(|| self.within(event)).flatten()
    }

    /// Whether `event` matches the kinds, addresses and flows of the filter.
    fn passes_kinds(&mut self, event: &WireEvent<'_>) -> bool {
        match event.what {
            What::Departure(departure) => {
                let passes = match departure.packet() {
                    Some(packet) => self.passes_packet(packet, departure.kind, event),
                    None => self.passes_without_packet(departure.kind),
                };
                if let Content::Tlp { sequence, .. } = departure.content
                    && self.has_arrivals
                {
                    self.on_the_way[event.direction.0].push_back((sequence, passes));
                }
                passes
            }
            What::Arrival(arrival) => match arrival.mark {
                Mark::Tlp(sequence) => self.passed(event.direction, sequence),
                Mark::Dllp(bytes) => {
                    let dllp = Dllp::parse(&bytes).ok();
                    self.passes_without_packet(Kind::of_dllp(dllp.as_ref()))
                }
            },
        }
    }

    /// Whether events of this direction can pass.
    pub fn passes_direction(&self, direction: DirectionId) -> bool {
        let all = self.directions.as_ref();
        all.is_none_or(|directions| directions[direction.0])
    }

    /// Whether the filter stores requests, to recognise their completions on all links.
    pub fn remembers_requests(&self) -> bool {
        self.addresses.is_some()
    }

    /// Whether `time` is within the window.
    pub fn passes_time(&self, time: Time) -> bool {
        let window = self.window.as_ref();
        window.is_none_or(|window| window.contains(&time))
    }

    /// Whether the filter has kinds, addresses or flows.
    fn looks_at_kinds(&self) -> bool {
        self.kinds.is_some() || self.addresses.is_some() || self.flows.is_some()
    }

    fn passes_kind(&self, kind: Kind) -> bool {
        self.kinds.is_none_or(|kinds| kinds.contains(kind))
    }

    fn passes_without_packet(&self, kind: Kind) -> bool {
        self.addresses.is_none() && self.flows.is_none() && self.passes_kind(kind)
    }

    fn passes_packet(&mut self, packet: &Packet, kind: Kind, event: &WireEvent<'_>) -> bool {
        // The address is checked first, because requests must be stored even if only their completions are of a kind that passes.
        let by_address = self.passes_address(packet, event);
        let flow = packet.stamp.flow;
        let by_flow = self
            .flows
            .as_ref()
            .is_none_or(|flows| flow.is_some_and(|flow| flows.get(flow.0 as usize) == Some(&true)));
        by_address && by_flow && self.passes_kind(kind)
    }

    fn passes_address(&mut self, packet: &Packet, event: &WireEvent<'_>) -> bool {
        let Some((first, last)) = self.addresses else {
            return true;
        };
        let header = packet.header();
        let host = event.names.direction(event.direction).host;
        let request = (host, header.requester(), header.tag());
        if matches!(header.kind, Protocol::Completion(_)) {
            return self.requests.contains(&request);
        }
        let passes = ranges(packet).any(|(from, to)| from <= last && first <= to);
        if header.class() == protocol::Class::NonPosted {
            if passes {
                self.requests.insert(request);
            } else {
                self.requests.remove(&request);
            }
        }
        passes
    }

    /// Whether the departure of the TLP with the number `sequence`, which has arrived, passed the filter. If it departed before the capture began,
    /// the result is false.
    fn passed(&mut self, direction: DirectionId, sequence: u16) -> bool {
        let left = &mut self.on_the_way[direction.0];
        let Some(position) = left.iter().position(|(one, _)| *one == sequence) else {
            return false;
        };
        left.drain(..position);
        left.pop_front().is_some_and(|(_, passed)| passed)
    }

    fn within<'a>(&self, event: &WireEvent<'a>) -> Option<WireEvent<'a>> {
        let Some(window) = &self.window else {
            return Some(*event);
        };
        if let What::Departure(departure) = event.what
            && let Content::OrderedSets(sets) = departure.content
        {
            let (sets, at) = ordered_sets_within((sets, event.at), window)?;
            let content = Content::OrderedSets(sets);
            let what = What::Departure(Departure {
                content,
                ..departure
            });
            return Some(WireEvent { at, what, ..*event });
        }
        window.contains(&event.at).then_some(*event)
    }
}

/// Of several ordered sets, the first of which begins at `start`: the ordered sets that begin within `window`, and the time at which the first of
/// them begins.
fn ordered_sets_within(
    (sets, start): (OrderedSets, Time),
    window: &Range<Time>,
) -> Option<(OrderedSets, Time)> {
    // The number of ordered sets that begin before `time`.
    let before = |time: Time| {
        let since = time.since(start).as_fs();
        let number = if sets.interval == Span::ZERO {
            u64::from(time > start)
        } else {
            since.div_ceil(sets.interval.as_fs())
        };
        number.min(sets.count.into())
    };
    let (first, end) = (before(window.start), before(window.end));
    let count = end.saturating_sub(first) as u32;
    let start = start + sets.interval * first;
    (end > first).then_some((OrderedSets { count, ..sets }, start))
}

/// The first and the last byte of each range of addresses in a packet.
fn ranges(packet: &Packet) -> impl Iterator<Item = (u64, u64)> {
    let range = |first: u64, length: u64| (first, first.saturating_add(length.max(1) - 1));
    let header = packet.header();
    let one = match &header.kind {
        Protocol::MemoryRead(request) | Protocol::MemoryWrite(request) => {
            Some(range(request.first_byte(), request.byte_len().into()))
        }
        Protocol::Atomic(atomic) => Some(range(atomic.address(), atomic.width().into())),
        Protocol::Network(network) => Some(range(network.address(), network.len().into())),
        Protocol::Message(request) => match &request.message {
            Message::PageRequest(page) => Some(range(page.page.address(), 4096)),
            _ => None,
        },
        _ => None,
    };
    let coherent = matches!(header.kind, Protocol::Coherence(_));
    let said = coherent.then(|| messages(packet.payload()));
    let lines = said.into_iter().flatten().filter_map(move |message| {
        let (coherence::Content::Request(line, _) | coherence::Content::Snoop(line, _)) =
            message.content
        else {
            return None;
        };
        Some(range(line.address(), coherence::LINE_BYTES as u64))
    });
    one.into_iter().chain(lines)
}

fn links(written: &[String], names: &Names) -> Result<Option<Vec<bool>>, FilterError> {
    let links = names.directions().iter().map(|one| one.link.as_str());
    chosen(written, links, "at", "there is no link of this name")
}

fn flows(written: &[String], names: &Names) -> Result<Option<Vec<bool>>, FilterError> {
    let flows = names.flows().iter().map(String::as_str);
    let wrong = "there is no flow or other workload of this name";
    chosen(written, flows, "flow", wrong)
}

/// For each name in `all`: whether it is among the written names. `None` if no name is written. Each written name must be in `all`.
fn chosen<'a>(
    written: &[String],
    all: impl Iterator<Item = &'a str>,
    part: &'static str,
    wrong: &str,
) -> Result<Option<Vec<bool>>, FilterError> {
    let mut known: Vec<&str> = all.collect();
    let passes = known
        .iter()
        .map(|name| written.iter().any(|one| one == name));
    let passes = (!written.is_empty()).then(|| passes.collect());
    known.dedup();
    match written.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let advice = format!("{wrong}; {}", scenario::advice(name, &known));
            Err(error(part, name, advice))
        }
        None => Ok(passes),
    }
}

fn kinds(written: &[String]) -> Result<Option<Kinds>, FilterError> {
    let mut set = None;
    for name in written {
        let named = Kinds::named(name).ok_or_else(|| {
            let advice = format!("there is no such kind; write one of {}", all_kinds());
            error("kind", name, advice)
        })?;
        set = Some(set.unwrap_or(Kinds::NONE).and(named));
    }
    Ok(set)
}

/// A list of the names of all kinds, group by group, for messages.
fn all_kinds() -> String {
    let groups = [
        Group::Tlp,
        Group::Dllp,
        Group::OrderedSet,
        Group::Frame,
        Group::Block,
    ];
    let told = groups.map(|group| {
        let kinds = Kind::ALL.iter().filter(|kind| kind.group() == group);
        let names: Vec<_> = kinds.map(|kind| kind.name()).collect();
        match names.as_slice() {
            [one] if *one == group.name() => group.name().to_owned(),
            names => format!("{} ({})", group.name(), names.join(", ")),
        }
    });
    told.join(", ")
}

fn addresses(written: &str) -> Result<(u64, u64), FilterError> {
    let wrong = |what: &str| {
        let advice =
            format!("{what}; write the first and the last address, such as 0x80000000-0x80000fff");
        error("address", written, advice)
    };
    let (first, last) = written
        .split_once('-')
        .ok_or_else(|| wrong("not a range of addresses"))?;
    let (first, last) = number(first)
        .zip(number(last))
        .ok_or_else(|| wrong("not a range of addresses"))?;
    if last < first {
        return Err(wrong("the last address is below the first"));
    }
    Ok((first, last))
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim().replace('_', "");
    let lower = text.to_ascii_lowercase();
    match lower.strip_prefix("0x") {
        Some(digits) if digits.starts_with('+') => None,
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if lower.starts_with('+') => None,
        None => lower.parse().ok(),
    }
}

fn window(written: &str) -> Result<Range<Time>, FilterError> {
    let wrong = |what: &str| {
        let advice = format!(
            "{what}; write the beginning and the end since the beginning of the run, such as \
             10us..20us, 10us.. or ..20us"
        );
        error("window", written, advice)
    };
    let (from, to) = written
        .split_once("..")
        .ok_or_else(|| wrong("not a window of time"))?;
    let bound = |text: &str, open: Time| {
        let text = text.trim();
        if text.is_empty() {
            return Ok(open);
        }
        let span = Span::read(&Value::Text(text)).map_err(|what| wrong(&what))?;
        Ok(Time::ZERO + span)
    };
    let window = bound(from, Time::ZERO)?..bound(to, Time::NEVER)?;
    if from.trim().is_empty() && to.trim().is_empty() {
        return Err(wrong("a window of all time filters nothing"));
    }
    if window.is_empty() {
        return Err(wrong(
            "the window is empty, because it ends before it begins",
        ));
    }
    Ok(window)
}

fn error(part: &'static str, written: &str, advice: String) -> FilterError {
    FilterError {
        part,
        written: written.to_owned(),
        advice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message<T: std::fmt::Debug>(read: Result<T, FilterError>) -> String {
        read.expect_err("it cannot be meant").to_string()
    }

    #[test]
    fn a_window_has_a_beginning_before_its_end() {
        let us = |count| Time::ZERO + Span::from_us(count);
        assert_eq!(window("10us..20 us"), Ok(us(10)..us(20)));
        assert_eq!(window("..20us"), Ok(Time::ZERO..us(20)));
        assert_eq!(window("10us.."), Ok(us(10)..Time::NEVER));
        for empty in ["20us..10us", "10us..10us"] {
            assert!(message(window(empty)).contains("the window is empty"));
        }
        assert!(message(window("..")).contains("filters nothing"));
        assert!(message(window("10us")).contains("10us..20us"));
        assert!(message(window("10..20us")).contains("unit"));
    }

    #[test]
    fn a_range_of_addresses_has_a_first_and_a_last_byte() {
        assert_eq!(addresses("0x1000-0x1FFF"), Ok((0x1000, 0x1fff)));
        assert_eq!(addresses("16-16"), Ok((16, 16)));
        for wrong in ["", "-", "0x-0x", "0x10", "a-b", "0x+1-2", "1-+2"] {
            assert!(message(addresses(wrong)).contains("not a range"), "{wrong}");
        }
        assert!(message(addresses("2-1")).contains("below the first"));
    }

    #[test]
    fn a_wrong_kind_gets_the_list_of_kinds() {
        let told = message(kinds(&["MWr".to_owned(), "write".to_owned()]));
        assert!(told.starts_with(r#"kind "write": "#));
        for kind in Kind::ALL {
            assert!(told.contains(kind.name()), "{told} lacks {}", kind.name());
        }
    }

    proptest! {
        /// Several ordered sets are recorded as one event. Exactly the ordered sets that begin in the window pass.
        #[test]
        fn a_window_takes_the_ordered_sets_that_begin_in_it(
            start in 0_u64..1000,
            count in 1_u32..20,
            interval in 1_u64..100,
            from in 0_u64..3000,
            length in 1_u64..3000,
        ) {
            let time = Time::from_fs;
            let sets = OrderedSets {
                count,
                bytes: 16,
                token_bytes: 0,
                interval: Span::from_fs(if count == 1 { 0 } else { interval }),
            };
            let begins = |(sets, start): (OrderedSets, Time)| {
                let begin = |number| start + sets.interval * u64::from(number);
                (0..sets.count).map(begin).collect::<Vec<_>>()
            };
            let window = time(from)..time(from + length);
            let sets = (sets, time(start));
            let mut expected = begins(sets);
            expected.retain(|begin| window.contains(begin));
            let within = ordered_sets_within(sets, &window).map(begins);
            prop_assert_eq!(within.unwrap_or_default(), expected);
        }
    }
}
