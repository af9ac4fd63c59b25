//! Property tests of a translation agent while software changes its page tables.

use proptest::prelude::*;
use protocol::FunctionId;
use transaction::{Memory, PageSize};

use super::*;

const BASE: u64 = 1 << 32;
const ROOM: u64 = 1 << 20;
type Outcome = Result<Mapping, TranslationFault>;

#[derive(Clone, Copy, Debug)]
enum Act {
    IommuRequest(usize, u64, Purpose),
    Pass(u64),
    Map(usize, Mapping),
    Unmap(usize, u64),
    Bind(usize, usize),
}

/// Two functions, two page tables, and all answers that are correct for each outstanding request.
struct World {
    memory: Memory,
    tables: Vec<PageTable>,
    /// The number of each function's page table.
    bindings: [usize; 2],
    iommu: Iommu,
    reads: Reads,
    now: Time,
    open: BTreeMap<u32, (usize, IommuRequest, Vec<Outcome>)>,
    asked: u32,
}

/// The times at which the walkers' reads end. The reads have different latencies.
struct Reads {
    walkers: usize,
    ends: Vec<Time>,
}

impl World {
    fn new(parameters: &IommuParameters) -> Self {
        let mut memory = Memory::new(2 * ROOM);
        let bases = [BASE, BASE + ROOM];
        let tables = bases.map(|base| PageTable::new(base..base + ROOM, BASE, &mut memory));
        let mut world = Self {
            tables: tables.map(|table| table.expect("there is room")).into(),
            memory,
            bindings: [0; 2],
            iommu: Iommu::new(parameters).expect("a legal geometry"),
            reads: Reads {
                walkers: parameters.walkers as usize,
                ends: Vec::new(),
            },
            now: Time::ZERO,
            open: BTreeMap::new(),
            asked: 0,
        };
        for function in 0..2 {
            world.bind(function, function);
        }
        world
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::IommuRequest(function, address, purpose) => self.ask(function, address, purpose),
            Act::Pass(ns) => self.pass(self.now + Span::from_ns(ns)),
            Act::Map(table, mapping) => {
                // No invalidation is needed, because nothing was mapped at this address, and unmapped pages are not cached.
                if self.tables[table].map(&mapping, &mut self.memory).is_ok() {
                    self.update_expected(|_, _| false);
                }
            }
            Act::Unmap(table, address) => {
                if let Ok(gone) = self.tables[table].unmap(address, &mut self.memory) {
                    self.invalidate(table, &gone);
                }
            }
            Act::Bind(function, table) => self.bind(function, table),
        }
    }

    fn ask(&mut self, function: usize, address: u64, purpose: Purpose) {
        let ask = IommuRequest {
            who: id(function).into(),
            address,
            purpose,
            ticket: self.asked,
        };
        self.asked += 1;
        self.iommu.ask(ask, self.now);
        let right = vec![self.right(function, &ask)];
        self.open.insert(ask.ticket, (function, ask, right));
    }

    /// The correct answer at this time.
    fn right(&self, function: usize, ask: &IommuRequest) -> Outcome {
        let table = &self.tables[self.bindings[function]];
        match table.find(ask.address, &self.memory) {
            Err(PageTableError::BeyondRange(_)) => Err(TranslationFault::BeyondRange),
            Err(_) => Err(TranslationFault::NotPresent),
            Ok(page) if ask.purpose == Purpose::Write && page.rights() == Rights::Read => {
                Err(TranslationFault::NoRights)
            }
            Ok(page) => Ok(page),
        }
    }

    fn invalidate(&mut self, table: usize, page: &Mapping) {
        let bindings = self.bindings;
        for (function, binding) in bindings.iter().enumerate() {
            if *binding == table {
                self.iommu.invalidate(id(function), &page.range());
            }
        }
        self.update_expected(|function, ask| {
            bindings[function] == table && page.covers(ask.address)
        });
    }

    fn bind(&mut self, function: usize, table: usize) {
        self.iommu.attach(id(function), self.tables[table].root());
        self.bindings[function] = table;
        self.update_expected(|other, _| other == function);
    }

    /// Updates the correct answers after a change. For requests whose page was invalidated, earlier answers are no longer correct.
    fn update_expected(&mut self, is_invalidated: impl Fn(usize, &IommuRequest) -> bool) {
        let mut open = std::mem::take(&mut self.open);
        for (function, ask, right) in open.values_mut() {
            if is_invalidated(*function, ask) {
                right.clear();
            }
            right.push(self.right(*function, ask));
        }
        self.open = open;
    }

    fn pass(&mut self, end: Time) {
        while self.iommu.next_time() <= end && self.iommu.next_time() < Time::NEVER {
            let now = self.iommu.next_time();
            let mut reads = (&mut self.reads, &self.memory);
            for answer in self.iommu.advance(now, &mut reads) {
                let asked = self.open.remove(&answer.ticket);
                let (_, ask, right) = asked.expect("a request is answered once");
                assert!(
                    right.contains(&answer.outcome),
                    "{ask:?} is answered {:x?} where {right:x?} would be right",
                    answer.outcome
                );
            }
        }
        self.now = end;
    }
}

