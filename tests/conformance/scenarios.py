"""Random scenarios: widths, rates, buffers, switches, errors and flows, from a number."""

from __future__ import annotations

import re
from random import Random


def scenario(number: int) -> str:
    """The scenario with this number, as TOML."""
    random = Random(number)
    pick = random.choice
    # A parameter with a stream of its own leaves the other parameters as they were.
    splits = Random(f"splits {number}").choice([None, 64, 128, 256])
    marks = Random(f"marks {number}")
    functions = Random(f"functions {number}")
    # Half of the fabrics have virtual channels; every node has as many.
    channels = Random(f"channels {number}")
    extended = channels.choice([0, 0, 0, 1, 2, 7])
    states = Random(f"states {number}")
    l0s = states.choice([False, False, True])
    deep = Random(f"l1 {number}")
    l1 = deep.choice([False, False, True])
    processes = Random(f"processes {number}")
    has_processes = processes.choice([False, True])
    pauses = Random(f"pauses {number}")
    prefixes = ["tlp_prefixes = true"] if has_processes else []
    lines = [
        f"seed = {number}",
        "[links]",
        *_map(channels, extended),
        f"generation = {pick([1, 2, 3, 4, 5])}",
        f"lanes = {pick([1, 2, 4, 8, 16])}",
        f'delay = "{pick([0, 1, 30])} ns"',
        *(["sris = true"] if Random(f"clocks {number}").random() < 0.25 else []),
        *(["spread_spectrum = false"] if Random(f"spread {number}").random() < 0.5 else []),
        f"bit_error_rate = {pick([0.0, 0.0, 1e-6, 3e-6, 1e-5])}",
        "[hosts.h0]",
        'memory = "1 MiB"',
        f'read_completion_boundary = "{pick([64, 128])} B"',
        f'memory_read_jitter = "{pick([0, 200])} ns"',
        f"tags = {pick([1, 4, 32])}",
        *(["aspm_l0s = true"] if l0s else []),
        *_l0s(states),
        *(["aspm_l1 = true"] if l1 else []),
        *_l1(deep),
        *_enables(marks),
        *prefixes,
        *(['iommu_pasids = "1, 3"'] if has_processes else []),
        *([f'largest_peer_payload = "{splits} B"'] if splits else []),
        *_port(random),
        *_channels(channels, extended),
    ]
    above = ["h0"]
    redirect = random.random() < 0.3
    for switch in range(random.randrange(3)):
        lines += [
            f"[switches.s{switch}]",
            _upstream(random, above),
            f"cut_through = {pick(['true', 'true', 'false'])}",
            f"acs_redirect = {str(redirect).lower()}",
            f"ari_forwarding = {functions.choice(['true', 'false'])}",
            *_output_queue(Random(f"output queue {number} {switch}")),
            *_l0s(states),
            *_l1(deep),
            *prefixes,
            *_port(random),
            *_channels(channels, extended),
        ]
        above.append(f"s{switch}")
    devices = [f"d{number}" for number in range(random.randint(2, 4))]
    for device in devices:
        lines += [
            f"[devices.{device}]",
            _upstream(random, above),
            'bar = "256 KiB"',
            f"tags = {pick([1, 2, 32, 300])}",
            f'max_read_request = "{pick([128, 512, 4096])} B"',
            *_port(random),
            f"ten_bit_tag_completer = {marks.choice(['true', 'true', 'false'])}",
            f"virtual_functions = {functions.choice([3, 7, 20])}",
            'virtual_bar = "4 KiB"',
            *_l0s(states),
            *_l1(deep),
            *_enables(marks),
            *(PASID_CAPABILITY if has_processes else []),
            *_channels(channels, extended),
        ]
    for flow in range(random.randint(1, 5)):
        source = pick([*devices, *devices, "h0"])
        target = pick([end for end in [*devices, "h0"] if end != source])
        request = random.randint(1, 64 if source == "h0" else 512)
        lines += [
            "[[flows]]",
            f'id = "f{flow}"',
            f'from = "{source}"',
            f'to = "{target}"',
            f'direction = "{pick(["write", "read", "both"])}"',
            f'request_size = "{request} B"',
            f"count = {random.randint(1, 60)}",
            *([] if source == "h0" else [f"function = {marks.choice([0, 0, 1, 3])}"]),
            *_mark(marks),
            *_pause(pauses),
            *(_process(processes) if has_processes and source != "h0" else []),
        ]
    text = "\n".join(lines) + "\n"
    return text + _retrainings(Random(f"retrainings {number}"), text, [*above[1:], *devices])


