"""Finds the keys of a scenario that may lift a limit, and the values to try for each key.

For each key, the catalogue states which limit it lifts, and how its value grows. A limit can also
be lifted by the removal of bit errors, and by another place for a device or its data.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from math import inf
from typing import TYPE_CHECKING

from peerlane import _core
from peerlane._core import read_value
from peerlane.dotted import join_path, split_path
from peerlane.explaining.lift import Lifting, setting, subject
from peerlane.explaining.schedules import other_ways
from peerlane.explaining.sizes import READ_REQUEST, faults, of_software
from peerlane.explaining.slots import slots
from peerlane.figures.quantities import amount_of
from peerlane.results.waits import (
    COMPUTE,
    FLAGS,
    OF_FLOW,
    OF_RECORDING,
    SUMS,
    TRANSFERS,
    Cause,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from peerlane.explaining.present import Present
    from peerlane.results.bottleneck import Bottleneck, Value

    Row = tuple[str, list[int], str | None, list[str]]

_OF_PARTS = {"memory", "socket", "datapath", "software"}
"""The kinds of limits that only another part lifts: a faster memory, processor or engine."""

_TRANSLATION = "address translation"

_PAGES = ("2 MiB", "32 MiB", "1 GiB")
"""The sizes of pages that are tried for software that maps memory by smaller pages."""

_CACHE = ("write_cache", "64 MiB")
"""The key for the write cache of a drive, and the size that is tried if the drive has no cache."""

_WALK_CACHE = ("walk_cache_entries", 4096)
"""The key for the cache of a host's page tables, and the largest number of its entries."""

_OF_STEPS: dict[str | None, list[Row]] = {
    COMPUTE: [("kernel_latency", [], None, ["0 ns"])],
    FLAGS: [("poll_latency", [], None, ["0 ns"])],
    SUMS: [("memory_bandwidth", [2, 4, 8], None, [])],
    TRANSFERS: [("copy_latency", [], None, ["0 ns"])],
}
"""The keys of GPUs for the waits of schedules, by the `detail` of the wait."""

_OF_MAPPING = ("iommu_page", "iommu_mapped")
"""The keys of a host that a scenario may have only with `iommu`."""


def liftings(
    present: Present, one: Bottleneck, rates: Mapping[str, float], beside: Bottleneck | None = None
) -> list[Lifting]:
    """The changes that may lift the limit of a bottleneck, the cheapest first.

    Args:
        present: The scenario with its present values.
        one: The bottleneck.
        rates: The rate of each flow, in bytes a second.
        beside: The bottleneck of the devices' own links, if these links are also busy.
    """
    settings = (
        *_shortcuts(present, one.flows),
        *_without_errors(present, one.flows),
        *_mappings(present, one.causes),
        *_without_order(present, one),
    )
    found = [
        *(replace(lift, is_setting=True) for lift in settings),
        *faults(present, one),
        *slots(present, one, rates),
        *(_faster_slots(present, beside) if beside else ()),
        *of_limit(present, one),
    ]
    larger = list(of_software(present, one))
    if any(lift.is_of_software and len(lift.keys) == len(one.flows) for lift in larger):
        found = [lift for lift in found if not lift.keys[0].endswith(READ_REQUEST)]
    found += [*larger, *other_ways(present, one)]
    return [lift for lift in dict.fromkeys(found) if lift.before not in lift.values[:1]]


def _faster_slots(present: Present, own: Bottleneck) -> list[Lifting]:
    """Changes to faster links of devices; they count as new parts if no other device is faster."""
    found = of_limit(present, own)
    if set(own.where) <= set(present.slow_slots()):
        return found
    return [replace(lift, is_part=True) for lift in found[:1]]


def _shortcuts(present: Present, flows: Iterable[str]) -> list[Lifting]:
    """Changes of keys that may shorten the path of packets, such as no redirection to the root.

    These are keys of the nodes above the ends of flows. If several nodes have one of these keys,
    there is also a change of the keys of all these nodes together.
    """
    nodes = dict.fromkeys(node for flow in flows for node in present.above_ends(flow))
    found = list(_switched(present, "way", nodes))
    return [*found, _together(found)] if len(found) > 1 else found


