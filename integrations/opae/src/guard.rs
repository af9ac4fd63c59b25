//! Memory that is shared with devices. In virtual time each page of it is open to the program or closed: a page that is closed is
//! charged for when it is touched, and a program that looks at a word over and over is found out by it.

#![expect(unsafe_code, reason = "pages are opened and closed by their address")]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{MprotectFlags, mprotect};
use session::SharedMemory;

/// Bytes of a page that is open or closed.
pub const PAGE: usize = 4096;
/// Bytes of a line of a cache.
pub const LINE: usize = 64;

/// Where the first buffer begins and the last ends that there ever were.
static LOW: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// Whether any of a buffer may be at these addresses.
pub fn may_touch(address: usize, len: usize) -> bool {
    address < HIGH.load(Ordering::Relaxed)
        && address.saturating_add(len) > LOW.load(Ordering::Relaxed)
}

/// All the memory that is shared.
#[derive(Debug)]
pub struct Buffers {
    by_base: BTreeMap<usize, Buffer>,
    /// How often devices have been told something.
    epoch: u64,
    /// System calls that use pages at this moment.
    used: u32,
    /// Whether pages are to be closed when the last of them is over.
    late: bool,
    /// How often pages have been closed.
    closing: u64,
}

/// One buffer.
#[derive(Debug)]
pub struct Buffer {
    /// Where the program has it.
    pub base: usize,
    /// Its bytes, a multiple of the page.
    pub len: usize,
    /// What the program calls what it belongs to.
    pub owner: usize,
    /// What the simulation calls it.
    pub id: u64,
    /// What the program calls it.
    pub wsid: u64,
    /// Where devices see it.
    pub address: u64,
    /// Whether the memory is the program's.
    pub preallocated: bool,
    /// The library's own mapping of it, which is always open.
    pub inside: SharedMemory,
    pages: Option<Pages>,
}

/// Which pages are open, and which have been charged for.
#[derive(Debug)]
struct Pages {
    open: Vec<bool>,
    runs: Vec<Range<usize>>,
    charged: Vec<u64>,
}

impl Buffer {
    /// A buffer, all of which is closed if it is guarded.
    #[expect(clippy::too_many_arguments, reason = "a buffer has that many sides")]
    pub fn new(
        base: usize,
        len: usize,
        owner: usize,
        id: u64,
        wsid: u64,
        address: u64,
        preallocated: bool,
        inside: SharedMemory,
        guarded: bool,
    ) -> Self {
        let count = len / PAGE;
        let pages = guarded.then(|| Pages {
            open: vec![false; count],
            runs: Vec::new(),
            charged: vec![0; count],
        });
        let buffer = Buffer {
            base,
            len,
            owner,
            id,
            wsid,
            address,
            preallocated,
            inside,
            pages,
        };
        if guarded {
            buffer.protect(0..count, MprotectFlags::empty());
        }
        buffer
    }

    fn protect(&self, pages: Range<usize>, flags: MprotectFlags) -> bool {
        protect(self.base, pages, flags)
    }

    /// Whether its pages are opened and closed.
    pub fn is_guarded(&self) -> bool {
        self.pages.is_some()
    }

    /// Whether the page at `address` is open.
    pub fn is_open(&self, address: usize) -> bool {
        let page = (address - self.base) / PAGE;
        self.pages.as_ref().is_none_or(|pages| pages.open[page])
    }

    /// The line around `address`, and where it begins.
    pub fn line(&self, address: usize) -> (usize, [u8; LINE]) {
        let offset = (address - self.base) / LINE * LINE;
        let mut line = [0; LINE];
        self.inside.read(offset, &mut line);
        (offset, line)
    }

    /// Whether the page at `address` is not yet charged for in this epoch; now it is.
    pub fn charge(&mut self, address: usize, epoch: u64) -> bool {
        let page = (address - self.base) / PAGE;
        self.pages
            .as_mut()
            .is_some_and(|pages| std::mem::replace(&mut pages.charged[page], epoch) != epoch)
    }

