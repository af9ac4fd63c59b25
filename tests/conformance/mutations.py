"""For each rule, one change that makes a good trace wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conftest import beside

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.trace import Line

    Mutation = Callable[[list[Line]], None]
    Broken = dict[str, tuple[str, Mutation]]

GOOD = beside(__file__, "good.toml")
"""A scenario whose trace has replays, completions, limits that are reached, and Recovery."""


def _find(lines: list[Line], skip: int = 0, **wanted: object) -> Line:
    """The line after `skip` others that has these values; `None` stands for any value."""
    found = (
        line
        for line in lines
        if all(
            key in line and (value is None or line[key] == value) for key, value in wanted.items()
        )
    )
    for _ in range(skip):
        next(found)
    return next(found)


def _patched(text: str, start: int, new: bytes) -> str:
    raw = bytes.fromhex(text)
    return (raw[:start] + new + raw[start + len(new) :]).hex()


def changed(
    key: str, change: Callable[[Line], object], skip: int = 0, **wanted: object
) -> Mutation:
    """Gives a key of one line another value."""

    def mutation(lines: list[Line]) -> None:
        line = _find(lines, skip, **wanted)
        line[key] = change(line)

    return mutation


def removed(skip: int = 0, **wanted: object) -> Mutation:
    """Takes one line away."""
    return lambda lines: lines.remove(_find(lines, skip, **wanted))


def header(start: int, new: bytes, skip: int, **wanted: object) -> Mutation:
    """Gives bytes of the header of one TLP other values."""
    return changed("header", lambda one: _patched(one["header"], start, new), skip, **wanted)


def bits(at: int, more: int, **wanted: object) -> Mutation:
    """Sets bits of a byte of the header of a later TLP."""

    def change(one: Line) -> str:
        old = bytes.fromhex(one["header"])[at]
        return _patched(one["header"], at, bytes([old | more]))

    return changed("header", change, 8, **wanted)


def limit(change: Callable[[int], int]) -> Mutation:
    """Changes the first four bytes of an UpdateFC."""

    def mutation(one: Line) -> str:
        return _patched(one["raw"], 0, change(_word(one["raw"])).to_bytes(4, "big"))

    return changed("raw", mutation, 6, dllp="UpdateFC", link="s0-b", direction="up")


def _word(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text)[:4], "big")


def answer_before_the_question(lines: list[Line]) -> None:
    _find(lines, training="TS2")["ns"] = _find(lines, training="TS1")["ns"]


def no_refresh(lines: list[Line]) -> None:
    """One limit of a link is sent once, and never again."""
    place = {"dllp": "UpdateFC", "class": "non-posted", "link": "h0-s0", "direction": "down"}
    for line in [line for line in lines if line.items() >= place.items()][1:]:
        line["raw"] = _patched(line["raw"], 0, b"\x30")


def replay_without_reason(lines: list[Line]) -> None:
    # A Recovery is another reason to send the first two again.
    bad = _find(lines, 2, arrival="tlp", verdict="nak")
    back = {"link": bad["link"], "direction": {"up": "down", "down": "up"}[bad["direction"]]}
    naks = (line for line in lines if line.items() >= back.items() and line.get("dllp") == "Nak")
    nak = next(line for line in naks if line["ns"] > bad["ns"])
    nak["raw"] = _patched(nak["raw"], 0, b"\0")


def no_ack(lines: list[Line]) -> None:
    """The Acks of one direction cease: all later ones repeat an old number."""
    acks = [line for line in lines if line.get("dllp") == "Ack" and line["link"] == "s0-a"]
    for line in acks[3:]:
        line["raw"] = acks[2]["raw"]


def tag_in_use(lines: list[Line]) -> None:
    first = _find(lines, 0, tlp="MRd", link="s0-a", direction="up")
    second = _find(lines, 1, tlp="MRd", link="s0-a", direction="up")
    second["header"] = _patched(second["header"], 6, bytes([first["tag"]]))


def writes_out_of_order(lines: list[Line]) -> None:
    one, other = (_find(lines, n, tlp="MWr", link="s0-b", direction="down") for n in (10, 11))
    one["header"], other["header"] = other["header"], one["header"]


_SMALL = """
[[flows]]
from = "a"
to = "b"
count = 300
request_size = "16 B"
interval = "50 ns"
"""

PASSING = beside(__file__, "passing.toml")
"""A scenario in which small requests pass large writes, by each of three permissions.