def lives(number: int) -> str:
    """A scenario in which the link above a device goes down and comes up again."""
    random = Random(f"lives {number}")
    pick = random.choice
    down, up = pick(
        [
            ("surprise-removal", "insertion"),
            ("secondary-bus-reset", ""),
        ]
    )
    lines = [
        f"seed = {number}",
        "[links]",
        f"generation = {random.randint(1, 5)}",
        f"lanes = {pick([1, 4, 16])}",
        f'delay = "{pick([0, 30, 300])} ns"',
        f"bit_error_rate = {pick([0.0, 1e-6, 1e-5])}",
        "[hosts.h0]",
        'link_up_wait = "5 us"',
        *_port(random),
        "[switches.s0]",
        'upstream = "h0"',
        # A cut-through port may be passing on a packet that the end of its link cuts.
        f"cut_through = {Random(f'passing on {number}').choice(['true', 'false'])}",
        *_output_queue(Random(f"output queue {number}")),
        *_port(random),
        "[devices.a]",
        f'upstream = "{pick(["h0", "s0"])}"',
        'bar = "64 KiB"',
        *_port(random),
    ]
    for start in ("0 us", "1000 us"):
        lines += [
            "[[flows]]",
            'from = "a"',
            'to = "h0"',
            'size = "16 KiB"',
            f'direction = "{pick(["read", "write", "both"])}"',
            f'start = "{start}"',
        ]
    for at, what in ((random.randrange(1_000, 20_000), down), (50_000, up)):
        if what:
            lines += ["[[incidents]]", f'at = "{at} ns"', f'what = "{what}"', 'node = "a"']
        if what == "insertion":
            lines.append('wait = "300 us"')
        if what == "secondary-bus-reset":
            lines.append('hold = "20 us"')
    return "\n".join(lines) + "\n"


def _retrainings(random: Random, text: str, nodes: list[str]) -> str:
    """Links of half of the fabrics retrain; where every link has other lanes, with fewer."""
    kinds = ['"retrain"', '"retrain"\ngeneration = 1', '"restore"']
    if not re.search(r"lanes = 1\b", text):
        kinds.append('"degrade"\nlanes = 1')
    if not re.search(r"generation = 1\b", text):
        kinds.append('"degrade"\ngeneration = 1')
    count = random.choice([0, 0, 1, 3])
    return "".join(
        f'[[incidents]]\nat = "{random.randrange(15_000)} ns"\nnode = "{random.choice(nodes)}"\n'
        f"what = {random.choice(kinds)}\n"
        for _ in range(count)
    )


PASID_CAPABILITY = ["pasid_width = 2", "pasid_execute = true", "pasid_privileged = true"]


def _process(random: Random) -> list[str]:
    """The PASID prefix of a flow; a third of the flows have none."""
    pasid = random.choice([None, 1, 3])
    if pasid is None:
        return []
    keys = ("execute_requested", "privileged_requested")
    permissions = [f"{key} = {random.choice(['true', 'false'])}" for key in keys]
    return [f"pasid = {pasid}", *permissions]


def _pause(random: Random) -> list[str]:
    """The time between the requests of a flow: none, or longer than the time of a packet."""
    pause_ns = random.choice([None, None, 700, 1500, 4000])
    return [] if pause_ns is None else [f'interval = "{pause_ns} ns"']


