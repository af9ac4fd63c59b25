use super::*;

#[derive(Debug)]
struct Numbers;
impl Traffic for Numbers {
    type Frame = u32;
    type Store = ();
    type Observation = ();
}

struct Silent;
impl Component for Silent {
    type Traffic = Numbers;
    type Port = Port;
    type Timer = Port;
    fn start(&mut self, _: &mut Effects<'_, Self>) {}
    fn receive(&mut self, _: Port, _: u32, _: &mut Effects<'_, Self>) {}
    fn expire(&mut self, _: Port, _: &mut Effects<'_, Self>) {}
}

#[test]
fn a_wire_into_another_region_brings_nothing_before_its_last_frame_and_the_shortest() {
    let ns = Span::from_ns;
    let at = |time| Time::ZERO + ns(time);
    for (shortest, idle, busy) in [(None, 11, 11), (Some(ns(3)), 14, 44)] {
        let mut regions = world().divide(3, |id| id.0 as usize, |_, _| shortest);
        let earliest = |world: &World<Numbers>, now| {
            let mut all = [Time::NEVER; 3];
            world.earliest_arrivals(at(now), |region, time| {
                all[region] = all[region].min(time);
            });
            all
        };
        assert_eq!(earliest(&regions[0], 10), [Time::NEVER, at(idle), at(idle)]);
        // Two wires lead to component 2. One of these wires stays idle.
        let mut fx = regions[0].effects::<Silent>(ComponentId(0));
        fx.send(Port(2), 10, ns(40));
        fx.send(Port(0), 10, ns(40));
        assert_eq!(earliest(&regions[0], 10), [Time::NEVER, at(busy), at(idle)]);
        assert_eq!(earliest(&regions[0], 100)[1], at(idle + 90));
        assert_eq!(regions[0].departures.len(), 2);
    }
}

#[test]
fn frames_that_leave_a_region_enter_the_other_one_in_the_order_of_their_wire() {
    let mut regions = world().divide(2, |id| id.0 as usize / 2, |_, _| None);
    let mut fx = regions[0].effects::<Silent>(ComponentId(0));
    for frame in 20..23 {
        fx.send(Port(0), frame, Span::ZERO);
    }
    assert!(!regions[0].has_events());
    for departure in std::mem::take(&mut regions[0].departures).into_iter().rev() {
        regions[1].enter(departure);
    }
    let frames: Vec<_> = rest(&mut regions[1]).iter().map(|event| event.2).collect();
    assert_eq!(frames, [Some(20), Some(21), Some(22)]);
}

/// A world in which ports 0 and 1 of component 0 are connected to component 2, and port 2 of component 0 is connected to component 1.
fn world() -> World<Numbers> {
    let mut world = World::default();
    for (port, to) in [(0, (2, 5)), (1, (2, 3)), (2, (1, 0))] {
        let to = (ComponentId(to.0), to.1);
        world.connect((ComponentId(0), port), to, Span::from_ns(1));
    }
    world
}

/// The remaining events in their order: component, port or timer, and the frame if the event is an arrival.
fn rest(world: &mut World<Numbers>) -> Vec<(u32, u32, Option<u32>)> {
    let all = std::iter::from_fn(|| world.advance(Time::NEVER));
    all.map(|event| match event.action() {
        Action::Receive(port, frame) => (event.target().0, port, Some(frame)),
        Action::Expire(timer) => (event.target().0, timer, None),
    })
    .collect()
}

#[test]
fn events_of_one_time_go_by_component_then_frames_by_port_then_timers() {
    let mut world = world();
    let (now, ns) = (Span::ZERO, Span::from_ns(1));
    world.effects::<Silent>(ComponentId(2)).wake(Port(1), ns);
    let mut fx = world.effects::<Silent>(ComponentId(0));
    fx.wake(Port(9), ns);
    fx.send(Port(0), 50, now);
    fx.send(Port(1), 30, now);
    fx.send(Port(2), 10, now);
    world.effects::<Silent>(ComponentId(2)).wake(Port(0), ns);
    let expected = [
        (0, 9, None),
        (1, 0, Some(10)),
        (2, 3, Some(30)),
        (2, 5, Some(50)),
        (2, 0, None),
        (2, 1, None),
    ];
    assert_eq!(rest(&mut world), expected);
}

#[test]
fn events_of_the_background_happen_while_others_are_left_or_by_a_limit() {
    let mut world = world();
    let mut fx = world.effects::<Silent>(ComponentId(0));
    fx.wake_in_background(Port(1), Span::from_ns(1));
    fx.wake(Port(2), Span::from_ns(2));
    fx.wake_in_background(Port(3), Span::from_ns(3));
    fx.send_in_background(Port(2), 7, Span::from_ns(3));
    assert_eq!(rest(&mut world), [(0, 1, None), (0, 2, None)]);
    assert!(!world.has_events());
    let limit = Time::ZERO + Span::from_ns(4);
    let later: Vec<_> = std::iter::from_fn(|| world.advance(limit)).collect();
    assert_eq!(later.len(), 2);
}

#[test]
fn time_halts_before_the_events_of_a_time_and_goes_on_when_told() {
    let mut world = world();
    let mut fx = world.effects::<Silent>(ComponentId(0));
    fx.wake(Port(1), Span::from_ns(1));
    fx.wake(Port(2), Span::from_ns(2));
    fx.wake_in_background(Port(3), Span::from_ns(3));
    let ns = |ns| Time::ZERO + Span::from_ns(ns);
    world.halt_before(ns(2));
    assert_eq!(rest(&mut world), [(0, 1, None)]);
    assert_eq!(world.next_due(Time::NEVER), Some(ns(2)));
    assert_eq!(world.next_due(ns(1)), None);
    world.halt_before(Time::NEVER);
    assert_eq!(rest(&mut world), [(0, 2, None)]);
    // Events in the background are due only if there is a limit.
    assert_eq!(world.next_due(Time::NEVER), None);
    assert_eq!(world.next_due(ns(3)), Some(ns(3)));
}

#[test]
fn frames_that_arrive_at_one_time_come_in_the_order_in_which_they_were_sent() {
    let mut world = world();
    let mut fx = world.effects::<Silent>(ComponentId(0));
    let (soon, later) = (Span::from_ns(5), Span::from_ns(9));
    for (frame, after) in [(1, later), (2, soon), (3, later), (4, soon)] {
        fx.send(Port(0), frame, after);
    }
    let frames: Vec<_> = rest(&mut world).iter().map(|event| event.2).collect();
    assert_eq!(frames, [Some(2), Some(4), Some(1), Some(3)]);
    let mut fx = world.effects::<Silent>(ComponentId(0));
    fx.send(Port(0), 5, soon);
    fx.send(Port(0), 6, soon);
    let frames: Vec<_> = rest(&mut world).iter().map(|event| event.2).collect();
    assert_eq!(frames, [Some(5), Some(6)]);
}