def _without_errors(present: Present, flows: Iterable[str]) -> list[Lifting]:
    """A change that removes bit errors from the links of flows; nothing without bit errors."""
    links = dict.fromkeys(link for flow in flows for link in present.way(flow))
    found = {link: errors for link in links if (errors := present.bit_errors(link)) is not None}
    if not found:
        return []
    keys, rates = zip(*found.values(), strict=True)
    reason = f"{subject(found, 'has', 'have')} bit errors ({rates[0]})"
    return [setting(present, dict.fromkeys(keys, 0), reason)]


def _mappings(present: Present, causes: Iterable[Cause]) -> list[Lifting]:
    """Changes of the mapping of memory in the I/O MMUs for whose translations flows wait.

    The sizes of pages grow up to the size of the memory. A change that removes the I/O MMU is last,
    because devices are not isolated without it.
    """
    hosts = [one.where for one in causes if one.detail == _TRANSLATION]
    off: list[Lifting] = []
    other: list[Lifting] = []
    for lift in _switched(present, "mapping", hosts):
        if isinstance(lift.before[0], bool):  # `iommu`, which other keys need
            keys = (f"{lift.table}.{one}" for one in _OF_MAPPING)
            unused = dict.fromkeys(key for key in keys if present.scenario.get(key))
            off.append(_together([lift, setting(present, unused)]))
        elif lift.is_of_pages:
            memory = amount_of(present.value(f"{lift.table}.memory")) or inf
            now = _number(lift.before[0])
            pages = [(page,) for page in _PAGES if now < _number(page) <= memory]
            other.append(replace(lift, values=tuple(pages)))
        else:
            other.append(lift)
    return [*other, *off]


def _without_order(present: Present, one: Bottleneck) -> list[Lifting]:
    """A change that lets packets pass earlier packets, for which they may wait in a host."""
    hosts = [split_path(present.table(cause.where))[0] == "hosts" for cause in one.causes]
    if one.kind != "memory" or not all(hosts):
        return []
    ends = dict.fromkeys(end for flow in one.flows for end in present.ends_of_flow(flow)[:1])
    tables = [*(join_path(("flows", flow)) for flow in one.flows), *map(present.table, ends)]
    found = [lift for table in tables for lift in _of_table(present, "order", table)]
    return [_together(found)] if found else []


def of_limit(present: Present, one: Bottleneck) -> list[Lifting]:
    """Changes of keys that lift a limit by the catalogue, for all places of the limit together."""
    places = [_at(present, one, cause) for cause in _causes(present, one)]
    found = [_side_by_side(alike) for alike in zip(*places, strict=False)]
    if one.kind == "software" and found and not found[0].keys[0].startswith("devices."):
        return [_together(found)]  # all keys are costs of one system call
    return found


def _causes(present: Present, one: Bottleneck) -> Sequence[Cause]:
    """The causes at all places that have to change together.

    For a schedule, these are also the places that are not on the critical path: all its devices,
    all links of these, or all links above these. If a change left them out, another path through
    them would become the critical one.
    """
    if one.section == "flows" or set(one.where) & set(present.slow_slots()):
        return one.causes
    devices = dict.fromkeys(end for flow in one.flows for end in present.ends_of_flow(flow))
    if one.kind == "wire":
        links = dict.fromkeys(link for flow in one.flows for link in present.way(flow))
        own = set(map(present.own_link, devices))
        names = [link for link in links if (link in own) == (one.where[0] in own)]
    else:
        names = [] if one.kind == "socket" else list(devices)
    return [replace(one.causes[0], where=where) for where in dict.fromkeys((*names, *one.where))]


