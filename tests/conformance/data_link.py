"""The data-link layer: sequence numbers, acknowledgement and replay."""

from __future__ import annotations

from bisect import bisect
from collections import deque
from typing import TYPE_CHECKING

from conformance.finding import TOLERANCE_NS, Finding
from conformance.packets import SEQUENCES
from conformance.trace import DLLP_BYTES, WAITING_DLLPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.trace import Sent, Trace, Wire


def sequence_numbers(trace: Trace) -> Iterator[Finding]:
    """3.5.2.1: new TLPs count up from 0; fewer than 2048 are unacknowledged."""
    for wire in trace.wires.values():
        for number, (sent, _) in enumerate(wire.first_transmissions):
            if sent.sequence != number % SEQUENCES:
                text = f"sequence number {sent.sequence}, not {number % SEQUENCES}"
                yield Finding("sequence_numbers", wire.name, sent.ns, text)
                break
        answers = deque(_acknowledgements_of(wire))
        oldest = 0
        for count, (sent, _) in enumerate(wire.first_transmissions, 1):
            while answers and answers[0][0] <= sent.ns:
                oldest = max(oldest, _unwrapped(answers.popleft()[1], oldest) + 1)
            if count - oldest >= SEQUENCES // 2:
                text = f"{count - oldest} TLPs are unacknowledged"
                yield Finding("sequence_numbers", wire.name, sent.ns, text)
                break


def replays(trace: Trace) -> Iterator[Finding]:
    """3.6.2.1: after a Nak or the replay timer, all unacknowledged TLPs go again, oldest first."""
    for wire in trace.wires.values():
        # The timer keeps the limit with which it was started.
        limit = min(link.replay_limit_ns for link in wire.links)
        # A replay that has begun waits for the wire; an Ack that arrives then does not recall it.
        skips = max((end - start for start, end in wire.ordered_sets), default=0.0)
        wait_ns = wire.longest_ns + skips + DLLP_BYTES * wire.longest_byte_ns
        buffer = _ReplayBuffer(limit, wait_ns, [one.begin_ns for one in wire.recoveries])
        answers = deque(_acknowledgements_of(wire, wire.pipeline_ns))
        for sent, _ in wire.tlps:
            while answers and answers[0][0] <= sent.ns + TOLERANCE_NS:
                buffer.acknowledge(*answers.popleft())
            if sent.nullified:
                continue
            wrong = buffer.send_again(sent) if sent.replay else buffer.send_new(sent)
            if wrong:
                yield Finding("replays", wire.name, sent.ns, wrong)


REPLAYS = 4
"""REPLAY_NUM has two bits (3.6.2.1)."""


