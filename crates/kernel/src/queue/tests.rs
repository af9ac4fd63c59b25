use super::*;
use proptest::prelude::*;

#[test]
fn of_two_events_at_one_time_the_one_of_the_lower_rank_comes_first() {
    let mut queue = EventQueue::default();
    for rank in [3, 0, 4, 1, 2] {
        queue.push(Time::from_fs(7), rank, rank);
    }
    let order: Vec<u64> = std::iter::from_fn(|| queue.pop())
        .map(|e| e.payload)
        .collect();
    assert_eq!(order, [0, 1, 2, 3, 4]);
}

#[test]
fn the_order_holds_while_days_grow_narrow_and_wide_again() {
    let mut queue = EventQueue::default();
    let mut model = std::collections::BTreeSet::new();
    let mut stream = crate::Stream::named(1, "crowds");
    let (mut now, mut number) = (0, 0);
    for (pending, reach) in [(5_000, 1_000_000), (50, 1_000_000), (20, 1_000_000_000_000)] {
        for _ in 0..40_000 {
            while model.len() < pending {
                let time = now + stream.below(reach);
                queue.push(Time::from_fs(time), number, number);
                model.insert((time, number));
                number += 1;
            }
            let event = queue.pop().expect("some are pending");
            let first = model.pop_first().expect("some are pending");
            assert_eq!((event.time.as_fs(), event.payload), first);
            now = first.0;
        }
    }
}

/// 8,192 ports with one event each, all within 0.8 ns, and again 300 ns later.
#[test]
fn events_in_step_do_not_change_the_length_of_the_day_again_and_again() {
    let mut queue = EventQueue::default();
    for port in 0..8192 {
        queue.push(Time::from_fs(port * 100), port, ());
    }
    let (mut changes, mut bits) = (0, queue.day_bits);
    for _ in 0..250_000 {
        let event = queue.pop().expect("each port has an event");
        let next = Time::from_fs(event.time.as_fs() + 300_000_000);
        queue.push(next, event.rank, ());
        changes += u32::from(std::mem::replace(&mut bits, queue.day_bits) != queue.day_bits);
    }
    assert!(changes < 16, "{changes}");
}

#[test]
fn what_is_pushed_before_the_next_event_is_not_sorted_into_its_day() {
    let mut queue = EventQueue::default();
    queue.push(Time::from_fs(1 << 30), 0, ());
    assert_eq!(queue.next_time(), Some(Time::from_fs(1 << 30)));
    assert!(!queue.is_due(Time::from_fs(1 << 29)));
    for fs in 1..1000 {
        queue.push(Time::from_fs(fs << FIRST_DAY_BITS), 0, ());
    }
    assert_eq!(queue.today.len(), 0);
    assert_eq!(queue.next_time(), Some(Time::from_fs(1 << FIRST_DAY_BITS)));
}

/// 8,192 ports with one event each, all at the same time. Each event pushes another event, which is due soon after.
#[test]
fn an_event_that_is_pushed_into_a_crowded_day_moves_few_others() {
    let mut queue = EventQueue::default();
    let (begin, soon) = (Time::from_fs(0), Time::from_fs(1));
    for port in 0..8192 {
        queue.push(begin, port, port);
    }
    for port in 0..8192 {
        assert_eq!(queue.pop().map(|event| event.payload), Some(port));
        queue.push(soon, 8191 - port, port);
        assert!(queue.today.len() <= NEAR, "{}", queue.today.len());
    }
    assert_eq!(queue.next_time(), Some(soon));
    assert_eq!(queue.due_by(begin).count(), 0);
    assert_eq!(queue.due_by(soon).count(), 8192);
    for port in (0..8192).rev() {
        assert!(queue.is_due_today(soon));
        assert_eq!(queue.pop().map(|event| event.payload), Some(port));
    }
    assert!(!queue.is_due_today(soon) && queue.next_time().is_none());
}

proptest! {
    #[test]
    fn crowds_come_in_the_order_of_a_sorted_list(pushes in prop::collection::vec((0_u64..4000, 1_usize..4, 0_usize..4), 1..2000)) {
        let mut queue = EventQueue::default();
        let mut model = std::collections::BTreeSet::new();
        let (mut now, mut rank) = (0, 0);
        for (reach, times, pops) in pushes {
            for time in (now..=now + reach).step_by(reach as usize / times + 1) {
                queue.push(Time::from_fs(time), rank, rank);
                model.insert((time, rank));
                rank += 1;
            }
            for _ in 0..pops.min(model.len()) {
                queue.look_ahead();
                prop_assert_eq!(queue.iter().count(), model.len());
                let mut others = model.iter();
                for place in 0..3 {
                    if let Some(event) = queue.ahead(place) {
                        prop_assert_eq!(Some(&(event.time.as_fs(), event.payload)), others.next());
                    }
                }
                let first = model.pop_first().expect("there is one");
                prop_assert_eq!(queue.next_time(), Some(Time::from_fs(first.0)));
                let event = queue.pop().expect("there is one");
                prop_assert_eq!((event.time.as_fs(), event.payload), first);
                now = first.0;
            }
        }
    }

    #[test]
    fn events_come_in_the_order_of_a_sorted_list(gaps in prop::collection::vec((0_u64..60, 0_u64..1000), 1..3000)) {
        let mut queue = EventQueue::default();
        let mut model = std::collections::BTreeSet::new();
        let mut now = 0;
        for (rank, (magnitude, fine)) in (0..).zip(gaps) {
            let time = now + (fine << (magnitude % 40));
            queue.push(Time::from_fs(time), rank, rank);
            model.insert((time, rank));
            if magnitude % 3 == 0 {
                let first = model.first().map(|one| one.0);
                prop_assert_eq!(queue.next_time().map(Time::as_fs), first);
                let limit = now + (fine << (magnitude % 37));
                prop_assert_eq!(queue.is_due(Time::from_fs(limit)), first.is_some_and(|first| first <= limit));
                if fine % 2 == 0 {
                    queue.look_ahead();
                }
                let mut ahead = model.iter();
                for others in 0..3 {
                    if let Some(event) = queue.ahead(others) {
                        prop_assert_eq!(Some(&(event.time.as_fs(), event.payload)), ahead.next());
                    }
                }
                let event = queue.pop().expect("one was just pushed");
                let first = model.pop_first().expect("one was just pushed");
                prop_assert_eq!((event.time.as_fs(), event.payload), first);
                now = first.0;
            }
            if rank % 64 == 0 {
                let limit = now + (fine << (magnitude % 43));
                let mut due: Vec<_> = queue.due_by(Time::from_fs(limit)).map(|event| event.payload).collect();
                due.sort_unstable();
                let mut expected: Vec<_> = model.iter().filter(|one| one.0 <= limit).map(|one| one.1).collect();
                expected.sort_unstable();
                prop_assert_eq!(due, expected);
            }
        }
        while let Some(event) = queue.pop() {
            prop_assert_eq!(Some((event.time.as_fs(), event.payload)), model.pop_first());
        }
        prop_assert!(model.is_empty());
    }
}
