//! Memory that is shared with devices. In virtual time each page is open (accessible for the program) or closed (protected, so that an access
//! faults). The time of a faulting access is charged. Repeated faults show that the program polls a word.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::mm::{MprotectFlags, mprotect};
use session::SharedMemory;

/// Size of a page in bytes.
pub const PAGE: usize = 4096;
/// Size of a cache line in bytes.
pub const LINE: usize = 64;

/// The lowest and the highest address of all buffers so far.
static LOW: AtomicUsize = AtomicUsize::new(usize::MAX);
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// Whether a page was made accessible after all pages were protected.
static HAS_OPEN_PAGES: AtomicBool = AtomicBool::new(false);

/// Whether a page may be accessible, so that it must be protected again. The caller need not hold the lock.
pub fn has_open_pages() -> bool {
    HAS_OPEN_PAGES.load(Ordering::SeqCst)
}

/// Whether a buffer may have bytes at these addresses.
pub fn may_touch(address: usize, len: usize) -> bool {
    address < HIGH.load(Ordering::Relaxed)
        && address.saturating_add(len) > LOW.load(Ordering::Relaxed)
}

/// All shared memory.
#[derive(Debug)]
pub struct Buffers {
    by_base: BTreeMap<usize, Buffer>,
    /// Number of stores and loads to devices so far.
    pub epoch: u64,
    /// Number of current system calls that use pages.
    used: u32,
    /// Whether pages must be protected when the last of these system calls ends.
    late: bool,
    /// Number of times that pages were protected.
    pub closing: u64,
}

#[derive(Debug)]
pub struct Buffer {
    /// The address of the buffer in the program.
    pub base: usize,
    /// Size in bytes, a multiple of the page size.
    pub len: usize,
    /// The program's name for the handle of the buffer.
    pub owner: usize,
    /// The number of the buffer in the session.
    pub id: u64,
    /// The number of the buffer in the program.
    pub wsid: u64,
    /// The address of the buffer for devices.
    pub address: u64,
    /// Whether the memory belonged to the program before it became a buffer.
    pub preallocated: bool,
    /// The library's own mapping of the memory, which is always accessible.
    pub inside: SharedMemory,
    /// The state of the pages. `None` if the pages are always accessible.
    pub pages: Option<Pages>,
}

/// The pages that are accessible, and the pages whose first access was charged.
#[derive(Debug)]
pub struct Pages {
    open: Vec<bool>,
    runs: Vec<Range<usize>>,
    charged: Vec<u64>,
}

impl Pages {
    /// The pages of a buffer of `len` bytes, all of which are protected.
    pub fn closed(len: usize) -> Self {
        let count = len / PAGE;
        Pages {
            open: vec![false; count],
            runs: Vec::new(),
            charged: vec![0; count],
        }
    }
}

impl Buffer {
    fn protect(&self, pages: Range<usize>, flags: MprotectFlags) -> bool {
        protect(self.base, pages, flags)
    }

    /// Whether the pages of the buffer are protected from time to time.
    pub fn is_guarded(&self) -> bool {
        self.pages.is_some()
    }

    /// Whether the page at `address` is accessible.
    pub fn is_open(&self, address: usize) -> bool {
        let page = (address - self.base) / PAGE;
        self.pages.as_ref().is_none_or(|pages| pages.open[page])
    }

    /// The cache line that contains `address`, and its offset in the buffer.
    pub fn line(&self, address: usize) -> (usize, [u8; LINE]) {
        let offset = (address - self.base) / LINE * LINE;
        let mut line = [0; LINE];
        self.inside.read(offset, &mut line);
        (offset, line)
    }

    /// Marks the page at `address` as charged in this epoch. Returns whether it had not been charged in this epoch before.
    pub fn charge(&mut self, address: usize, epoch: u64) -> bool {
        let page = (address - self.base) / PAGE;
        self.pages
            .as_mut()
            .is_some_and(|pages| std::mem::replace(&mut pages.charged[page], epoch) != epoch)
    }

