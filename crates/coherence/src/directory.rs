//! The home agent's directory: the agents that may hold each line.

use protocol::coherence::{AgentId, Line};

/// The holders of every line. Agents remove clean lines without a message, so an agent in this directory may no longer hold the line. An
/// agent that holds a line is always in the directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Directory {
    first: Line,
    /// Pages of lines, up to the last page that was used.
    pages: Vec<Option<Box<Page>>>,
}

/// The entries of consecutive lines.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Page {
    holders: [Holders; PAGE],
    /// Lines with a request in service, one bit each.
    busy: u64,
}

const PAGE: usize = 64;

/// The agents that hold a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Holders {
    /// No agent.
    #[default]
    Nobody,
    /// One agent, which may have written the line.
    One(AgentId),
    /// The agents whose bits are set. These agents may only read the line.
    Readers(u64),
}

impl Directory {
    /// A directory of lines from `first` on, without holders.
    pub(crate) fn new(first: Line) -> Self {
        Directory {
            first,
            pages: Vec::new(),
        }
    }

    fn place(&self, line: Line) -> (usize, usize) {
        let number = line.number() - self.first.number();
        (number as usize / PAGE, number as usize % PAGE)
    }

    pub(crate) fn of(&self, line: Line) -> Holders {
        let (page, place) = self.place(line);
        match self.pages.get(page) {
            Some(Some(page)) => page.holders[place],
            _ => Holders::Nobody,
        }
    }

    /// Whether a request for the line is in service.
    pub(crate) fn is_busy(&self, line: Line) -> bool {
        let (page, place) = self.place(line);
        let page = self.pages.get(page).and_then(Option::as_ref);
        page.is_some_and(|page| page.busy >> place & 1 == 1)
    }

    pub(crate) fn set_busy(&mut self, line: Line, busy: bool) {
        let (page, place) = self.page(line);
        page.busy = page.busy & !(1 << place) | u64::from(busy) << place;
    }

    pub(crate) fn set(&mut self, line: Line, holders: Holders) {
        let (page, place) = self.page(line);
        page.holders[place] = holders;
    }

    fn page(&mut self, line: Line) -> (&mut Page, usize) {
        let (page, place) = self.place(line);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let empty = || {
            Box::new(Page {
                holders: [Holders::Nobody; PAGE],
                busy: 0,
            })
        };
        (self.pages[page].get_or_insert_with(empty), place)
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = (Line, Holders)> {
        let first = self.first.number();
        let pages = self.pages.iter().enumerate();
        pages
            .flat_map(|(number, page)| {
                let lines = page.iter().flat_map(|page| page.holders.iter().enumerate());
                lines.map(move |(place, holders)| (number * PAGE + place, *holders))
            })
            .filter(|(_, holders)| *holders != Holders::Nobody)
            .map(move |(number, holders)| (Line::numbered(first + number as u64), holders))
    }
}

impl Holders {
    /// The bits of all holders except `agent`.
    pub(crate) fn others(self, agent: AgentId) -> u64 {
        let bits = match self {
            Holders::Nobody => 0,
            Holders::One(one) => bit(one),
            Holders::Readers(readers) => readers,
        };
        bits & !bit(agent)
    }

    pub(crate) fn include(self, agent: AgentId) -> bool {
        match self {
            Holders::Nobody => false,
            Holders::One(one) => one == agent,
            Holders::Readers(readers) => readers & bit(agent) != 0,
        }
    }

    pub(crate) fn without(self, agent: AgentId) -> Self {
        match self {
            Holders::One(one) if one != agent => self,
            Holders::Readers(readers) if readers != bit(agent) => {
                Holders::Readers(readers & !bit(agent))
            }
            _ if self.include(agent) => Holders::Nobody,
            _ => self,
        }
    }
}

pub(crate) fn bit(agent: AgentId) -> u64 {
    1 << agent.number()
}

pub(crate) fn agents(mut bits: u64) -> impl Iterator<Item = AgentId> {
    std::iter::from_fn(move || {
        let lowest = AgentId::new(bits.trailing_zeros() as u8)?;
        bits &= bits - 1;
        Some(lowest)
    })
}