def _at(present: Present, one: Bottleneck, cause: Cause) -> list[Lifting]:
    """Changes that lift a limit at one place: of single keys, and of keys that limit together."""
    tables = list(dict.fromkeys(_tables(present, one, cause)))
    if not tables:
        return []
    found = list(_in_tables(present, cause, tables))
    if cause.detail == _TRANSLATION:
        key, most = f"{tables[0]}.{_WALK_CACHE[0]}", _WALK_CACHE[1]
        found.append(replace(setting(present, {key: most}), is_part=True))
    both: list[Lifting] = []
    if cause.kind == "wire" and one.detail and present.bit_errors(cause.where):
        return [_slower(lift) if lift.keys[0].endswith(".generation") else lift for lift in found]
    if cause.kind == "wire":  # the values of other links are tried first
        others = [
            replace(lift, values=lift.values[:1])
            for lift in found
            if lift.values and present.of_others(cause, lift.keys[0]) == lift.values[0][0]
        ]
        found.sort(key=lambda lift: lift.keys[0] not in {one.keys[0] for one in others})
        return [_together(others), *found] if len(others) > 1 else found
    if cause.kind == "credit" and cause.detail is not None:
        stem = cause.detail.rpartition(" ")[0]
        amounts = [replace(cause, detail=f"{stem} {amount}") for amount in ("headers", "data")]
        both = [lift for amount in amounts for lift in _in_tables(present, amount, tables)]
    elif cause in _of_drive(cause.where):
        queue, media = (list(_in_tables(present, one, tables)) for one in _of_drive(cause.where))
        caches = (f"{table}.{_CACHE[0]}" for table in tables)
        off = {key: _CACHE[1] for key in caches if amount_of(present.value(key)) == 0}
        cached = [setting(present, off)] if off else []
        found, both = [*cached, *queue, *media], _at_least(queue)
    elif cause.kind in {"tags", "outstanding"}:
        found.sort(key=lambda lift: lift.keys[0].endswith(READ_REQUEST))
        both = [lift for lift in found if not lift.keys[0].endswith(READ_REQUEST)]
    place = len(both) if both == found[: len(both)] else len(found)
    return [*found[:place], *([_side_by_side(both)] if len(both) > 1 else ()), *found[place:]]


def _slower(lift: Lifting) -> Lifting:
    """A change to the next lower generation, at which a link may have fewer bit errors."""
    last = lift.before[0]
    lower = ((last - 1,) * len(lift.keys),) if isinstance(last, int) and last > 1 else ()
    return replace(lift, values=lower)


def _of_drive(where: str) -> tuple[Cause, Cause]:
    """The limits of a drive that delay its commands: its number of commands, and its flash."""
    return Cause("outstanding", where, None, "commands"), Cause("memory", where, None, "the flash")


def _tables(present: Present, one: Bottleneck, cause: Cause) -> Iterable[str]:
    """The tables whose keys may lift a limit; keys of several tables are changed together."""
    where, fibre = cause.where, present.routers(cause.where)
    if cause.detail in {OF_FLOW, OF_RECORDING}:
        return [join_path(("flows", flow)) for flow in one.flows]
    if cause.kind in {"wire", "credit"} and fibre:
        return map(present.table, fibre)
    if cause.kind == "wire":
        return [present.table_of_link(where)]
    if cause.kind in {"credit", "replay-buffer"}:
        end = _end(present, cause, sends=cause.kind == "replay-buffer")
        return [] if end is None else [present.table(end)]
    if cause.kind == "other" and cause.detail != TRANSFERS:
        return []
    return [present.table(where.rpartition(".")[0] if cause.kind == "socket" else where)]


def _end(present: Present, limit: Cause, *, sends: bool) -> str | None:
    """The node that sends into a direction of a link, or the node that receives from it."""
    ends = present.ends(limit.where)
    if ends is None:
        return None
    above, below = ends
    is_down = limit.direction in {"down", "forth"}
    return above if is_down == sends else below


def _in_tables(present: Present, limit: Cause, tables: Sequence[str]) -> Iterator[Lifting]:
    """Changes of keys in tables that lift a limit, without keys whose value sets no limit."""
    parts = _OF_STEPS.get(limit.detail, [])
    kinds = ("datapath", "tags") if limit.detail == TRANSFERS else (limit.kind,) * (not parts)
    lifts = [row for kind in kinds for row in present.scenario.lifts(tables[0], kind, limit.detail)]
    for row in (*parts, *lifts):
        keys, own = _keys(present, limit, tables, row)
        before = present.before(limit, keys[0])
        first = present.of_others(limit, keys[0])
        is_part = row in parts or (limit.kind in _OF_PARTS and limit.detail != OF_FLOW)
        yield from _lifting(keys, before, own, first, is_part=is_part)


