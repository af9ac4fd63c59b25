"""Finds numbers of a result by paths in its JSON, such as `flows.up.bytes_per_second`.

The entry of a list is found by its id. If several entries have the same id, the next part of the
path is their direction, or another field that distinguishes them: `links.h0-s0.up.utilisation`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from peerlane import _core
from peerlane.dotted import join_path, split_path
from peerlane.errors import PeerlaneError
from peerlane.formats import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Json = Mapping[str, Any]

Scalar = float | int | str | bool | None

ENCODED = ("histogram_ps",)
"""Fields whose text encodes many values; results also have the quantiles of these values."""
_NAMES = ("id", "name", "host", "where", "by", "from", "direction")
"""The fields that can name the entries of a list; the first field that all entries have is used."""
_TELLING = ("direction", "what", "from", "to", "buffer", "kind")
"""The fields by which entries with the same name can be distinguished."""
_EXAMPLES, _SHOWN = 3, 40
"""The largest number of names that a message suggests, and of parts of a path that it lists."""
_EVERY = "*"
_FEW = 4
"""A list of at most this length, such as a least and a greatest value, has a path for each
value."""


class UnknownMetricError(PeerlaneError, ValueError):
    """A result has no value at this path; the message has the nearest path."""


def values_at(document: Json, paths: Iterable[str]) -> dict[str, Scalar]:
    """The values of a result at some paths; `None` if the run has not observed the value.

    Raises:
        UnknownMetricError: A path does not exist, or is the path of several values.
    """
    # The entries of each list are indexed only once: a large fabric has thousands of paths into one
    # list.
    lists: dict[int, Mapping[str, Any]] = {}

    def members(here: object) -> Mapping[str, Any]:
        if not isinstance(here, list | tuple):
            return _members(here)
        known = lists.get(id(here))
        if known is None:
            known = lists[id(here)] = _members(here)
        return known

    return {path: _value_at(document, path, members) for path in paths}


def _value_at(document: Json, path: str, members: Callable[[object], Mapping[str, Any]]) -> Scalar:
    here: object = document
    parts = split_path(path)
    for depth, part in enumerate(parts):
        if here is None:
            return None
        inner = members(here)
        if part not in inner:
            raise _unknown(document, path, parts[:depth], part, inner)
        here = inner[part]
    if isinstance(here, dict | list | tuple):
        raise _group(path, _members(here))
    found: Scalar = here  # type: ignore[assignment]
    return found


def check(document: Json, schema: Json, path: str) -> set[str]:
    """The types that the value of a metric can have, with the schema's names, such as "number".

    Args:
        document: A result of the scenario, possibly before the run, when many values are `None`.
        schema: The JSON schema of results.
        path: The path of a metric.

    Raises:
        UnknownMetricError: Results of this scenario cannot have the path.
    """
    here: object = document
    kind: Json = schema
    parts = split_path(path)
    for depth, part in enumerate(parts):
        kinds = _kinds(schema, kind)
        inner = _members(here)
        known = dict(inner)
        if here is None:
            known = {name: None for one in kinds for name in one.get("properties", {})}
            if part.isdigit() and any(one.get("type") == "array" for one in kinds):
                known[part] = None
        if part not in known:
            raise _unknown(document, path, parts[:depth], part, known)
        here = None if here is None else inner[part]
        kind = _below(kinds, part)
    if isinstance(here, dict | list | tuple):
        raise _group(path, _members(here))
    fields = {name: 0 for one in _kinds(schema, kind) for name in one.get("properties", {})}
    if here is None and fields:
        raise _group(path, fields)
    return {str(one.get("type")) for one in _kinds(schema, kind)}


def expanded(document: Json, path: str) -> list[str]:
    """Replaces a path with `*` by one path for each matching name in the list.

    Args:
        document: A result of the scenario, possibly before the run.
        path: The path of a metric, such as "flows.*.bytes" or "flows.fpga*.bytes"; without `*` it
            is returned unchanged.

    Raises:
        UnknownMetricError: A `*` is written for a field, for an entry of an empty list, or in a
            name that matches no entry.
    """
    found: list[tuple[tuple[str, ...], object]] = [((), document)]
    for part in split_path(path):
        following = []
        for before, here in found:
            inner = _members(here)
            if _EVERY not in part:
                following.append(((*before, part), inner.get(part)))
                continue
            if not before or not inner or not all(isinstance(one, dict) for one in inner.values()):
                where = join_path(before) or "results"
                raise UnknownMetricError(
                    f"{path}: * stands for the names of entries, and {where} has none; write *"
                    " after the name of a list, such as flows.*.bytes_per_second"
                )
            if not (names := matching(part, inner)):
                raise _unknown(document, path, before, part, inner)
            following += [((*before, name), inner[name]) for name in names]
        found = following
    return [join_path(parts) for parts, _ in found]


def matching(part: str, names: Iterable[str]) -> list[str]:
    """The names that match a part of a path, in which each `*` is any number of letters."""
    form = re.compile(".*".join(map(re.escape, part.split(_EVERY))))
    return [name for name in names if form.fullmatch(name)]


def numbers(document: Json) -> dict[str, Scalar]:
    """Every single value of a result, by its path."""
    return {join_path(parts): value for parts, value in leaves(document)}


def leaves(here: object, *before: str) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """Every single value of a result, or of a part of it, with the parts of its path.

    Values in long lists, such as histograms, are left out.
    """
    if isinstance(here, dict | list | tuple):
        if not isinstance(here, dict) and len(here) > _FEW and not _is_list_of_tables(here):
            return
        for name, inner in _members(here).items():
            yield from leaves(inner, *before, name)
    else:
        yield before, here  # type: ignore[misc]


def named(entries: object) -> Iterator[tuple[str, Json]]:
    """The entries of a list by their names, such as "h0-s0 up"."""
    if isinstance(entries, list | tuple) and _is_list_of_tables(entries):
        yield from _named(_told_apart(entries, _NAMES), {id(entry) for entry in entries})


def _named(members: Json, entries: set[int], *before: str) -> Iterator[tuple[str, Json]]:
    for name, inner in members.items():
        if id(inner) in entries:
            yield " ".join((*before, name)), inner
        else:
            yield from _named(inner, entries, *before, name)


def _is_list_of_tables(here: Sequence[object]) -> bool:
    return bool(here) and all(isinstance(one, dict) for one in here)


def _members(here: object) -> Mapping[str, Any]:
    """The names that can follow in a path, with the values at these names."""
    if isinstance(here, dict):
        return here
    if not isinstance(here, list | tuple):
        return {}
    if not _is_list_of_tables(here):
        return {str(number): one for number, one in enumerate(here)}
    return _told_apart(here, _NAMES)


def _told_apart(entries: Sequence[Json], fields: Sequence[str]) -> dict[str, Any]:
    """The entries by the first of `fields` that all of them have.

    Entries that are equal in this field are distinguished by further fields.
    """
    key = next((field for field in fields if all(field in entry for entry in entries)), None)
    if key is None:
        return {str(number): entry for number, entry in enumerate(entries)}
    groups: dict[str, list[Json]] = {}
    for entry in entries:
        groups.setdefault(str(entry[key]), []).append(entry)
    return {
        name: group[0] if len(group) == 1 else _told_apart(group, _others(group, key))
        for name, group in groups.items()
    }


def _others(group: Sequence[Json], key: str) -> list[str]:
    """The fields by which the entries of a group can be distinguished, without the field `key`."""
    return [
        field
        for field in _TELLING
        if field != key and len({str(entry.get(field)) for entry in group}) > 1
    ]


def _kinds(schema: Json, kind: Json) -> list[Json]:
    """The alternatives of a schema, without references and without null."""
    if "$ref" in kind:
        return _kinds(schema, schema["$defs"][kind["$ref"].rpartition("/")[2]])
    if "anyOf" in kind:
        return [found for one in kind["anyOf"] for found in _kinds(schema, one)]
    return [] if kind.get("type") == "null" else [kind]


def _below(kinds: Sequence[Json], part: str) -> Json:
    """The schema of the value at a part of a path below one of `kinds`."""
    for kind in kinds:
        properties = kind.get("properties", {})
        if part in properties:
            found: Json = properties[part]
            return found
        fixed: list[Json] = kind.get("prefixItems", [])
        if part.isdigit() and int(part) < len(fixed):
            return fixed[int(part)]
        if isinstance(kind.get("items"), dict):
            item: Json = kind["items"]
            return item
    # The part, such as a direction, distinguishes entries with one name: its schema is still the
    # schema of an entry.
    return kinds[0] if kinds else {}


def _group(path: str, inner: Mapping[str, Any]) -> UnknownMetricError:
    if not inner:
        return UnknownMetricError(f"{path} is an empty list; name a single value of the result")
    shown = ", ".join(shortened([join_path([name]) for name in inner], _SHOWN))
    return UnknownMetricError(f"{path} is not a single value; write {path}. before one of {shown}")


def _unknown(
    document: Json, path: str, before: Sequence[str], part: str, known: Mapping[str, Any]
) -> UnknownMetricError:
    where = join_path(before) or "results"
    near = _core.nearest(part, list(known))
    if meant := _meant(document, split_path(path)):
        advice = f"did you mean {meant}?"
    elif near:
        advice = f"did you mean {join_path((*before, near))}?"
    elif known:
        shown = shortened([join_path([name]) for name in known], _SHOWN)
        advice = f"there are {', '.join(shown)}"
    else:
        there = [name for name, value in document.items() if isinstance(value, list) and value]
        advice = f"the result has none; it has {', '.join(there)}"
    return UnknownMetricError(f"there is no metric {path}: {where} has no {part!r}; {advice}")


def _meant(document: Json, parts: Sequence[str]) -> str:
    """A suggestion of metrics whose paths contain the parts of an unknown path or similar words."""
    words = [one for part in parts for one in _MEANT.get(part.lower(), (part,))]
    if words[-1] == _LATENCY:
        words.append(_LATENCIES[0])
    known = [found for found, _ in leaves(document)]
    # Before a run, latencies in its result are empty and have no fields.
    known += [(*one, of) for one in known if one[-1] == _LATENCY for of in _LATENCIES]
    written = list(dict.fromkeys(part for one in known for part in one))
    wanted = {one if one in written else _core.nearest(one, written) for one in words}
    found = [one for one in known if wanted <= set(one)]
    shortest = [one for one in found if len(one) == min(map(len, found))]
    return " or ".join(map(join_path, shortest)) if len(shortest) <= _EXAMPLES else ""


_LATENCY = "latency_ns"
_LATENCIES = ("mean", "min", "p50", "p90", "p99", "p999", "max")
_MEANT = {
    **dict.fromkeys(("rate", "gb/s", "gbps", "bandwidth", "throughput"), ("bytes_per_second",)),
    **dict.fromkeys(("used", "use", "utilization", "busy"), ("utilisation",)),
    **{one: (_LATENCY, one) for one in _LATENCIES},
    "median": (_LATENCY, "p50"),
    "latency": (_LATENCY,),
}
"""Words that users may write for a value, such as headings of tables, with the fields they mean."""
