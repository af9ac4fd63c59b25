//! Pages for the memory of cards. Another thread touches each page in advance.
//!
//! The first touch of a page is slow, because the operating system must clear the page, and a virtual machine needs its own host for this. The
//! touch may take as much real time as the simulation of the transfer. Therefore a thread keeps some pages ready while a session is open, from
//! the first write to a card's memory or the first [large buffer](LARGE) on. The pages contain zeros, as they would without this thread.

use std::hint::black_box;
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use session::has_one_core;
use sim::{MemoryPage, set_page_source};

/// A value that keeps pages ready for a session.
#[derive(Debug)]
pub(crate) struct ReadyPages(());

#[derive(Debug)]
struct Stock {
    pages: Vec<Box<MemoryPage>>,
    sessions: u32,
    state: State,
}

/// The state of the thread that touches pages in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no thread.
    Absent,
    /// The thread waits until pages are taken.
    Waits,
    /// The thread makes pages.
    Works,
}

static STOCK: Mutex<Stock> = Mutex::new(Stock {
    pages: Vec::new(),
    sessions: 0,
    state: State::Absent,
});
static CHANGED: Condvar = Condvar::new();

/// Largest number of pages that are kept ready: 4 MiB.
const MOST: usize = 64;
/// Number of ready pages at which the thread makes new pages.
const FEW: usize = MOST / 2;

/// Size of the smallest buffer in bytes for which pages are made in advance.
const LARGE: u64 = 1 << 20;

/// The smallest page of the machine in bytes.
const TOUCHED: usize = 4096;

impl ReadyPages {
    /// Keeps pages ready until this value is dropped.
    pub(crate) fn new() -> Self {
        set_page_source(take);
        stock().sessions += 1;
        ReadyPages(())
    }
}

/// Begins to make pages if a program of a session pins a large buffer, which is probably for a transfer to a card's memory.
pub(crate) fn expect_transfer(size: u64) {
    if size >= LARGE {
        stock().begin();
    }
}

impl Stock {
    /// Starts or wakes the thread that makes pages, unless it works. On a single core there is no thread, because it would save no time.
    fn begin(&mut self) {
        match self.state {
            State::Works => {}
            State::Waits => CHANGED.notify_all(),
            State::Absent if has_one_core() => {}
            State::Absent => {
                let thread = thread::Builder::new().name("peerlane pages".into());
                if thread.spawn(make_pages).is_ok() {
                    self.state = State::Works;
                }
            }
        }
    }
}

impl Drop for ReadyPages {
    fn drop(&mut self) {
        let mut stock = stock();
        stock.sessions -= 1;
        if stock.sessions == 0 {
            stock.pages = Vec::new();
            CHANGED.notify_all();
        }
    }
}

fn stock() -> MutexGuard<'static, Stock> {
    STOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take() -> Option<Box<MemoryPage>> {
    let mut stock = stock();
    if stock.sessions == 0 {
        return None;
    }
    let page = stock.pages.pop();
    if stock.pages.len() <= FEW {
        stock.begin();
    }
    page
}

/// Makes pages whenever there are few, until no session is open.
fn make_pages() {
    let mut kept = stock();
    while kept.sessions > 0 {
        if kept.pages.len() < MOST {
            drop(kept);
            let page = touched_page();
            kept = stock();
            if kept.sessions > 0 {
                kept.pages.extend(page);
            }
            continue;
        }
        kept.state = State::Waits;
        kept = CHANGED
            .wait_while(kept, |stock| stock.sessions > 0 && stock.pages.len() > FEW)
            .unwrap_or_else(PoisonError::into_inner);
        kept.state = State::Works;
    }
    kept.state = State::Absent;
}

fn touched_page() -> Option<Box<MemoryPage>> {
    let bytes = vec![0; mem::size_of::<MemoryPage>()].into_boxed_slice();
    let mut page: Box<MemoryPage> = bytes.try_into().ok()?;
    for byte in page.iter_mut().step_by(TOUCHED) {
        *black_box(byte) = 0;
    }
    Some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_lets_pages_be_made() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let session = ReadyPages::new();
        expect_transfer(LARGE - 1);
        assert_eq!(stock().state, State::Absent);
        expect_transfer(LARGE);
        let is_full = || stock().pages.len() == MOST;
        let is_made = has_one_core()
            || (0..10_000).any(|_| {
                thread::sleep(std::time::Duration::from_millis(1));
                is_full()
            });
        assert!(is_made, "not all pages are ready after ten seconds");
        drop(session);
        await_end();
    }

    /// Only one test at a time has a session.
    static ALONE: Mutex<()> = Mutex::new(());

    /// Waits until the thread that makes pages has ended.
    fn await_end() {
        while stock().state != State::Absent {
            thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn pages_are_ready_while_a_session_is_open_and_contain_zeros() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(take(), None);
        let session = ReadyPages::new();
        let page = (0..10_000).find_map(|_| {
            thread::sleep(std::time::Duration::from_millis(1));
            take()
        });
        if let Some(page) = page {
            assert!(page.iter().all(|byte| *byte == 0));
        } else {
            assert!(has_one_core(), "no page is ready after ten seconds");
        }
        assert!(stock().pages.len() <= MOST);
        drop(session);
        assert_eq!(take(), None);
        assert!(stock().pages.is_empty());
        await_end();
    }
}