    /// Makes the page at `address` accessible, or all pages if the system cannot make more mappings.
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
        HAS_OPEN_PAGES.store(true, Ordering::SeqCst);
        pages.open[opened.clone()].fill(true);
        match pages.runs.last_mut() {
            Some(run) if run.end == opened.start => run.end = opened.end,
            Some(run) if run.start == opened.end => run.start = opened.start,
            _ => pages.runs.push(opened),
        }
    }

    /// Protects the accessible pages; returns whether any page was accessible. The function neither allocates nor frees memory, because it may be
    /// called from an allocator.
    fn close(&mut self) -> bool {
        let (base, all) = (self.base, self.len / PAGE);
        let Some(pages) = &mut self.pages else {
            return false;
        };
        let closes = !pages.runs.is_empty();
        for run in &pages.runs {
            pages.open[run.clone()].fill(false);
            // If the system cannot make more mappings, the whole buffer is protected at once.
            if !protect(base, run.clone(), MprotectFlags::empty()) {
                protect(base, 0..all, MprotectFlags::empty());
            }
        }
        pages.runs.clear();
        closes
    }

    /// Makes all pages permanently accessible.
    pub fn open_for_good(&mut self) {
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
    /// No buffers.
    pub const fn new() -> Self {
        Buffers {
            by_base: BTreeMap::new(),
            epoch: 1,
            used: 0,
            late: false,
            closing: 0,
        }
    }

    /// Adds a buffer. If it is guarded, all its pages are protected.
    pub fn insert(&mut self, buffer: Buffer) {
        if buffer.is_guarded() {
            buffer.protect(0..buffer.len / PAGE, MprotectFlags::empty());
        }
        LOW.fetch_min(buffer.base, Ordering::Relaxed);
        HIGH.fetch_max(buffer.base + buffer.len, Ordering::Relaxed);
        self.by_base.insert(buffer.base, buffer);
    }

    /// Whether a page is accessible, so that it must be protected again.
    pub fn has_open_pages(&self) -> bool {
        let mut pages = self.by_base.values().filter_map(|it| it.pages.as_ref());
        pages.any(|pages| !pages.runs.is_empty())
    }

    /// The buffer that contains `address`.
    pub fn at(&mut self, address: usize) -> Option<&mut Buffer> {
        let (_, buffer) = self.by_base.range_mut(..=address).next_back()?;
        (address - buffer.base < buffer.len).then_some(buffer)
    }

    /// Whether a buffer has bytes in this range.
    pub fn overlap(&self, base: usize, len: usize) -> bool {
        let before = self.by_base.range(..base + len).next_back();
        before.is_some_and(|(_, buffer)| buffer.base + buffer.len > base)
    }

    /// The buffer with the program's number `wsid`.
    pub fn find(&self, owner: usize, wsid: u64) -> Option<&Buffer> {
        self.by_base
            .values()
            .find(|buffer| buffer.owner == owner && buffer.wsid == wsid)
    }

    pub fn remove(&mut self, base: usize) -> Option<Buffer> {
        self.by_base.remove(&base)
    }

    /// Starts a new epoch before a store or load to a device. In a new epoch, the first access to each page is charged again.
    pub fn begin(&mut self) {
        self.epoch += 1;
        self.close();
    }

    /// Protects the accessible pages, at once or at the end of the last system call that uses pages.
    pub fn close(&mut self) {
        self.late = self.used > 0;
        if self.late {
            return;
        }
        let mut closed = false;
        for buffer in self.by_base.values_mut() {
            closed |= buffer.close();
        }
        HAS_OPEN_PAGES.store(false, Ordering::SeqCst);
        self.closing += u64::from(closed);
    }

    /// Begins a system call that uses pages. They stay accessible until the call ends.
    pub fn begin_use(&mut self) {
        self.used += 1;
    }

    /// Ends a system call that uses pages.
    pub fn end_use(&mut self) {
        self.used = self.used.saturating_sub(1);
        if self.late {
            self.close();
        }
    }

    /// Releases the buffers of a handle that is closed. The program keeps the memory, but the memory is no longer shared.
    pub fn forget(&mut self, owner: usize) {
        self.by_base.retain(|_, buffer| {
            let kept = buffer.owner != owner;
            if !kept {
                buffer.open_for_good();
            }
            kept
        });
    }

    /// Makes all pages of all buffers permanently accessible.
    pub fn open_for_good(&mut self) {
        self.by_base.values_mut().for_each(Buffer::open_for_good);
    }
}