impl DescriptorReads for (&mut Reads, &Memory) {
    fn read(&mut self, physical: u64, at: Time) -> (Option<u64>, Time) {
        let (reads, memory) = self;
        reads.ends.retain(|end| *end > at);
        let mut bytes = [0; 8];
        memory.read(physical - BASE, &mut bytes);
        let end = at + Span::from_ns(10 + physical / 8 % 7);
        reads.ends.push(end);
        assert!(
            reads.ends.len() <= reads.walkers,
            "each walker reads one descriptor at a time"
        );
        (Some(u64::from_le_bytes(bytes)), end)
    }
}

fn id(function: usize) -> FunctionId {
    FunctionId::new(1, 0, function as u8)
}

/// An address near page boundaries: in one page of each size, in the next page, or beyond both.
fn any_address() -> impl Strategy<Value = u64> {
    let bits = prop::sample::select(vec![12_u32, 16, 21, 25, 30]);
    (bits, 0..3_u64, 0..1_u64 << 12).prop_map(|(bits, number, rest)| (number << bits) + rest)
}

fn any_rights() -> impl Strategy<Value = Rights> {
    prop::sample::select(vec![Rights::Read, Rights::ReadWrite])
}

fn any_act() -> impl Strategy<Value = Act> {
    let size = prop::sample::select(&PageSize::ALL[..]);
    let mapping = (any_address(), 0..1_u64 << 40, size, any_rights())
        .prop_map(|(at, to, size, rights)| Mapping::around(at, to, size, rights));
    let purposes = vec![Purpose::Read, Purpose::Write, Purpose::Translation];
    let purpose = prop::sample::select(purposes);
    prop_oneof![
        12 => (0..2_usize, any_address(), purpose).prop_map(|(who, at, what)| Act::IommuRequest(who, at, what)),
        8 => (0..60_u64).prop_map(Act::Pass),
        6 => (0..2_usize, mapping).prop_map(|(table, page)| Act::Map(table, page)),
        4 => (0..2_usize, any_address()).prop_map(|(table, at)| Act::Unmap(table, at)),
        1 => (0..2_usize, 0..2_usize).prop_map(|(who, table)| Act::Bind(who, table)),
    ]
}

fn any_parameters() -> impl Strategy<Value = IommuParameters> {
    let shape = (0..5_u32, 0..5_u32, 1..5_u32, 0..6_u32);
    (shape, any::<bool>(), 0..30_u64).prop_map(|(shape, pretranslate, latency)| {
        let (entries, ways, walkers, walk_cache_entries) = shape;
        IommuParameters {
            iotlb_entries: 1 << entries,
            iotlb_ways: 1 << ways.min(entries),
            walkers,
            walk_cache_entries,
            pretranslate,
            request_latency: Span::from_ns(latency),
            ..IommuParameters::default()
        }
    })
}

proptest! {
    /// Each request is answered once. The answer agrees with the page tables at some time in an interval. The interval begins with the
    /// request or with the last invalidation of its page, whichever is later, and ends with the answer.
    #[test]
    fn no_answer_is_older_than_the_last_invalidation(
        parameters in any_parameters(), acts in prop::collection::vec(any_act(), 1..250),
    ) {
        let mut world = World::new(&parameters);
        for act in acts {
            world.act(act);
        }
        world.pass(world.now + Span::from_us(1000));
        prop_assert!(world.open.is_empty(), "every request is answered");
        prop_assert_eq!(world.iommu.next_time(), Time::NEVER);
        let counters = world.iommu.counters();
        prop_assert!(counters.hits <= counters.lookups);
        prop_assert!(counters.walks <= counters.descriptor_reads && counters.descriptor_reads <= 4 * counters.walks);
    }
}
