//! The library's lock. A signal handler of the program that interrupts the thread with the lock gets an error instead of a
//! deadlock.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

use rustix::thread::futex;
use rustix::time::Timespec;

const FREE: u32 = 0;
const HELD: u32 = 1;
const WANTED: u32 = 2;

/// Number of attempts of `lock_soon`.
const TRIES: u32 = 2000;

/// A value that only one thread at a time can use.
pub struct Lock<T> {
    word: AtomicU32,
    owner: AtomicUsize,
    waiting: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that holds the lock accesses the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Self {
        Lock {
            word: AtomicU32::new(FREE),
            owner: AtomicUsize::new(0),
            waiting: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks the value. Returns `None` if this thread already holds the lock: the caller is then a signal handler that has interrupted the
    /// holder.
    ///
    /// [Deferrable signals](deferrable) are blocked until the guard is dropped.
    pub fn lock(&self) -> Option<Guard<'_, T>> {
        if self.owner.load(Ordering::Relaxed) == this_thread() {
            return None;
        }
        let mask = block_unless_blocked();
        self.acquire();
        Some(Guard { lock: self, mask })
    }

    /// Locks the value, unless another thread holds the lock for long. It is for callers for which the holder of the lock may be waiting. If
    /// `is_brief` is true for the holder, the holder waits for no other thread, so the caller waits until the holder unlocks.
    pub fn lock_soon(&self, is_brief: impl Fn(usize) -> bool) -> Option<Guard<'_, T>> {
        if self.owner.load(Ordering::Relaxed) == this_thread() {
            return None;
        }
        let mask = block_unless_blocked();
        let mut tries = 0;
        while tries < TRIES {
            if self.take_free() {
                self.owner.store(this_thread(), Ordering::Relaxed);
                return Some(Guard { lock: self, mask });
            }
            tries += u32::from(!is_brief(self.owner.load(Ordering::Relaxed)));
            // SAFETY: the call has no arguments.
            unsafe { libc::syscall(libc::SYS_sched_yield) };
        }
        mask.as_ref().inspect(|mask| unblock_signals(mask));
        None
    }

    fn take_free(&self) -> bool {
        let word = &self.word;
        let taken = word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Locks without a guard, for example before a fork.
    pub fn acquire(&self) {
        if !self.take_free() {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            while self.word.swap(WANTED, Ordering::SeqCst) != FREE {
                futex_wait(&self.word, WANTED, None);
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        self.owner.store(this_thread(), Ordering::Relaxed);
    }

    /// Whether a thread waits for the lock.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }

    /// Clears the number of waiting threads, because a child process has only one thread.
    pub fn forget_others(&self) {
        self.waiting.store(0, Ordering::SeqCst);
    }

    /// Unlocks a lock that was taken without a guard.
    pub fn release(&self) {
        self.owner.store(0, Ordering::Relaxed);
        if self.word.swap(FREE, Ordering::Release) == WANTED {
            futex_wake(&self.word, 1);
        }
    }

    /// The value of a lock that was taken without a guard.
    ///
    /// # Safety
    /// This thread must hold the lock, and must not have another reference to the value.
    #[expect(clippy::mut_from_ref, reason = "the lock is held")]
    pub unsafe fn held(&self) -> &mut T {
        // SAFETY: the caller guarantees that this thread holds the lock and has no other reference.
        unsafe { &mut *self.value.get() }
    }
}

/// Access to the value while this thread holds the lock.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// The signal mask to restore. `None` if the lock has not changed the mask.
    mask: Option<libc::sigset_t>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.lock.release();
        self.mask.as_ref().inspect(|mask| unblock_signals(mask));
    }
}

/// A number that identifies this thread among the existing threads.
pub fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| ptr::from_ref(mark) as usize)
}

/// Whether this thread is in a handler of the library, in which deferrable signals are blocked.
fn is_in_handler() -> &'static std::thread::LocalKey<Cell<bool>> {
    thread_local!(static IN_HANDLER: Cell<bool> = const { Cell::new(false) });
    &IN_HANDLER
}

/// Records whether this thread is in a handler in which the system blocks [deferrable signals](deferrable), so that locks do not need to block
/// them. Returns the previous record.
pub fn note_handler(is_in: bool) -> bool {
    is_in_handler().replace(is_in)
}

