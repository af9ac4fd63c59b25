//! The real functions, from the libraries that are searched after this one.

#![allow(
    clippy::too_many_arguments,
    reason = "functions of the C library have as many"
)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    FILE, clockid_t, epoll_event, fd_set, iovec, nfds_t, off_t, pollfd, pthread_cond_t,
    pthread_mutex_t, pthread_rwlock_t, pthread_t, sem_t, siginfo_t, sigset_t, size_t, ssize_t,
    time_t, timespec, timeval,
};

macro_rules! real {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            /// The real function.
            pub unsafe fn $name($($argument: $type),*) $(-> $result)? {
                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
                let function = find(&FOUND, concat!(stringify!($name), "\0"));
                // SAFETY: the C library has the function with these arguments, and the caller guarantees that they are valid.
                unsafe {
                    transmute::<*mut c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(function)($($argument),*)
                }
            }
        )*
    };
}

real! {
    clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
    clock_nanosleep(clock: clockid_t, flags: c_int, span: *const timespec, left: *mut timespec) -> c_int;
    nanosleep(span: *const timespec, left: *mut timespec) -> c_int;
    poll(all: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    ppoll(all: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int;
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    epoll_pwait(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t) -> c_int;
    epoll_pwait2(epoll: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec, mask: *const sigset_t) -> c_int;
    sched_yield() -> c_int;
    pthread_cond_timedwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    pthread_cond_clockwait(cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) -> c_int;
    pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
    pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec) -> c_int;
    pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec) -> c_int;
    pthread_timedjoin_np(thread: pthread_t, result: *mut *mut c_void, until: *const timespec) -> c_int;
    pthread_clockjoin_np(thread: pthread_t, result: *mut *mut c_void, clock: clockid_t, until: *const timespec) -> c_int;
    sigtimedwait(signals: *const sigset_t, what: *mut siginfo_t, span: *const timespec) -> c_int;
    sem_timedwait(sem: *mut sem_t, until: *const timespec) -> c_int;
    sem_clockwait(sem: *mut sem_t, clock: clockid_t, until: *const timespec) -> c_int;
    read(file: c_int, bytes: *mut c_void, len: size_t) -> ssize_t;
    write(file: c_int, bytes: *const c_void, len: size_t) -> ssize_t;
    pread64(file: c_int, bytes: *mut c_void, len: size_t, offset: off_t) -> ssize_t;
    pwrite64(file: c_int, bytes: *const c_void, len: size_t, offset: off_t) -> ssize_t;
    readv(file: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    recv(socket: c_int, bytes: *mut c_void, len: size_t, flags: c_int) -> ssize_t;
    send(socket: c_int, bytes: *const c_void, len: size_t, flags: c_int) -> ssize_t;
    fread(bytes: *mut c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t;
    fwrite(bytes: *const c_void, size: size_t, count: size_t, file: *mut FILE) -> size_t;
    pthread_sigmask(how: c_int, mask: *const sigset_t, before: *mut sigset_t) -> c_int;
    sigprocmask(how: c_int, mask: *const sigset_t, before: *mut sigset_t) -> c_int;
    clock() -> libc::c_long;
    sigaction(signal: c_int, action: *const libc::sigaction, before: *mut libc::sigaction) -> c_int;
    sigsuspend(mask: *const sigset_t) -> c_int;
    sigset(signal: c_int, handler: usize) -> usize;
    sleep(span: c_uint) -> c_uint;
    time(place: *mut time_t) -> time_t;
    gettimeofday(place: *mut timeval, zone: *mut c_void) -> c_int;
}

/// Finds the address of a function, and stores it for the next calls.
fn find(found: &AtomicPtr<c_void>, name: &str) -> *mut c_void {
    let known = found.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the name ends with a zero.
    let function = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast::<c_char>()) };
    assert!(!function.is_null(), "the C library has no {name}");
    found.store(function, Ordering::Relaxed);
    function
}

/// Finds the address of the most frequently used function in advance.
pub fn resolve() {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local variable.
    unsafe { clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
}
