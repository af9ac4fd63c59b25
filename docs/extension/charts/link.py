"""Charts of one link between a host and a device."""

from __future__ import annotations

import json
import tempfile
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from extension.charts.look import chart, lines, powers
from peerlane import Fabric
from peerlane.charts.colours import SERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane import RunResult
    from peerlane.charts.chart import Spec

PAYLOADS = [4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
POLICIES: dict[str, Spec] = {
    "an Ack within the latency limit": {},
    "an Ack for each packet": {"ack_packets": 1},
}
LARGEST: Spec = {"max_payload_supported": "4 KiB"}
DIRECTIONS = {"up": "device to host", "down": "host to device"}


def wire() -> Spec:
    """Small writes up and larger writes down, around the time of an SKP ordered set."""
    fabric = _link(lanes=4).flow("d", "h", size="32 KiB", request_size="64 B")
    fabric.flow("h", "d", size="16 KiB", request_size="128 B", interval="150 ns")
    return _timeline(fabric, around="SKP", before=200, after=200)


def overhead() -> Spec:
    """The kinds of bytes on a wire, by payload, while both directions are full."""
    kinds = ("payload", "headers, framing, LCRC", "DLLPs", "ordered sets")
    values = []
    for payload in PAYLOADS:
        fabric = _link(host=LARGEST, device={**LARGEST, "bar": "1 MiB"})
        request: dict[str, Any] = {
            "request_size": f"{payload} B",
            "size": f"{min(payload, 512) * 2} KiB",
        }
        result = fabric.flow("d", "h", **request).flow("h", "d", **request).run()
        used = result.links["h-d", "up"]
        sizes = (used.payload_bytes, used.overhead_bytes, used.dllp_bytes, used.ordered_set_bytes)
        values += [
            {"payload": payload, "kind": kind, "share": size / sum(sizes), "order": order}
            for order, (kind, size) in enumerate(zip(kinds, sizes, strict=True))
        ]
    encoding = {
        "x": {"field": "payload", "type": "quantitative", "title": "payload of a write"}
        | powers(PAYLOADS, unit="B"),
        "y": {
            "field": "share",
            "type": "quantitative",
            "title": "share of the bytes on the wire",
            "axis": {"format": "%"},
        },
        "color": {"field": "kind", "type": "nominal", "sort": None},
        "order": {"field": "order"},
    }
    return chart(values, mark={"type": "area", "opacity": 0.85}, encoding=encoding)


def credit() -> Spec:
    """The rate of writes by the receive buffer of the host, for links of several lengths."""
    sizes = [1, 2, 4, 8, 16, 32]
    values = [
        {"buffer": size * 1024, "flight": f"{delay} of flight", "rate": _rate(fabric)}
        for delay in ("1 ns", "200 ns", "500 ns", "1 us")
        for size in sizes
        for fabric in [_link(delay=delay, host={"posted_data": f"{size} KiB"})]
    ]
    buffers = powers([size * 1024 for size in sizes], unit="B")
    x = {"field": "buffer", "title": "data credits of the receiver"} | buffers
    return lines(values, x, _RATE, "flight")


def acknowledgement() -> Spec:
    """The time from the arrival of a write to its Ack, by payload, for two policies."""
    sizes = [32, 64, 128, 256, 512]
    values = []
    for policy, host in POLICIES.items():
        for size in sizes:
            fabric = _link(lanes=4, host=host)
            fabric.flow("d", "h", size="16 KiB", request_size=f"{size} B")
            delays = _ack_delays(fabric)
            found = {"longest": max(delays), "mean": fmean(delays)}
            values += [
                {"payload": size, "delay": delay, "of": f"{policy}: {what}"}
                for what, delay in found.items()
            ]
    x = {"field": "payload", "title": "payload of the writes"} | powers(sizes, unit="B")
    y = {"field": "delay", "title": "from last bit to Ack, ns"}
    all_of = lines(values, x, y, "of")
    all_of["encoding"]["color"]["legend"] = {"columns": 2}
    return all_of


def replay_buffer() -> Spec:
    """The rate of writes by the replay buffer of the device, for two policies of Ack."""
    sizes = [1, 2, 3, 4, 5, 6]
    values = [
        {"buffer": size, "policy": policy, "rate": _rate(fabric)}
        for policy, host in POLICIES.items()
        for size in sizes
        for fabric in [_link(host=host, device={"replay_buffer": f"{size} KiB"})]
    ]
    x = {"field": "buffer", "title": "replay buffer, KiB", "axis": {"values": sizes}}
    return lines(values, x, _RATE, "policy")


def replay() -> Spec:
    """The packets around the time of a Nak."""
    fabric = _link(lanes=4, bit_error_rate=1e-5).flow("d", "h", size="64 KiB", request_size="128 B")
    return _timeline(fabric, around="Nak", before=150, after=250)


def errors() -> Spec:
    """The rate of writes by the bit error rate, for two sizes of packets."""
    rates = [1e-9, 1e-8, 1e-7, 1e-6, 3e-6, 1e-5, 3e-5, 1e-4]
    values = [
        {"errors": rate, "payload": f"packets of {size}", "rate": _rate(fabric, request_size=size)}
        for size in ("128 B", "512 B")
        for rate in rates
        for fabric in [_link(lanes=4, bit_error_rate=rate)]
    ]
    x = {
        "field": "errors",
        "title": "bit error rate",
        "scale": {"type": "log"},
        "axis": {"format": ".0e", "values": [rate for rate in rates if f"{rate:.0e}"[0] == "1"]},
    }
    return lines(values, x, _RATE, "payload")


def latency() -> Spec:
    """The latency of a single write by its size, over none, one and two switches."""
    values = []
    for forwarding, cut_through in (("cut-through", True), ("store and forward", False)):
        for switches in (0, 1, 2) if cut_through else (1, 2):
            series = f"{switches} switches, {forwarding}" if switches else "no switch"
            values += [
                {
                    "payload": payload,
                    "latency": _latency(payload, switches, cut_through=cut_through),
                    "way": series.replace("1 switches", "1 switch"),
                }
                for payload in PAYLOADS
            ]
    x = {"field": "payload", "title": "payload of the write"} | powers(PAYLOADS, unit="B")
    chart_of_all = lines(values, x, {"field": "latency", "title": "latency, ns"}, "way")
    chart_of_all["encoding"]["color"]["legend"] = {"columns": 3}
    return chart_of_all


_RATE: Spec = {"field": "rate", "title": "payload, GB/s", "scale": {"zero": True}}


def _link(
    *, lanes: int = 8, host: Spec | None = None, device: Spec | None = None, **link: Any
) -> Fabric:
    fabric = Fabric("link").links(generation=3, lanes=lanes, **link)
    return fabric.host("h", **(host or {})).device("d", "h", **(device or {}))


def _rate(fabric: Fabric, **flow: Any) -> float:
    """The rate of writes from the device to the host, in GB/s."""
    result = fabric.flow("d", "h", id="f", size="1 MiB", **flow).run()
    return (_intact(result).flows["f"].bytes_per_second or 0) / 1e9


def _latency(payload: int, switches: int, *, cut_through: bool) -> float:
    """The latency of one write of a device to the host, in nanoseconds."""
    fabric = Fabric("path").links(generation=3, lanes=8).host("h", **LARGEST)
    above = "h"
    for number in range(switches):
        fabric.switch(f"s{number}", above, cut_through=cut_through, **LARGEST)
        above = f"s{number}"
    fabric.device("d", above, **LARGEST)
    result = fabric.flow("d", "h", id="f", count=1, request_size=f"{payload} B").run()
    found = _intact(result).flows["f"].latency
    assert found is not None
    return found.p50


def _intact(result: RunResult) -> RunResult:
    assert not result.failures, result.failures
    return result


def _timeline(fabric: Fabric, *, around: str, before: float, after: float) -> Spec:
    """The packets on the two wires of a link around the first packet of a kind, in nanoseconds."""
    every = list(_bars(fabric))
    begin = next(bar["from"] for bar in every if bar["kind"] == around) - before
    end = begin + before + after
    bars = [bar for bar in every if bar["from"] < end and bar["to"] > begin]
    for bar in bars:
        bar["middle"] = (bar["from"] + bar["to"]) / 2
        bar["label"] = bar["number"] if begin < bar["middle"] < end else ""
    kinds = list(dict.fromkeys(str(bar["kind"]) for bar in sorted(bars, key=_rank)))
    colours = [SERIES[_KINDS.index(kind)] for kind in kinds]
    x = {"type": "quantitative", "scale": {"domain": [begin, end], "nice": False}}
    y = {
        "field": "direction",
        "type": "nominal",
        "title": None,
        "sort": list(DIRECTIONS.values()),
        "axis": {"minExtent": 100, "maxExtent": 100},
    }
    box = {
        "mark": {
            "type": "bar",
            "height": 26,
            "clip": True,
            "stroke": "var(--paper)",
            "strokeWidth": 0.5,
        },
        "encoding": {
            "x": {"field": "from", "title": "time, ns", "axis": {"tickCount": 6}, **x},
            "x2": {"field": "to"},
            "y": y,
            "color": {
                "field": "kind",
                "type": "nominal",
                "scale": {"domain": kinds, "range": colours},
            },
        },
    }
    number = {
        "mark": {"type": "text", "color": "var(--paper)", "fontSize": 10},
        "encoding": {"x": {"field": "middle", **x}, "y": y, "text": {"field": "label"}},
    }
    return chart(bars, height=110, layer=[box, number])


_KINDS = ("MWr", "replayed MWr", "Ack", "UpdateFC", "Nak", "SKP")


def _rank(bar: Spec) -> int:
    return _KINDS.index(bar["kind"])


def _ack_delays(fabric: Fabric) -> list[float]:
    """For each packet of the device, the time from its arrival to the Ack for it, in ns."""
    waiting: dict[int, float] = {}
    delays = []
    # In the trace, an arrival may follow a later departure in the other direction.
    for event in sorted(_trace(fabric), key=itemgetter("ns")):
        if event.get("arrival") == "tlp" and event["direction"] == "up":
            waiting[event["sequence"]] = event["ns"]
        elif event.get("dllp") == "Ack":
            covered = [number for number in waiting if number <= event["sequence"]]
            delays += [event["ns"] - waiting.pop(number) for number in covered]
    return delays


def _bars(fabric: Fabric) -> Iterator[Spec]:
    """The packets on the wires of a fabric, with their times in nanoseconds."""
    for event in _trace(fabric):
        kind = event.get("tlp") or event.get("dllp") or event.get("ordered_set")
        kind = f"replayed {kind}" if event.get("replay") else kind
        if kind in _KINDS:
            yield {
                "direction": DIRECTIONS[event["direction"]],
                "kind": kind,
                "number": event.get("sequence", "") if "tlp" in event else "",
                "from": event["ns"],
                "to": event["ns"] + event.get("length_ns", _DLLP_NS),
            }


def _trace(fabric: Fabric) -> list[Spec]:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.jsonl"
        fabric.run(trace=trace)
        return [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


_DLLP_NS = 8 * 8 / (4 * 8 * 128 / 130)
"""Eight bytes on four lanes of 8 GT/s with their coding."""
