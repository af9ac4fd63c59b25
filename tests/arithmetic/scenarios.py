"""Random configurations, and what each is as a scenario."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from arithmetic.configuration import Class, Configuration, Device, Flow, Host, Link, Port, Switch
from arithmetic.credits import sizes
from arithmetic.wire import Rate

if TYPE_CHECKING:
    from collections.abc import Iterator

TAGS = [1, 2, 4, 8, 16, 32, 32]
MAX_READ_REQUESTS = [128, 256, 512, 1024, 4096]

MOST_PIECES = 8
"""The most completions of a read."""

KINDS = "write", "read", "peer", "two-way", "mixed"


def configuration(seed: int, number: int) -> Configuration:
    """The configuration with this number among those of a seed."""
    random = Random(f"{seed}/{number}")
    pick = random.choice
    kind = pick(KINDS)
    max_payload = pick([128, 128, 256, 256, 512, 1024, 4096])
    numbers = {
        "write": [0, 1, 1, 2, 3],
        "read": [0, 1, 1, 2, 3],
        # Behind more switches the buffers between links of one rate take long to fill.
        "mixed": [1],
    }
    switches = _switches(random, pick(numbers.get(kind, [1, 1, 2, 3])))
    last = list(switches)[-1] if switches else "h"
    devices: dict[str, Device] = {}
    are_alike = kind == "read" and random.random() < 0.7
    for device in range(_sources(random, kind, last)):
        above = last
        if (kind == "peer" and device == 1) or kind == "two-way":
            above = pick(list(switches))
        # Requests that share a path with writes wait behind all that the buffers on it hold.
        tags, most = ([32], [512, 1024, 4096]) if kind == "mixed" else (TAGS, MAX_READ_REQUESTS)
        made = Device(above, pick(tags), pick(most))
        if device > 0 and kind == "read":
            # Where completions share a wire, so do tags: few among many take long to measure.
            first = devices["d0"]
            made = first if are_alike else replace(made, tags=max(1, first.tags // pick([1, 2, 4])))
        devices[f"d{device}"] = made
    plain = Rate(pick([1, 2, 3, 4, 5]), pick([1, 2, 4, 8, 16]))
    uneven = kind in ("write", "peer", "two-way") and random.random() < 0.4
    links = {}
    for node in [*switches, *devices]:
        rate = plain
        if uneven and random.random() < 0.5:
            rate = Rate(pick([1, 2, 3, 4, 5]), pick([1, 2, 4, 8, 12, 16]))
        if kind == "mixed":
            # Between links of one rate the buffer for completions fills for milliseconds, and rates
            # change when it is full.
            lanes = min(plain.lanes, 8)
            rate = replace(plain, lanes=2 * lanes if node == "d1" else lanes)
        links[node] = Link(rate, pick([0.0, 1.0, 1.0, 30.0]))
    policy = _policy(random)
    ports = {}
    if random.random() < 0.4:
        limited = pick(["h", *switches, *devices])
        ports[limited] = _limited(random, policy, max_payload)
    host = _host(random)
    piece = min(max_payload, host.largest_completion)
    return Configuration(
        name=f"{seed}/{number}",
        kind=kind,
        max_payload=max_payload,
        host=host,
        switches=switches,
        devices=devices,
        links=links,
        ports=ports,
        flows=list(
            _flows(
                random, kind, devices, (max_payload, MOST_PIECES * piece), is_limited=bool(ports)
            )
        ),
        default=policy,
    )


def _sources(random: Random, kind: str, last: str) -> int:
    if kind in ("two-way", "mixed"):
        return 2
    if kind == "peer":
        return random.choice([2, 2, 3, 4])
    return random.choice([1, 1, 2, 3, 4]) if last != "h" else 1


def _switches(random: Random, number: int) -> dict[str, Switch]:
    switches, above = {}, "h"
    for index in range(number):
        latency = random.choice([110.0, 150.0, 240.0])
        core = random.choice([latency / 2, 30.0, 60.0])
        switches[f"s{index}"] = Switch(above, latency, core, random.random() < 0.8)
        above = f"s{index}"
    return switches


def _host(random: Random) -> Host:
    pick = random.choice
    return Host(
        latency_ns=pick([100.0, 150.0, 400.0]),
        port_latency_ns=pick([50.0, 50.0, 80.0]),
        read_latency_ns=pick([80.0, 200.0]),
        address_bits=pick([32, 64]),
        largest_completion=pick([4096, 4096, 64, 128, 256]),
    )


def _policy(random: Random) -> Port:
    pick = random.choice
    if random.random() < 0.6:
        return Port()
    return Port(
        ack_packets=pick([0, 1, 2, 4]),
        ack_limit_fraction=pick([0.25, 1.0, 1.0]),
        update_fc_packets=pick([0, 1, 2, 4]),
        update_fc_share=pick([0.0, 0.25, 0.5]),
        scaled_flow_control=pick([None, None, False, True]),
    )


def _limited(random: Random, policy: Port, max_payload: int) -> Port:
    pick = random.choice
    headers = pick([None, 1, 2, 3, 4, 6, 8, 12, 16])
    data = pick([None, 1, 2, 3, 4, 8, 16])
    values = dict(vars(policy))
    values["headers"] = headers, pick([None, None, 1, 2, 4, 8])
    values["data"] = data and data * max_payload, None
    return Port(**values)


def _flows(
    random: Random,
    kind: str,
    devices: dict[str, Device],
    most: tuple[int, int],
    *,
    is_limited: bool,
) -> Iterator[Flow]:
    max_payload, most_read = most
    pick = random.choice

    def size(most: int) -> int:
        return pick([size for size in (64, 128, 256, 512, 1024, 2048, 4096) if size <= most])

    same = pick([size(max_payload), size(max_payload), size(4096)])
    names = list(devices)
    match kind:
        case "write":
            for name in names:
                # Of packets that wait for few credits the smaller go first, without end.
                sizes = [same] if is_limited else [same, same, size(max_payload)]
                yield Flow(name, "h", is_read=False, request=pick(sizes))
        case "read":
            request = size(min(devices["d0"].max_read_request, most_read))
            for name in names:
                own = min(request, devices[name].max_read_request)
                yield Flow(name, "h", is_read=True, request=own)
        case "peer":
            for name in names[2:] or names[:1]:
                yield Flow(name, "d1", is_read=False, request=same)
        case "two-way":
            yield Flow("d0", "d1", is_read=False, request=same)
            yield Flow("d1", "d0", is_read=False, request=pick([same, size(max_payload)]))
        case "mixed":
            yield Flow("d0", "h", is_read=False, request=same)
            largest = min(devices["d1"].max_read_request, most_read)
            request = max(min(512, largest), size(largest))
            yield Flow("d1", "h", is_read=True, request=request)


def scenario(configuration: Configuration, start_ns: float, until_ns: float) -> str:
    """The configuration as TOML, with the window in which steady rates are measured."""
    host = configuration.host
    lines = [
        "[hosts.h]",
        'memory = "64 MiB"',
        f"memory_address_bits = {host.address_bits}",
        f'latency = "{host.latency_ns} ns"',
        f'port_latency = "{host.port_latency_ns} ns"',
        f'memory_read_latency = "{host.read_latency_ns} ns"',
        f'largest_completion = "{host.largest_completion} B"',
        *_port(configuration, "h"),
    ]
    for name, switch in configuration.switches.items():
        lines += [
            f"[switches.{name}]",
            _upstream(configuration, name),
            f'latency = "{switch.latency_ns} ns"',
            f'core_latency = "{switch.core_latency_ns} ns"',
            f"cut_through = {str(switch.cut_through).lower()}",
            *_port(configuration, name),
        ]
    for name, device in configuration.devices.items():
        lines += [
            f"[devices.{name}]",
            _upstream(configuration, name),
            'bar = "1 MiB"',
            f"tags = {device.tags}",
            f'max_read_request = "{device.max_read_request} B"',
            *_port(configuration, name),
        ]
    for flow in configuration.flows:
        lines += [
            "[[flows]]",
            f'from = "{flow.source}"',
            f'to = "{flow.target}"',
            f'direction = "{"read" if flow.is_read else "write"}"',
            f'request_size = "{flow.request} B"',
            f'duration = "{until_ns:.3f} ns"',
            'window = "64 KiB"',
        ]
    lines += ["[measure]", f'from = "{start_ns:.3f} ns"', f'until = "{until_ns:.3f} ns"']
    return "\n".join(lines) + "\n"


def _upstream(configuration: Configuration, name: str) -> str:
    link = configuration.links[name]
    above = configuration.above(name)
    return (
        f'upstream = {{ to = "{above}", generation = {link.rate.generation}, '
        f'lanes = {link.rate.lanes}, delay = "{link.delay_ns} ns" }}'
    )


def _port(configuration: Configuration, node: str) -> Iterator[str]:
    port = configuration.port(node)
    yield f'max_payload_supported = "{configuration.max_payload} B"'
    yield f"ack_packets = {port.ack_packets}"
    yield f"ack_limit_fraction = {port.ack_limit_fraction}"
    yield f"update_fc_packets = {port.update_fc_packets}"
    yield f"update_fc_share = {port.update_fc_share}"
    yield "receive_pipeline_symbols = 0"
    yield "transmit_pipeline_symbols = 0"
    if port.update_fc_delay_ns is not None:
        yield f'update_fc_delay = "{port.update_fc_delay_ns} ns"'
    if port.scaled_flow_control is not None:
        yield f"scaled_flow_control = {str(port.scaled_flow_control).lower()}"
    own = [*zip(port.headers, port.data, strict=True), (None, None)]
    for kind, (headers, data) in zip(Class, own, strict=True):
        usual_headers, usual_data = sizes(configuration, kind)
        name = kind.name.lower().replace("non_", "non")
        yield f"{name}_headers = {headers or usual_headers}"
        yield f'{name}_data = "{data or usual_data * 16} B"'
