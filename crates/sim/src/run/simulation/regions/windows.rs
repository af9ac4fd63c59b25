//! Windows of time that all regions run at once, each on a thread of its own. In a window, a thread goes on as far as the promises of
//! the other regions let it, and then promises how long they have nothing to fear from its own.

use std::hint;
use std::mem;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;

use kernel::{Span, Time};

use super::super::Simulation;
use super::alarm::Alarm;
use super::region::Members;
use super::{Before, Region, Regions, Shares, lock};
use crate::model::Model;

/// The events that are worth the start of threads, and those after which the threads stop, so that somebody can look at the progress.
/// Our choice: some milliseconds, and a fraction of a second.
const FEWEST_EVENTS: u32 = 8192;
const MOST_EVENTS: u64 = 1 << 17;

/// The fewest events in the shortest lookahead that are worth the start of threads, the fewest of a stride that are worth going on with
/// them, and the events after which a run knows how many there are. Our choice: threads take some tenths of a microsecond to tell each
/// other of a stride, about as long as an event or two.
const FEWEST_IN_LOOKAHEAD: f64 = 8.0;
const FEWEST_IN_STRIDE: f64 = 4.0;
const EVENTS_TO_JUDGE: u64 = 1 << 16;

/// The events of a window, unless the lookahead is longer: few enough for their observations to stay in the cache until the probes get
/// them, and many enough for two meetings of all threads. Our choice.
const EVENTS_IN_WINDOW: f64 = 8192.0;

/// Looks at the promises of the others before a thread does the work of another one, or lets other threads of the machine run. Our
/// choice: some microseconds.
const LOOKS: u32 = 200;

/// The windows at the beginning of a run, whose course shows how long it will go on. Our choice.
const FIRST_WINDOWS: u64 = 4;

/// The reason for which one window does not follow another.
pub(in crate::run) enum Outcome {
    /// Nothing: there was no window.
    None,
    /// The next window needs a look at the whole fabric first.
    Pause,
    /// The run begins again.
    Again,
}

/// The reason for which a run has to begin again.
enum Failure {
    /// The last window reached beyond the end of the run, which goes on for certain until this time. It goes that far in windows that do not.
    WentTooFar(Time),
    /// One thread is needed, for this reason.
    OneThread(String),
}

/// The state that all threads see while one window follows another.
struct Shared<'r, 'm> {
    regions: &'r Regions,
    seats: Vec<Seat<'m>>,
    /// The end of the window, in femtoseconds.
    until: AtomicU64,
    /// The number of regions that have not come to the end of the window.
    open: AtomicUsize,
    /// Whether there is no further window.
    is_over: AtomicBool,
    alarm: Alarm,
}

/// What a thread takes to let a region go on. Each thread has a region of its own, and does the work of another one only if that one's
/// thread has no processor.
#[repr(align(128))]
struct Seat<'m> {
    members: Mutex<Members<'m>>,
    /// The promise up to which the region has gone on in this window, in femtoseconds. Zero before the first one, [`AT_THE_END`] after
    /// the last.
    gone: AtomicU64,
}

const AT_THE_END: u64 = u64::MAX;

impl Shared<'_, '_> {
    /// Helps with each window, until there is no further one.
    fn serve(&self, own: usize) {
        let _guard = self.alarm.guard();
        self.work(own, || self.is_over.load(Ordering::Acquire));
    }

    /// Opens a window from `begin` until `until`, which no thread looks at before.
    fn open(&self, begin: Time, until: Time) {
        // Delays are no shorter than this.
        self.regions.promise_to_all(begin + Span::from_fs(1));
        self.until.store(until.as_fs(), Ordering::Relaxed);
        self.open.store(self.seats.len(), Ordering::Relaxed);
        for seat in &self.seats {
            seat.gone.store(0, Ordering::Release);
        }
    }

