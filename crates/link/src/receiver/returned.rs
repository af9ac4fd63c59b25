//! Buffer space that the component frees, and the `UpdateFC`s that return its credit to the far end.

use kernel::{Span, Time, members};
use packet::Charge;
use protocol::{Class, Dllp};

use super::{Leaving, Receiver};
use crate::channels::{channel_and_class, number_of};
use crate::credit::ClassBuffers;
use crate::refresh::{RefreshSchedule, Refreshed};

impl Receiver {
    /// Schedules a packet's release at `due`. Returns `due` if the release makes an UpdateFC due.
    pub(crate) fn free_later(&mut self, channel: usize, charge: Charge, due: Time) -> Option<Time> {
        if self.leaving.back().is_none_or(|last| last.due <= due) {
            self.leaving.push_back(Leaving {
                due,
                channel: channel as u8,
                charge,
            });
        } else {
            self.insert_leaving(channel as u8, charge, due);
        }
        let buffer = &mut self.channels[channel][charge.class];
        buffer.begin_release(charge.data);
        buffer.will_update_be_due().then_some(due)
    }

    /// Schedules a packet's release before other releases that are already scheduled.
    fn insert_leaving(&mut self, channel: u8, charge: Charge, due: Time) {
        let leaving = Leaving {
            due,
            channel,
            charge,
        };
        let mut others = self.leaving.iter();
        let before = others.rposition(|other| other.due <= leaving.due);
        let at = before.map_or(0, |last| last + 1);
        self.leaving.insert(at, leaving);
    }

    /// Frees the packets that were scheduled to leave by `now`.
    pub(crate) fn settle(&mut self, now: Time) {
        // In this loop the free credit only grows, so that one comparison for each class is enough.
        let mut freed = 0;
        while let Some(left) = self.leaving.pop_front_if(|leaving| leaving.due <= now) {
            let Leaving {
                due,
                channel,
                charge,
            } = left;
            let (channel, class) = (usize::from(channel), charge.class);
            let buffer = &mut self.channels[channel][class];
            buffer.end_release(charge.data);
            buffer.free(charge.data, due);
            freed |= 1 << number_of(channel, class);
        }
        for number in members(freed) {
            let (channel, class) = channel_and_class(number as usize);
            if self.channels[channel][class].is_update_due() {
                self.pending_updates |= 1 << number;
            }
        }
    }

    /// Returns the time at which a scheduled release makes an UpdateFC due, and the time of the first scheduled release.
    pub(crate) fn next_due_update(&mut self) -> (Option<Time>, Option<Time>) {
        for buffer in self.channels.iter_mut().flatten() {
            buffer.forget_releases();
        }
        // Every release is counted again, in the order of the releases.
        let mut due = None;
        for leaving in &self.leaving {
            let channel = &mut self.channels[usize::from(leaving.channel)];
            let buffer = &mut channel[leaving.charge.class];
            buffer.begin_release(leaving.charge.data);
            if due.is_none() && buffer.will_update_be_due() {
                due = Some(leaving.due);
            }
        }
        (due, self.leaving.front().map(|leaving| leaving.due))
    }

    /// Frees a packet's credit at `at`. Returns whether an UpdateFC is due now, later, or not at all.
    #[inline(always)]
    pub(crate) fn free(&mut self, channel: usize, charge: Charge, at: Time) -> PendingUpdate {
        let buffer = &mut self.channels[channel][charge.class];
        buffer.free(charge.data, at);
        if buffer.is_update_due() {
            self.pending_updates |= 1 << number_of(channel, charge.class);
            PendingUpdate::Now
        } else if buffer.has_unannounced() {
            PendingUpdate::Later
        } else {
            PendingUpdate::None
        }
    }

    /// Makes an UpdateFC pending for every class with credit that was freed at least `delay` before `now` and is not announced. For the
    /// other classes, returns the earliest time since which credit is unannounced.
    pub(crate) fn request_updates(&mut self, now: Time, delay: Span) -> Option<Time> {
        let mut oldest = None;
        for (channel, buffers) in self.channels.iter().enumerate() {
            for class in Class::ALL {
                let since = buffers[class].unannounced_since;
                if since != Time::NEVER && since + delay <= now {
                    self.pending_updates |= 1 << number_of(channel, class);
                } else if since < oldest.unwrap_or(Time::NEVER) {
                    oldest = Some(since);
                }
            }
        }
        oldest
    }