Writes with ID-based ordering of the requester of the large ones may not pass them.
"""


def cleared(at: int, mask: int) -> Mutation:
    """Clears the bits of a byte of all headers that are not in `mask`."""

    def mutation(lines: list[Line]) -> None:
        for line in lines:
            if "tlp" in line:
                old = bytes.fromhex(line["header"])[at]
                line["header"] = _patched(line["header"], at, bytes([old & mask]))

    return mutation


WITHOUT_PERMISSION: Broken = {
    "no relaxed ordering": ("ordering_table", cleared(2, 0xDF)),
    "no ID ordering": ("ordering_table", cleared(1, 0xFB)),
    "one traffic class": ("ordering_table", cleared(1, 0x8F)),
    "one requester": ("ordering_table", cleared(5, 0xF8)),
}
"""Changes that take a permission to pass from every packet of `PASSING`."""

AGAIN = beside(__file__, "again.toml")
"""A scenario in which a link goes down, comes up again, and then retrains."""


def _later(lines: list[Line], skip: int, **wanted: object) -> Line:
    later = [line for line in lines if line["ns"] > 1_000_000.0]
    return _find(later, skip, link="s0-a", **wanted)


def number_of_the_life_before(lines: list[Line]) -> None:
    for line in lines:
        if line["link"] == "s0-a" and line["ns"] > 100_000.0 and "sequence" in line:
            line["sequence"] = (line["sequence"] + 40) % 4096


def bad_packet_accepted_again(lines: list[Line]) -> None:
    _later(lines, 3, arrival="tlp")["wrong_bits"] = 1


def limit_of_the_life_before(lines: list[Line]) -> None:
    line = _later(lines, 5, dllp="UpdateFC")
    word = _word(line["raw"]) - (9 << 14)
    line["raw"] = _patched(line["raw"], 0, word.to_bytes(4, "big"))


def another_width_than_in_recovery(lines: list[Line]) -> None:
    _later(lines, 0, training="TS2", lanes=2)["lanes"] = 1


IN_ANOTHER_LIFE: Broken = {
    "number of the life before": ("sequence_numbers", number_of_the_life_before),
    "bad packet accepted again": ("receiver_decisions", bad_packet_accepted_again),
    "limit of the life before": ("credit_returns", limit_of_the_life_before),
    "another width than in recovery": ("time_on_the_wire", another_width_than_in_recovery),
}
"""Changes to a link of `AGAIN` that has come up again."""

REST = beside(__file__, "rest.toml")
"""A scenario in which a link is in L1 from time to time, and a port refuses it."""

_ASKS = "PM_Active_State_Request_L1"


def rest_without_a_request(lines: list[Line]) -> None:
    for line in lines:
        if line.get("dllp") == _ASKS or line.get("raw", "").startswith("23"):
            line["raw"] = _patched(line["raw"], 0, b"\x31")


def rest_of_the_upper_end_first(lines: list[Line]) -> None:
    below = _find(lines, training="EIOS", direction="up")
    above = _find(lines, training="EIOS", direction="down")
    above["ns"] = below["ns"] - 20.0


def rest_before_the_agreement(lines: list[Line]) -> None:
    first = _find(lines, dllp="PM_Request_Ack")
    _find(lines, training="EIOS", direction="up")["ns"] = first["ns"] - 1.0


def rest_before_the_acknowledgement(lines: list[Line]) -> None:
    rest = _find(lines, training="EIOS", direction="down")
    for line in lines:
        is_ack = line.get("dllp") == "Ack" or line.get("arrival") == "dllp"
        if is_ack and line["ns"] < rest["ns"] and line["raw"].startswith("00"):
            line["raw"] = _patched(line["raw"], 2, b"\x0f\xff")


def packet_on_the_way_to_l1(lines: list[Line]) -> None:
    rest = _find(lines, training="EIOS", direction="down")
    packets = (line for line in lines if "tlp" in line and line["direction"] == "down")
    after = next(line for line in packets if line["ns"] > rest["ns"])
    after["ns"] = rest["ns"] - 30.0


def asked_again_too_early(lines: list[Line]) -> None:
    refused = _find(lines, tlp="PM_Active_State_Nak")["ns"]
    asks = [line for line in lines if line.get("dllp") == _ASKS and line["ns"] > refused + 5_000.0]
    asks[0]["ns"] -= 3_000.0


ON_THE_WAY_TO_L1: Broken = {
    "rest without a request": ("entry_to_l1", rest_without_a_request),
    "rest of the upper end first": ("entry_to_l1", rest_of_the_upper_end_first),
    "rest before the agreement": ("entry_to_l1", rest_before_the_agreement),
    "rest before the acknowledgement": ("entry_to_l1", rest_before_the_acknowledgement),
    "packet on the way to l1": ("entry_to_l1", packet_on_the_way_to_l1),
    "asked again too early": ("requests_of_l1", asked_again_too_early),
    "left too early": (
        "exit_from_l1",
        changed("ns", lambda one: one["ns"] + 1_000.0, training="TS1", direction="down"),
    ),
}
"""Changes to `REST`."""

_SKIPS = {"ordered_set": "SKP", "link": "s0-b", "direction": "down"}
_COMPLETION = {"tlp": "CplD", "link": "s0-a", "direction": "down"}

MUTATIONS: Broken = {
    "answer before the question": ("recovery", answer_before_the_question),
    "data stream without an answer": ("recovery", removed(training="TS2")),
    "unframed without recovery": (
        "framing_errors",
        changed("verdict", lambda _: "unframed", 20, arrival="tlp", verdict="accepted"),
    ),
    "recognised after a framing error": (
        "framing_errors",
        changed("verdict", lambda _: "accepted", 1, verdict="unframed"),
    ),
    "another width than agreed": (
        "time_on_the_wire",
        changed("lanes", lambda _: 1, training="TS2", lanes=2),
    ),
    "two at once": (
        "one_thing_at_a_time",
        changed("ns", lambda one: one["ns"] - one["length_ns"] / 2, 20, tlp="MWr"),
    ),
    "too long": (
        "time_on_the_wire",
        changed("length_ns", lambda one: one["length_ns"] + 1.0, 20, tlp="CplD"),
    ),
    "late arrival": ("arrivals", changed("ns", lambda one: one["ns"] + 3.0, 20, arrival="tlp")),
    "no ordered set": ("ordered_sets", removed(5, **_SKIPS)),
    "set within a block": (
        "ordered_sets",
        changed("ns", lambda one: one["ns"] + 1.015625, 5, **_SKIPS),
    ),
    "skipped number": (
        "sequence_numbers",
        changed("sequence", lambda one: (one["sequence"] + 1) % 4096, 20, tlp="MWr", replay=False),
    ),
    "replay without reason": ("replays", replay_without_reason),
    "accepted with errors": (
        "receiver_decisions",
        changed("verdict", lambda _: "accepted", arrival="tlp", verdict="nak"),
    ),
    "ack of what has not come": (
        "acknowledgements",
        changed(
            "raw",
            lambda one: _patched(one["raw"], 2, (one["sequence"] + 1).to_bytes(2, "big")),
            5,
            dllp="Ack",
        ),
    ),
    "no ack": ("acknowledgements", no_ack),
    "TLP before credit": (
        "flow_control_initialisation",
        changed("ns", lambda _: 1.0, link="s0-b", direction="down", tlp="MWr"),
    ),
    "limit lowered": ("credit_limits", limit(lambda word: word - (3 << 14))),
    "credit from nowhere": ("credit_returns", limit(lambda word: word + (9 << 14))),
    "scale of its own": ("credit_returns", limit(lambda word: word | 2 << 22)),
    "no refresh": ("credit_refresh", no_refresh),
    "across a page": ("requests", header(14, b"\x0f\xf8", 5, tlp="MRd", link="h0-s0")),
    "wrong byte count": ("completions", header(7, b"\x04", 8, **_COMPLETION)),
    "wrong lower address": ("completions", header(11, b"\x44", 8, **_COMPLETION)),
    "other attributes": ("completions", bits(2, 0x20, **_COMPLETION)),
    "completion by ID": ("completions", bits(1, 0x04, **_COMPLETION)),
    "attribute that is not enabled": (
        "attributes",
        bits(1, 0x04, tlp="MWr", link="s0-a", direction="up"),
    ),
    "prefix that is not enabled": (
        "prefixes",
        changed(
            "header",
            lambda one: "91000005" + one["header"],
            tlp="MRd",
            direction="up",
            replay=False,
        ),
    ),
    "tag too wide": ("tag_widths", header(6, b"\x21", 1, tlp="MRd", link="s0-a", direction="up")),
    "tag in use": ("tags", tag_in_use),
    "writes out of order": ("ordering_table", writes_out_of_order),
}
"""Changes to `GOOD`, each with the name of the rule that finds it."""