    /// Lets regions go on until `is_done`, the region `own` if it can. Who finds work of other threads does not wait before the next look for
    /// it, until they have come back.
    fn work(&self, own: usize, is_done: impl Fn() -> bool) {
        let mut looks = 0;
        let mut is_alone = false;
        while !is_done() {
            if self.stride(own) {
                looks = if is_alone { LOOKS } else { 0 };
            } else if looks < LOOKS {
                looks += 1;
                hint::spin_loop();
            } else if (0..self.seats.len()).any(|other| self.stride(other)) {
                is_alone = true;
            } else {
                is_alone = false;
                // The thread that is waited for may need this processor.
                self.alarm.check();
                thread::yield_now();
            }
        }
    }

    /// Lets a region go on, if the others have promised more than before and no other thread does so. False if nothing was done.
    fn stride(&self, number: usize) -> bool {
        let (regions, seat) = (self.regions, &self.seats[number]);
        let can_go = || regions.promised_to(number).as_fs() > seat.gone.load(Ordering::Acquire);
        if !can_go() {
            return false;
        }
        let Ok(mut members) = seat.members.try_lock() else {
            return false;
        };
        if !can_go() {
            return false;
        }
        let until = Time::from_fs(self.until.load(Ordering::Relaxed));
        let mut region = lock(&regions.all[number]);
        if seat.gone.load(Ordering::Relaxed) == 0 {
            region.begin_window();
        }
        let promised = regions.promised_to(number);
        let before = Time::from_fs(promised.as_fs() - 1);
        let passages = regions.passages_to(number);
        region.stride(&mut *members, until.min(before), passages, &regions.of);
        region.hand_over(promised, regions.passages_from(number));
        if promised <= until {
            seat.gone.store(promised.as_fs(), Ordering::Release);
        } else {
            region.end_window(until);
            drop(region);
            seat.gone.store(AT_THE_END, Ordering::Release);
            self.open.fetch_sub(1, Ordering::Release);
        }
        true
    }
}

impl Simulation {
    /// Runs windows until `limit` or the next time at which somebody looks at the whole fabric, while it is not likely that the run
    /// ends in them.
    pub(in crate::run) fn run_windows(&mut self, limit: Time) -> Outcome {
        let Some(regions) = self.regions.take() else {
            return Outcome::None;
        };
        let halt = self.next_halt().as_fs().saturating_sub(1);
        let limit = limit.min(Time::from_fs(halt));
        let limit = limit.min(self.goes_on_until(&regions));
        if !self.is_worth_threads(limit, &regions) {
            self.regions = Some(regions);
            return Outcome::None;
        }
        let mut models = mem::take(&mut self.models);
        let seats = regions.share_out(&mut models).into_iter();
        let seats = seats.map(|members| Seat {
            members: Mutex::new(members),
            gone: AtomicU64::new(AT_THE_END),
        });
        let shared = Shared {
            seats: seats.collect(),
            regions: &regions,
            until: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            alarm: Alarm::default(),
        };
        let outcome = thread::scope(|scope| {
            let _guard = shared.alarm.guard();
            for number in 1..shared.seats.len() {
                let shared = &shared;
                scope.spawn(move || shared.serve(number));
            }
            let outcome = self.lead(&shared, limit);
            shared.is_over.store(true, Ordering::Release);
            outcome
        });
        drop(shared);
        self.models = models;
        self.regions = Some(regions);
        match outcome {
            Ok(()) => Outcome::Pause,
            Err(Failure::WentTooFar(until)) => {
                self.repeat(until);
                Outcome::Again
            }
            Err(Failure::OneThread(why)) => {
                self.threads.fewer = Some(why);
                self.unite();
                Outcome::Again
            }
        }
    }