    /// Marks the limits that were last sent at least an `interval` ago, so that they are sent again. Returns the earliest time at which any
    /// other limit was sent, or none. If there is a `schedule`, a marked limit also counts, as sent at the time that the schedule gives.
    pub(crate) fn refresh(
        &mut self,
        now: Time,
        interval: Span,
        schedule: Option<RefreshSchedule>,
    ) -> Option<Time> {
        let mut oldest: Option<Time> = None;
        for (number, buffers) in self.channels.iter().flatten().enumerate() {
            if !buffers.is_limited() {
                continue;
            }
            let mut sent = Some(buffers.announced_at);
            if buffers.announced_at + interval <= now {
                self.pending_updates |= 1 << number;
                sent = schedule.map(|schedule| schedule.after(buffers.announced_at));
            }
            oldest = oldest.into_iter().chain(sent).min();
        }
        oldest
    }

    /// The refreshes of each limit on an idle wire until `now`, with the number of the limit. They are sorted by the time at which the last
    /// refresh of the limit became due.
    pub(crate) fn skipped_refreshes(
        &self,
        now: Time,
        schedule: RefreshSchedule,
    ) -> Vec<(usize, Refreshed)> {
        let limits = self.channels.iter().flatten().enumerate();
        let limited = limits.filter(|(_, buffers)| buffers.is_limited());
        let skipped = limited.filter_map(|(number, buffers)| {
            let refreshed = schedule.until(now, buffers.announced_at)?;
            Some((number, refreshed))
        });
        let mut all: Vec<_> = skipped.collect();
        all.sort_by_key(|(_, refreshed)| refreshed.due);
        all
    }

    /// Records that a limit was sent at `sent`. If it `is_due_again`, the limit is marked to be sent again.
    pub(crate) fn count_refresh(&mut self, number: usize, sent: Time, is_due_again: bool) {
        let (channel, class) = channel_and_class(number);
        self.channels[channel][class].announced_at = sent;
        self.pending_updates |= u32::from(is_due_again) << number;
    }

    /// The earliest time at which a limit was last sent. This limit is the next one to be sent again. None if there are no limits.
    pub(crate) fn oldest_limit(&self) -> Option<Time> {
        let limited = self.channels.iter().flatten();
        let limited = limited.filter(|buffers| buffers.is_limited());
        limited.map(|buffers| buffers.announced_at).min()
    }

    pub(crate) fn has_pending_updates(&self) -> bool {
        self.pending_updates != 0
    }

    /// Whether there is a limit that has not been announced to the far end.
    pub(crate) fn has_unannounced(&self) -> bool {
        let mut buffers = self.channels.iter().flatten();
        buffers.any(ClassBuffers::has_unannounced)
    }

    /// Returns the next pending UpdateFC, to be sent at `at`, and whether its limits are new. If they are not new and there is a `schedule`,
    /// the UpdateFC counts as sent at the time that the schedule gives.
    pub(crate) fn next_update(
        &mut self,
        mut at: Time,
        schedule: Option<RefreshSchedule>,
    ) -> Option<(Dllp, bool)> {
        if self.pending_updates == 0 {
            return None;
        }
        let index = self.pending_updates.trailing_zeros() as usize;
        let (channel, class) = channel_and_class(index);
        let buffers = &mut self.channels[channel][class];
        if !buffers.pay_update(self.rule) {
            self.pending_updates &= self.pending_updates - 1;
        }
        let is_new = buffers.has_unannounced();
        if let (false, Some(schedule)) = (is_new, schedule) {
            at = schedule.after(buffers.announced_at);
        }
        let update = Dllp::UpdateFc(buffers.announce(channel as u8, class, at));
        Some((update, is_new))
    }
}

pub(crate) enum PendingUpdate {
    None,
    Later,
    Now,
}