def _output_queue(random: Random) -> list[str]:
    """Queues of a switch that hold no packet, a few small ones, or all that a flow sends."""
    size = random.choice([None, None, 32, 160, 600, 4096])
    return [] if size is None else [f'output_queue = "{size} B"']


def _map(random: Random, extended: int) -> list[str]:
    """A map of traffic classes to as many channels as there are."""
    if extended == 0:
        return []
    ids = [0, *(random.randint(0, extended) for _ in range(7))]
    entries = ", ".join(f"TC{number}: VC{channel}" for number, channel in enumerate(ids))
    return [f'tc_vc_map = "{entries}"']


def _channels(random: Random, extended: int) -> list[str]:
    """The channels of a node, and their arbitration."""
    if extended == 0:
        return []
    low = random.randint(0, extended)
    lines = [f"extended_vc_count = {extended}", f"low_priority_vcs = {low}"]
    if low and random.random() < 0.5:
        rest = " ".join(str(random.randint(0, low)) for _ in range(31 - low))
        table = f"{' '.join(map(str, range(low + 1)))} {rest}"
        lines += ['vc_arbitration = "wrr-32"', f'vc_arbitration_table = "{table}"']
    return lines


def _l0s(random: Random) -> list[str]:
    """L0s of most ports, which they enter early enough for short traces."""
    if random.random() < 0.2:
        return []
    exit_ns, entry_ns = random.choice([60, 900]), random.choice([200, 3000])
    return [f'l0s_exit_latency = "{exit_ns} ns"', f'l0s_entry_time = "{entry_ns} ns"']


def _l1(random: Random) -> list[str]:
    """L1 of most ports, which they ask for early enough for short traces."""
    if random.random() < 0.2:
        return []
    exit_ns, entry_ns = random.choice([300, 4000]), random.choice([100, 1000, 3000])
    return [f'l1_exit_latency = "{exit_ns} ns"', f'l1_entry_time = "{entry_ns} ns"']


def _upstream(random: Random, above: list[str]) -> str:
    link = ""
    if random.random() < 0.3:
        lanes = random.choice([1, 4, 12, 16])
        link = f", generation = {random.randint(1, 5)}, lanes = {lanes}"
    return f'upstream = {{ to = "{random.choice(above)}"{link} }}'


def _port(random: Random) -> list[str]:
    """Buffers, from those that hold one packet to large ones."""
    payload = random.choice([128, 256, 512])
    headers = [1, 2, 3, 8, 64, 127]
    lines = [f'max_payload_supported = "{payload} B"']
    for name in ("posted", "nonposted", "completion"):
        if random.random() < 0.8:
            lines.append(f"{name}_headers = {random.choice(headers)}")
        if name != "nonposted" and random.random() < 0.8:
            lines.append(f'{name}_data = "{payload * random.choice([1, 1, 2, 5, 32])} B"')
    if random.random() < 0.5:
        lines.append(f'replay_buffer = "{(payload + 32) * random.choice([1, 3, 32])} B"')
    if random.random() < 0.5:
        lines.append(f"update_fc_share = {random.choice([0.0, 0.1, 0.5, 1.0])}")
    if random.random() < 0.5:
        lines.append(f"ack_limit_fraction = {random.choice([0.0, 0.3, 1.0])}")
    return lines


def _enables(random: Random) -> list[str]:
    """Enable bits of attributes; half of the nodes have those of firmware."""
    keys = (
        "relaxed_ordering_enable",
        "no_snoop_enable",
        "id_ordering_enable",
        "id_ordering_completion_enable",
    )
    if random.random() < 0.5:
        return []
    return [f"{key} = {random.choice(['true', 'false'])}" for key in keys]


def _mark(random: Random) -> list[str]:
    """The attributes and the traffic class of a flow; half of the flows have the default ones."""
    if random.random() < 0.5:
        return []
    keys = ("relaxed_ordering", "id_ordering", "no_snoop")
    attributes = [f"{key} = {random.choice(['true', 'false'])}" for key in keys]
    return [*attributes, f"traffic_class = {random.choice([0, 0, 1, 7])}"]