class _ReplayBuffer:
    """The unacknowledged TLPs of a transmitter, and how far a replay of them is."""

    def __init__(self, limit_ns: float, wait_ns: float, recoveries: list[float]) -> None:
        self.limit_ns = limit_ns
        self.wait_ns = wait_ns
        """The longest time from the end of the timer to the replay."""
        self.recoveries = recoveries
        """When the transmitter went to Recovery."""
        self.replays: list[float] = []
        """When each replay since the last progress began: REPLAY_NUM of them."""
        self.kept: list[int] = []
        self.ends: dict[int, float] = {}
        """When each was last sent."""
        self.following: int | None = None
        """The TLP that a replay sends next."""
        self.has_nak = False
        self.progress_ns = 0.0
        self.before: list[tuple[float, float]] = []
        """Each progress, and since when the replay timer had run then."""

    def acknowledge(self, ns: float, sequence: int, kind: str) -> None:
        kept = [one for one in self.kept if _is_after(one, sequence)]
        if len(kept) < len(self.kept):
            self.before = [one for one in self.before if one[0] > ns - self.wait_ns]
            self.before.append((ns, max(self.progress_ns, self.ends[self.kept[0]])))
            self.progress_ns = ns
            self.replays = []
        if self.following is not None and self.following not in kept:
            self.following = kept[0] if kept else None
        self.kept = kept
        self.has_nak |= kind == "Nak"

    def send_new(self, sent: Sent) -> str | None:
        skipped, self.following = self.following, None
        self.kept.append(sent.sequence)
        self.ends[sent.sequence] = sent.end_ns
        if skipped is None:
            return None
        return f"TLP {sent.sequence} is new, and the replay has yet to send {skipped}"

    def send_again(self, sent: Sent) -> str | None:
        sequence = sent.sequence
        if sequence not in self.kept:
            # An Ack that arrived while it waited for the wire does not recall it.
            was_next = self.following is not None
            return None if was_next else f"TLP {sequence} is replayed, and was acknowledged"
        wrong = None if sequence == self.following else self._begin(sent)
        position = self.kept.index(sequence)
        self.ends[sequence] = sent.end_ns
        self.following = next(iter(self.kept[position + 1 :]), None)
        return wrong

    def _begin(self, sent: Sent) -> str | None:
        """Begins a replay with `sent`."""
        had_nak, self.has_nak = self.has_nak, False
        if sent.sequence != self.kept[0]:
            return f"a replay begins with {sent.sequence}, and {self.kept[0]} is older"
        since = [begin for ns, begin in self.before if ns > sent.ns - self.wait_ns]
        waited = sent.ns - min(since, default=max(self.progress_ns, self.ends[sent.sequence]))
        self.replays.append(sent.ns)
        if len(self.replays) == REPLAYS:
            self.replays = []
            if not any(self.progress_ns <= ns < sent.ns for ns in self.recoveries):
                return "the fourth replay without progress, and the link did not retrain"
        if not had_nak and waited < self.limit_ns - TOLERANCE_NS:
            return f"a replay without a Nak, {waited:.1f} ns after the last progress"
        return None


def receiver_decisions(trace: Trace) -> Iterator[Finding]:
    """3.6.3.1: the next TLP is accepted, a duplicate discarded, one Nak scheduled at a time."""
    for wire in trace.wires.values():
        following, nak_scheduled = 0, False
        for sent, _ in wire.tlps:
            if sent.arrival is None or sent.arrival.verdict == "link-down":
                continue
            if sent.arrival.verdict == "unframed":
                continue  # There is no TLP to decide on; the rule of framing errors says so.
            behind = (following - sent.sequence) % SEQUENCES
            if sent.arrival.wrong_bits:
                due = "discarded" if nak_scheduled else "nak"
            elif sent.nullified:
                due = "nullified"
            elif behind == 0:
                due = "accepted"
            elif behind <= SEQUENCES // 2:
                due = "duplicate"
            else:
                due = "discarded" if nak_scheduled else "nak"
            if sent.arrival.verdict != due:
                text = f"TLP {sent.sequence} is {sent.arrival.verdict}, not {due}"
                yield Finding("receiver_decisions", wire.name, sent.ns, text)
                break
            nak_scheduled = due == "nak" or (nak_scheduled and due != "accepted")
            following = (following + (due == "accepted")) % SEQUENCES


def acknowledgements(trace: Trace) -> Iterator[Finding]:
    """3.6.3.1: Acks and Naks name the last TLP that arrived; Acks come in time, Naks for cause."""
    for wire in trace.wires.values():
        yield from _acknowledged_in_time(wire)
        yield from _named(wire)


