//! The algorithms of collective operations.

use super::builder::{Builder, Pieces, Range};

/// Adds the steps of an all-reduce around a ring, in place.
///
/// Each device first passes segments to the next device, which adds its own. After that, each device has the sum of one segment, and the
/// segments go around the ring once more.
pub(super) fn ring_all_reduce(builder: &mut Builder, vectors: &[Range]) {
    let sums = ring_reduce_scatter(builder, vectors);
    ring_all_gather(builder, vectors, sums);
}

/// Adds the steps of a reduce-scatter around a ring, in place. Returns the sum that each device has: of the segment with its own number.
pub(super) fn ring_reduce_scatter(builder: &mut Builder, vectors: &[Range]) -> Vec<Pieces> {
    let count = vectors.len();
    let segment = |device: usize, number: usize| vectors[device].segment(number % count, count);
    // In turn `t`, device `d` sends segment `d - 1 - t`, which it has received and added to its own in the previous turn.
    let mut sums: Vec<Pieces> = (0..count)
        .map(|device| builder.given(segment(device, device + count - 1)))
        .collect();
    for turn in 1..count {
        let received = (0..count).map(|device| {
            let before = (device + count - 1) % count;
            let space = builder.allocate(device, vectors[device].bytes / count as u64);
            builder.transfer(&sums[before], space)
        });
        let received: Vec<Pieces> = received.collect();
        sums = (0..)
            .zip(received)
            .map(|(device, received)| {
                let own = segment(device, device + 2 * count - 1 - turn);
                let given = builder.given(own);
                builder.reduce(own, &[given, received])
            })
            .collect();
    }
    sums
}

/// Adds the steps of an all-gather around a ring. `own` is the segment that each device has.
pub(super) fn ring_all_gather(builder: &mut Builder, vectors: &[Range], own: Vec<Pieces>) {
    let count = vectors.len();
    let mut held = own;
    for turn in 1..count {
        let next = (0..count).map(|device| {
            let before = (device + count - 1) % count;
            let number = (device + count - turn) % count;
            builder.transfer(&held[before], vectors[device].segment(number, count))
        });
        held = next.collect();
    }
}

/// Adds the steps of an all-reduce in which each device gets the vectors of all others. Returns where the sums are.
pub(super) fn one_shot_all_reduce(builder: &mut Builder, vectors: &[Pieces]) -> Vec<Pieces> {
    let count = vectors.len();
    let mut parts: Vec<Vec<Pieces>> = vectors.iter().map(|own| vec![own.clone()]).collect();
    for (from, to) in pairs(count) {
        let space = builder.allocate(vectors[to].range.device, vectors[from].range.bytes);
        let part = builder.transfer(&vectors[from], space);
        parts[to].push(part);
    }
    // The vectors are not changed, because other devices may still read them.
    let sums = parts.iter().map(|parts| {
        let own = parts[0].range;
        let sum = builder.allocate(own.device, own.bytes);
        builder.reduce(sum, parts)
    });
    sums.collect()
}

/// Adds the steps of a reduce-scatter in which each device gets its segment of the vectors of all others. The sums replace the segments.
pub(super) fn direct_reduce_scatter(builder: &mut Builder, vectors: &[Range]) -> Vec<Pieces> {
    let count = vectors.len();
    let mut parts: Vec<Vec<Pieces>> = vec![Vec::new(); count];
    for (from, to) in pairs(count) {
        let segment = vectors[from].segment(to, count);
        let space = builder.allocate(vectors[to].device, segment.bytes);
        let given = builder.given(segment);
        let part = builder.transfer(&given, space);
        parts[to].push(part);
    }
    let sums = (0..)
        .zip(parts)
        .map(|(device, mut parts): (usize, Vec<Pieces>)| {
            let own = vectors[device].segment(device, count);
            parts.push(builder.given(own));
            builder.reduce(own, &parts)
        });
    sums.collect()
}

/// Adds the steps of an all-gather in which each device sends its segment to all others.
pub(super) fn direct_all_gather(builder: &mut Builder, vectors: &[Range], own: &[Pieces]) {
    let count = vectors.len();
    for (from, to) in pairs(count) {
        builder.transfer(&own[from], vectors[to].segment(from, count));
    }
}

/// Adds the steps of an all-reduce with islands of `size` devices. Returns where the sums are.
pub(super) fn islands(builder: &mut Builder, vectors: &[Range], size: usize) -> Vec<Range> {
    let mut sums = Vec::with_capacity(vectors.len());
    for island in vectors.chunks(size) {
        sums.extend(direct_reduce_scatter(builder, island));
    }
    let mut wholes = sums.clone();
    for place in 0..size {
        let peers = (place..vectors.len()).step_by(size);
        let parts: Vec<Pieces> = peers.clone().map(|device| sums[device].clone()).collect();
        for (device, whole) in peers.zip(one_shot_all_reduce(builder, &parts)) {
            wholes[device] = whole;
        }
    }
    let mut results = Vec::with_capacity(vectors.len());
    for (island, wholes) in vectors.chunks(size).zip(wholes.chunks(size)) {
        let outputs = island.iter();
        let outputs: Vec<Range> = outputs
            .map(|vector| builder.allocate(vector.device, vector.bytes))
            .collect();
        for (place, whole) in wholes.iter().enumerate() {
            builder.duplicate(whole, outputs[place].segment(place, island.len()));
        }
        direct_all_gather(builder, &outputs, wholes);
        results.extend(outputs);
    }
    results
}

/// Adds the steps of an all-to-all. Returns where the received segments are.
pub(super) fn all_to_all(builder: &mut Builder, vectors: &[Range]) -> Vec<Range> {
    let count = vectors.len();
    let outputs: Vec<Range> = vectors
        .iter()
        .map(|vector| builder.allocate(vector.device, vector.bytes))
        .collect();
    for (device, vector) in vectors.iter().enumerate() {
        let own = builder.given(vector.segment(device, count));
        builder.duplicate(&own, outputs[device].segment(device, count));
    }
    for (from, to) in pairs(count) {
        let segment = builder.given(vectors[from].segment(to, count));
        builder.transfer(&segment, outputs[to].segment(from, count));
    }
    outputs
}

/// Adds the steps of a broadcast of the first vector: from device to device, or from the first device to all others.
pub(super) fn broadcast(builder: &mut Builder, vectors: &[Range], in_ring: bool) {
    let mut held = builder.given(vectors[0]);
    for vector in &vectors[1..] {
        let there = builder.transfer(&held, *vector);
        if in_ring {
            held = there;
        }
    }
}

/// All pairs of different devices. Each device begins with the device after it, so that not all send to the same device at once.
fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    let turns = 1..count;
    turns.flat_map(move |turn| (0..count).map(move |from| (from, (from + turn) % count)))
}