def _switched(present: Present, what: str, nodes: Iterable[str]) -> Iterator[Lifting]:
    """Changes of keys of nodes that the catalogue lists for a "way" or a "mapping"."""
    for node in nodes:
        yield from _of_table(present, what, present.table(node))


def _of_table(present: Present, what: str, table: str) -> Iterator[Lifting]:
    for row in present.scenario.lifts(table, what):
        key = f"{table}.{row[0]}"
        found = _lifting((key,), present.value(key), row)
        yield from (one for one in found if one.values)


def _lifting(
    keys: tuple[str, ...], before: Value, row: Row, first: Value = None, *, is_part: bool = False
) -> Iterator[Lifting]:
    _, factors, most, to = row
    values = _values(before, factors, most, to, first)
    if values or amount_of(before):
        many = len(keys)
        rows = tuple((value,) * many for value in values)
        yield Lifting(keys, (before,) * many, rows, is_part)


def _keys(
    present: Present, limit: Cause, tables: Sequence[str], row: Row
) -> tuple[tuple[str, ...], Row]:
    """The paths of a key in all tables, and the key's row in the catalogue.

    A clock is changed for the controller and all its network interfaces, because they share it.
    """
    clocks = present.controller_clocks(limit.where) if row[0] == "clock" else ()
    if not clocks:
        return tuple(f"{table}.{row[0]}" for table in tables), row
    controller = clocks[-1].rpartition(".")[0]
    return clocks, present.scenario.lifts(controller, limit.kind)[0]


def _together(liftings: Sequence[Lifting]) -> Lifting:
    """A change with one step, in which the keys of all changes get their last values."""
    return Lifting(
        tuple(key for one in liftings for key in one.keys),
        tuple(value for one in liftings for value in one.before),
        (tuple(value for one in liftings for value in one.values[-1]),),
        any(one.is_part for one in liftings),
    )


def _side_by_side(liftings: Sequence[Lifting]) -> Lifting:
    """A change of all keys together; in each step, a key gets its next value, up to its last."""
    if len(liftings) == 1:
        return liftings[0]
    with_values = [one for one in liftings if one.values]
    if not with_values:
        return liftings[0]
    steps = zip_longest(*(one.values for one in with_values))
    last = [one.values[-1] for one in with_values]
    return Lifting(
        tuple(key for one in with_values for key in one.keys),
        tuple(value for one in with_values for value in one.before),
        tuple(
            tuple(value for own, end in zip(step, last, strict=True) for value in own or end)
            for step in steps
        ),
        with_values[0].is_part,
    )


def _at_least(liftings: Sequence[Lifting]) -> list[Lifting]:
    """Changes of numeric keys that are raised together: in a step, no key stays below one value."""
    steps = sorted({value for one in liftings for row in one.values for value in row}, key=_number)
    return [
        replace(
            one,
            values=tuple(
                tuple(max(before, step, key=_number) for before in one.before) for step in steps
            ),
        )
        for one in liftings
    ]


def _number(value: Value) -> float:
    return amount_of(value) or 0.0


def _values(
    before: Value, factors: Iterable[int], most: str | None, to: Iterable[str], first: Value
) -> list[Value]:
    """The values to try for a key, each larger than the previous one; the last may be no limit.

    `first` is the value that other devices have; it is tried first.
    """
    last = amount_of(before)
    grown = [times(before, factor) for factor in factors] if last else []
    if most is not None:
        greatest: Value = read_value(most)
        grown = [min(one, greatest, key=lambda each: amount_of(each) or 0.0) for one in grown]
    values: list[Value] = []
    for one in (first, *grown, *map(read_value, to)):
        if one is not None and _is_more(one, before, last):
            values.append(one)
            last = amount_of(one) or last
    return values


def _is_more(value: Value, before: Value, last: float | None) -> bool:
    if isinstance(value, bool):
        return value is not before
    amount = amount_of(value)
    return amount is None or last is None or amount > last or (amount == 0 != last)


def times(value: Value, factor: int) -> Value:
    """A number or a quantity, multiplied by a factor."""
    if isinstance(value, int | float):
        return value * factor
    found = _core.quantity(value or "")
    if found is None:
        return value
    number = float(found[0]) * factor
    return f"{int(number) if number.is_integer() else number} {found[1]}".strip()