    /// Opens the page at `address`, or all of them if the system has no room for more mappings.
    pub fn open(&mut self, address: usize) {
        let page = (address - self.base) / PAGE;
        let all = MprotectFlags::READ | MprotectFlags::WRITE;
        let opened = if self.protect(page..page + 1, all) {
            page..page + 1
        } else {
            self.protect(0..self.len / PAGE, all);
            0..self.len / PAGE
        };
        let Some(pages) = &mut self.pages else { return };
        pages.open[opened.clone()].fill(true);
        match pages.runs.last_mut() {
            Some(run) if run.end == opened.start => run.end = opened.end,
            Some(run) if run.start == opened.end => run.start = opened.start,
            _ => pages.runs.push(opened),
        }
    }

    /// Closes what is open, if anything is. It asks for no memory, and gives none back: an allocator may be why.
    fn close(&mut self) -> bool {
        let (base, all) = (self.base, self.len / PAGE);
        let Some(pages) = &mut self.pages else {
            return false;
        };
        let closes = !pages.runs.is_empty();
        for run in &pages.runs {
            pages.open[run.clone()].fill(false);
            // If the system has no room for more mappings, all of it is closed in one.
            if !protect(base, run.clone(), MprotectFlags::empty()) {
                protect(base, 0..all, MprotectFlags::empty());
            }
        }
        pages.runs.clear();
        closes
    }

    /// Leaves it open for good.
    pub fn let_go(&mut self) {
        let all = MprotectFlags::READ | MprotectFlags::WRITE;
        if self.pages.take().is_some() {
            self.protect(0..self.len / PAGE, all);
        }
    }
}

fn protect(base: usize, pages: Range<usize>, flags: MprotectFlags) -> bool {
    let first = (base + pages.start * PAGE) as *mut _;
    // SAFETY: the pages are within a buffer, into which the library has no references.
    unsafe { mprotect(first, pages.len() * PAGE, flags) }.is_ok()
}

impl Buffers {
    /// None yet.
    pub const fn new() -> Self {
        Buffers {
            by_base: BTreeMap::new(),
            epoch: 1,
            used: 0,
            late: false,
            closing: 0,
        }
    }

    /// One more.
    pub fn insert(&mut self, buffer: Buffer) {
        LOW.fetch_min(buffer.base, Ordering::Relaxed);
        HIGH.fetch_max(buffer.base + buffer.len, Ordering::Relaxed);
        self.by_base.insert(buffer.base, buffer);
    }

    /// How often devices have been told something.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How often pages have been closed.
    pub fn closing(&self) -> u64 {
        self.closing
    }

    /// The buffer at `address`.
    pub fn at(&mut self, address: usize) -> Option<&mut Buffer> {
        let (_, buffer) = self.by_base.range_mut(..=address).next_back()?;
        (address - buffer.base < buffer.len).then_some(buffer)
    }

    /// Whether any of them has bytes there.
    pub fn overlap(&self, base: usize, len: usize) -> bool {
        let before = self.by_base.range(..base + len).next_back();
        before.is_some_and(|(_, buffer)| buffer.base + buffer.len > base)
    }

    /// The one that the program calls `wsid`.
    pub fn find(&self, owner: usize, wsid: u64) -> Option<&Buffer> {
        self.by_base
            .values()
            .find(|buffer| buffer.owner == owner && buffer.wsid == wsid)
    }

    /// Takes it out.
    pub fn remove(&mut self, base: usize) -> Option<Buffer> {
        self.by_base.remove(&base)
    }

    /// Devices are told something: what is touched from now on is charged for.
    pub fn begin(&mut self) {
        self.epoch += 1;
        self.close();
    }

    /// Closes what is open, now or when no system call uses it any more.
    pub fn close(&mut self) {
        self.late = self.used > 0;
        if self.late {
            return;
        }
        let mut closed = false;
        for buffer in self.by_base.values_mut() {
            closed |= buffer.close();
        }
        self.closing += u64::from(closed);
    }

    /// A system call begins to use pages, which stay open until it is over.
    pub fn begin_use(&mut self) {
        self.used += 1;
    }

    /// It is over.
    pub fn end_use(&mut self) {
        self.used = self.used.saturating_sub(1);
        if self.late {
            self.close();
        }
    }

    /// What was opened is being closed: the memory stays, and is the program's alone.
    pub fn forget(&mut self, owner: usize) {
        self.by_base.retain(|_, buffer| {
            let kept = buffer.owner != owner;
            if !kept {
                buffer.let_go();
            }
            kept
        });
    }

    /// Leaves all of them open for good.
    pub fn let_go(&mut self) {
        self.by_base.values_mut().for_each(Buffer::let_go);
    }
}