/// Blocks the deferrable signals, if a handler of the program can run in this thread now. Without a handler, two system calls are saved.
fn block_unless_blocked() -> Option<libc::sigset_t> {
    let can_run = HANDLERS.load(Ordering::Relaxed) != 0 && !is_in_handler().get();
    can_run.then(block_signals)
}

/// Whether the program may have handlers of [deferrable signals](deferrable): [`INSTALLED`], [`EARLIER`] or both.
static HANDLERS: AtomicU8 = AtomicU8::new(EARLIER);

/// Flag: the program has installed a handler since the library was loaded.
const INSTALLED: u8 = 1;
/// Flag: the program may have installed a handler before the library was loaded.
const EARLIER: u8 = 2;

/// Records that the program is about to install a handler of `signal`.
pub fn note_installation(signal: i32) {
    if can_wait(signal) {
        HANDLERS.fetch_or(INSTALLED, Ordering::SeqCst);
    }
}

/// Reads from the operating system, once, whether handlers were installed before the library was loaded.
pub fn find_handlers() {
    let is_handled = |signal: i32| {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action, the call only writes the present one, which is initialised.
        let handler = unsafe {
            crate::real::sigaction(signal, ptr::null(), action.as_mut_ptr());
            action.assume_init().sa_sigaction
        };
        ![libc::SIG_DFL, libc::SIG_IGN].contains(&handler)
    };
    let mut signals = (1..=libc::SIGRTMAX()).filter(|signal| can_wait(*signal));
    if !signals.any(is_handled) {
        HANDLERS.fetch_and(!EARLIER, Ordering::SeqCst);
    }
}

/// Whether a signal is [deferrable](deferrable).
fn can_wait(signal: i32) -> bool {
    // SAFETY: the set is initialised. A number that is not a signal returns an error.
    unsafe { libc::sigismember(deferrable(), signal) == 1 }
}

/// The deferrable signals, which can be blocked for a short time: all except signals of faults, and signals that end a program.
pub fn deferrable() -> &'static libc::sigset_t {
    static SIGNALS: OnceLock<libc::sigset_t> = OnceLock::new();
    SIGNALS.get_or_init(find_deferrable)
}

fn find_deferrable() -> libc::sigset_t {
    let through = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGQUIT,
        libc::SIGHUP,
    ];
    let mut signals = MaybeUninit::uninit();
    // SAFETY: the set is written before it is read.
    unsafe {
        libc::sigfillset(signals.as_mut_ptr());
        for signal in through {
            libc::sigdelset(signals.as_mut_ptr(), signal);
        }
        signals.assume_init()
    }
}

/// Blocks the deferrable signals, and returns the previous mask.
pub fn block_signals() -> libc::sigset_t {
    let mut before = MaybeUninit::uninit();
    // SAFETY: the previous mask is written before it is read.
    unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, deferrable(), before.as_mut_ptr());
        before.assume_init()
    }
}

/// Restores a previous signal mask.
pub fn unblock_signals(before: &libc::sigset_t) {
    // SAFETY: the mask is only read.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, ptr::null_mut()) };
}

/// Waits until `word` is no longer `value`, for at most `limit` of real time. The wait may also end earlier, although `word` is unchanged.
pub fn futex_wait(word: &AtomicU32, value: u32, limit: Option<Timespec>) {
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, limit.as_ref());
}

/// Wakes at most `count` threads that wait for a change of `word`.
pub fn futex_wake(word: &AtomicU32, count: u32) {
    let _ = futex::wake(word, futex::Flags::PRIVATE, count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_holds_the_lock_is_not_given_it_again() {
        let lock = Lock::new(1);
        let held = lock.lock();
        assert!(held.is_some());
        assert!(lock.lock().is_none());
        drop(held);
        assert!(lock.lock().is_some());
    }

    #[test]
    fn a_brief_holder_is_waited_for_however_long_it_takes() {
        let lock = Lock::new(1);
        let owner = &AtomicUsize::new(0);
        std::thread::scope(|threads| {
            let holder = threads.spawn(|| {
                let held = lock.lock();
                owner.store(this_thread(), Ordering::Release);
                std::thread::sleep(std::time::Duration::from_millis(100));
                drop(held);
            });
            while owner.load(Ordering::Acquire) == 0 {
                std::thread::yield_now();
            }
            let is_holder = |thread| thread == owner.load(Ordering::Acquire);
            assert!(lock.lock_soon(is_holder).is_some());
            holder.join().expect("it ends");
        });
    }
}