def _acknowledged_in_time(wire: Wire) -> Iterator[Finding]:
    back = wire.other
    answers = [(sent.ns, d.sequence) for sent, d in back.dllps if d.kind in ("Ack", "Nak")]
    if not back.sent:
        return
    skips = max((end - start for start, end in back.ordered_sets), default=0.0)
    slack = (
        back.pipeline_ns
        + back.longest_ns
        + back.longest_exit_ns
        + 2 * skips
        + WAITING_DLLPS * DLLP_BYTES * back.longest_byte_ns
    )
    longest = max(link.ack_limit_ns for link in wire.links)
    limit = longest + slack + TOLERANCE_NS
    end_of_trace = max(sent.ns for sent in back.sent)
    position, acknowledged = 0, -1
    for number, (sent, _) in enumerate(wire.in_sequence()):
        assert sent.arrival is not None
        while position < len(answers) and acknowledged < number:
            ns, sequence = answers[position]
            upto = acknowledged + (sequence - acknowledged) % SEQUENCES
            if upto - acknowledged >= SEQUENCES // 2:
                upto = acknowledged
            recovery = wire.recovery_ns(sent.arrival.ns, ns)
            if upto >= number and ns > sent.arrival.ns + limit + recovery:
                text = f"acknowledged {ns - sent.arrival.ns:.1f} ns after its end"
                yield Finding("acknowledgements", wire.name, sent.ns, text)
                return
            acknowledged = max(acknowledged, upto)
            position += 1
        recovery = wire.recovery_ns(sent.arrival.ns, end_of_trace)
        if acknowledged < number and end_of_trace > sent.arrival.ns + limit + recovery:
            text = "it is never acknowledged"
            yield Finding("acknowledgements", wire.name, sent.ns, text)
            return


def _named(wire: Wire) -> Iterator[Finding]:
    came = [sent.arrival for sent, _ in wire.tlps if sent.arrival is not None]
    accepted = [arrival.ns for arrival in came if arrival.verdict == "accepted"]
    bad = [arrival.ns for arrival in came if arrival.verdict == "nak"]
    naks = 0
    # A DLLP passes the pipeline, and may wait for older ones and for an ordered set.
    wait_ns = wire.other.pipeline_ns + wire.other.longest_exit_ns
    wait_ns += WAITING_DLLPS * DLLP_BYTES * wire.longest_byte_ns
    wait_ns += max((end - start for start, end in wire.other.ordered_sets), default=0.0)
    for sent, dllp in wire.other.dllps:
        if dllp.kind not in ("Ack", "Nak"):
            continue
        last = bisect(accepted, sent.ns + TOLERANCE_NS) - 1
        earliest = bisect(accepted, sent.ns - wait_ns) - 1
        if (last - dllp.sequence) % SEQUENCES > last - earliest:
            text = f"{dllp.kind} {dllp.sequence}, and the last TLP is {last % SEQUENCES}"
            yield Finding("acknowledgements", wire.other.name, sent.ns, text)
            return
        naks += dllp.kind == "Nak"
        if naks > bisect(bad, sent.ns + TOLERANCE_NS):
            text = "a Nak without a bad TLP"
            yield Finding("acknowledgements", wire.other.name, sent.ns, text)
            return


def _acknowledgements_of(wire: Wire, pipeline_ns: float = 0.0) -> list[tuple[float, int, str]]:
    """The Acks and Naks that reach the transmitter of `wire`: time, sequence number, kind.

    The time is that of the data-link layer. With its pipeline, it is the earliest time at the pins
    of a TLP that the transmitter sends when it knows of the DLLP.
    """
    found = []
    for sent, dllp in wire.other.dllps:
        if dllp.kind in ("Ack", "Nak") and sent.accepted:
            assert sent.arrival is not None
            found.append((sent.arrival.ns + pipeline_ns, dllp.sequence, dllp.kind))
    return found


def _is_after(sequence: int, acknowledged: int) -> bool:
    """Whether `sequence` is not covered by an Ack of `acknowledged`."""
    return (acknowledged - sequence) % SEQUENCES >= SEQUENCES // 2


def _unwrapped(sequence: int, near: int) -> int:
    """The full number of a sequence number within half of the range of `near`."""
    ahead = (sequence - near + SEQUENCES // 2) % SEQUENCES - SEQUENCES // 2
    return near + ahead


RULES = (sequence_numbers, replays, receiver_decisions, acknowledgements)