    /// Runs windows until `limit`, the first region on this thread.
    fn lead(&mut self, shared: &Shared<'_, '_>, limit: Time) -> Result<(), Failure> {
        let regions = shared.regions;
        let mut events = regions.lock_and_count();
        let end = events.iter().sum::<u64>() + MOST_EVENTS;
        loop {
            let begin = regions.next_due(limit);
            let Some(begin) = begin.filter(|_| events.iter().sum::<u64>() < end) else {
                break;
            };
            let until = (begin + regions.window(self.now())).as_fs() - 1;
            let until = Time::from_fs(until).min(limit);
            shared.open(begin, until);
            shared.work(0, || shared.open.load(Ordering::Acquire) == 0);
            let mut all = regions.lock();
            if all.iter().any(|region| region.has_broken_promise()) {
                let why = "a frame has cut short another one between two regions";
                return Err(Failure::OneThread(why.to_owned()));
            }
            if was_idle(&all) {
                let before = Time::from_fs(begin.as_fs() - 1);
                return Err(Failure::WentTooFar(before));
            }
            regions.collect(&mut all);
            while self.tell_next(&mut all) {
                let now = self.now();
                if self.meter.open() == 0 && all.iter().any(|region| region.world.now() > now) {
                    return Err(Failure::WentTooFar(now));
                }
            }
            self.count_window(&mut all, &mut events);
            if self.meter.open() == 0 {
                break;
            }
            drop(all);
            self.check_strides(regions)?;
        }
        let last = regions.enter_all();
        self.world.pass_to(last);
        Ok(())
    }

    /// Counts the events of a window, before which each region had had `events`.
    fn count_window<R: DerefMut<Target = Region>>(&mut self, all: &mut [R], events: &mut [u64]) {
        let counts = &mut self.threads.shares;
        counts.windows += 1;
        let mut longest = 0;
        for (region, before) in all.iter_mut().zip(events) {
            region.forget_told();
            let now = region.world.events();
            let done = now - mem::replace(before, now);
            counts.events += done;
            longest = longest.max(done);
            counts.strides += mem::take(&mut region.strides);
        }
        counts.longest += longest;
    }

    /// Finds out once whether strides are long enough for threads.
    fn check_strides(&mut self, regions: &Regions) -> Result<(), Failure> {
        let Shares {
            events, strides, ..
        } = self.threads.shares;
        if self.threads.is_judged || events < EVENTS_TO_JUDGE {
            return Ok(());
        }
        self.threads.is_judged = true;
        let in_stride = events as f64 / strides as f64;
        if in_stride >= FEWEST_IN_STRIDE || self.threads.fewest_events.is_some() {
            return Ok(());
        }
        let lookahead = regions.lookahead.as_ns();
        Err(Failure::OneThread(format!(
            "the shortest delay between its regions is {lookahead} ns, so that a thread handles {in_stride:.1} events without the others; threads need {FEWEST_IN_STRIDE}"
        )))
    }

    /// Whether windows until `limit` are worth the start of threads.
    fn is_worth_threads(&self, limit: Time, regions: &Regions) -> bool {
        let now = self.now();
        if limit < now + regions.lookahead {
            return false;
        }
        if self.threads.fewest_events.is_none()
            && regions.events_in_lookahead(now) < FEWEST_IN_LOOKAHEAD
        {
            return false;
        }
        let elapsed = now.as_fs().max(regions.lookahead.as_fs());
        let share = limit.since(now).as_fs() as f64 / elapsed as f64;
        let fewest = self.threads.fewest_events.unwrap_or(FEWEST_EVENTS);
        regions.events() as f64 * share >= f64::from(fewest)
    }

    /// Whether the windows of the fabric have turned out too short for threads. Then one thread begins the run again.
    pub(in crate::run) fn gives_up_threads(&mut self) -> bool {
        let Some(regions) = &self.regions else {
            return false;
        };
        let few = regions.events_in_lookahead(self.now());
        let is_known = regions.events() >= EVENTS_TO_JUDGE && self.threads.shares.windows == 0;
        if !is_known || few >= FEWEST_IN_LOOKAHEAD || self.threads.fewest_events.is_some() {
            return false;
        }
        let lookahead = regions.lookahead.as_ns();
        self.threads.fewer = Some(format!(
            "the shortest delay between its regions is {lookahead} ns, in which {few:.0} events happen; threads need {FEWEST_IN_LOOKAHEAD}"
        ));
        self.unite();
        true
    }

    /// A time until which it is likely that the run goes on. If it does not, it begins again, so that this costs time and nothing else.
    fn goes_on_until(&self, regions: &Regions) -> Time {
        if let Some(Before { until, .. }) = self.threads.before {
            return until;
        }
        let (now, since) = (self.now(), self.flows_since());
        let left = match self.work_left() {
            None => regions.lookahead * FIRST_WINDOWS,
            // Not longer than it has gone on: what is on its way through the fabric has not been delivered, which counts the less the longer
            // a run is.
            Some(left) => {
                Span::from_fs((now.since(since).as_fs() as f64 * (left / 2.0).min(1.0)) as u64)
            }
        };
        let lasting = self.lasts_until() + since.since(Time::ZERO);
        lasting.max(now + left)
    }
}

impl Regions {
    /// Shares the components out to the threads of their regions.
    fn share_out<'m>(&self, models: &'m mut [Model]) -> Vec<Members<'m>> {
        let none = || Members((0..models.len()).map(|_| None).collect());
        let mut members: Vec<_> = self.all.iter().map(|_| none()).collect();
        for (index, model) in models.iter_mut().enumerate() {
            members[self.of[index] as usize].0[index] = Some(model);
        }
        members
    }

    /// The mean number of events until `now` in a span as long as the lookahead.
    fn events_in_lookahead(&self, now: Time) -> f64 {
        let spans = now.as_fs().max(1) as f64 / self.lookahead.as_fs() as f64;
        self.events() as f64 / spans
    }

    /// The length of the next window, by the events until `now`.
    fn window(&self, now: Time) -> Span {
        let lookaheads = EVENTS_IN_WINDOW / self.events_in_lookahead(now).max(1.0);
        self.lookahead * (lookaheads as u64).max(1)
    }

    /// The earliest time that another region promises to the region with this number.
    fn promised_to(&self, number: usize) -> Time {
        let others = self.passages_to(number).enumerate();
        let others = others.filter(|(other, _)| *other != number);
        let promised = others.map(|(_, passage)| passage.promised());
        promised.min().unwrap_or(Time::NEVER)
    }

    /// Promises to each region that nothing arrives before `time`.
    fn promise_to_all(&self, time: Time) {
        for passage in &self.passages {
            passage.promise(time);
        }
    }

    /// Moves the frames in the passages to the regions to which they lead.
    fn collect<R: DerefMut<Target = Region>>(&self, all: &mut [R]) {
        for (number, region) in all.iter_mut().enumerate() {
            for (mail, passage) in region.inbox.iter_mut().zip(self.passages_to(number)) {
                passage.take(mail);
            }
        }
    }

    /// The events of each region so far.
    fn lock_and_count(&self) -> Vec<u64> {
        let all = self.lock();
        all.iter().map(|region| region.world.events()).collect()
    }

    /// Lets the frames that go over enter their regions. Returns the time of the last event of any region.
    pub(super) fn enter_all(&self) -> Time {
        let mut all = self.lock();
        for region in &mut all {
            region.enter();
        }
        let last = all.iter().map(|region| region.world.now()).max();
        last.unwrap_or(Time::ZERO)
    }
}

/// Whether there was a time in the last window at which no event was left but those of the background.
fn was_idle<R: Deref<Target = Region>>(regions: &[R]) -> bool {
    let all = regions.iter().map(|region| region.idle().to_vec());
    let common = all.reduce(|one, other| common(&one, &other));
    common.is_some_and(|spans| !spans.is_empty())
}

/// The parts that the spans of two lists, each in order, have in common.
fn common(one: &[Range<Time>], other: &[Range<Time>]) -> Vec<Range<Time>> {
    let (mut one, mut other) = (one.iter().peekable(), other.iter().peekable());
    let mut common = Vec::new();
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        let both = a.start.max(b.start)..a.end.min(b.end);
        if a.end < b.end {
            one.next();
        } else {
            other.next();
        }
        if both.start < both.end {
            common.push(both);
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_in_common_what_both_lists_cover() {
        let spans = |all: &[(u64, u64)]| -> Vec<_> {
            let spans = all.iter();
            spans
                .map(|(from, until)| Time::from_fs(*from)..Time::from_fs(*until))
                .collect()
        };
        let one = spans(&[(0, 4), (6, 9), (9, 20)]);
        let other = spans(&[(3, 7), (9, 10), (12, 13), (20, 22)]);
        let both = spans(&[(3, 4), (6, 7), (9, 10), (12, 13)]);
        assert_eq!(common(&one, &other), both);
        assert_eq!(common(&other, &one), both);
    }
}
