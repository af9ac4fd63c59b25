"""Any key of a scenario by its path, such as `devices.a.tags` or `links.generation`.

A path follows the tables of the TOML: section, name or id, key. One that the scenario does not
write is set as well, since the simulator knows its default.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any

import tomli_w

from peerlane import _core
from peerlane._core import ScenarioError
from peerlane.dotted import join_path, split_path
from peerlane.fabric.settings import written
from peerlane.models.registry import all_models, catalogue
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peerlane.fabric.settings import Setting

    Table = dict[str, Any]

_SCALARS = ("name", "seed")
_PLAIN = ("links", "measure")
_NAMED = (
    "hosts",
    "switches",
    "devices",
    "profiles",
    "networks",
    "controllers",
    "io_ports",
    "buffers",
)
_LISTS = {"incidents": "incident"} | LISTS
"""Lists of tables with an `id`, and what the simulator calls one without."""
_JOINED = ("cables", "fibres")
"""Lists of tables that are found by their ends."""
_INNER: dict[str, dict[str, tuple[str, ...]]] = {
    "switches": {"upstream": ()},
    "devices": {"upstream": ()},
    "networks": {"hosts": (), "routers": ("upstream",)},
}
"""The tables within the tables of a section, and the tables within these."""

_SECTIONS = (*_PLAIN, *_NAMED, *_LISTS, *_JOINED)

EVERY = "*"
"""Stands for every name of a section: `devices.*.tags`."""


def read_setting(text: str) -> tuple[str, Setting]:
    """Splits `PATH=VALUE`.

    Raises:
        ValueError: There is no `=`, or no value after it.
    """
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise ValueError(f"{text!r} sets nothing; write KEY=VALUE, such as devices.a.tags=16")
    if not value.strip():
        raise ValueError(f"{text!r} has no value; write KEY=VALUE, such as devices.a.tags=16")
    return path.strip(), read_value(value)


def read_value(text: str) -> Any:  # noqa: ANN401 - whatever TOML has
    """A value as TOML writes it; other text is a string, so that "200 MHz" needs no quotes."""
    text = text.strip()
    try:
        value = tomllib.loads(f"value = {text}\n")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    found = value["value"] if value.keys() == {"value"} else None
    if isinstance(found, float) and not isfinite(found):
        return text  # no quantity, and no number of JSON
    return found if isinstance(found, str | int | float | bool | list) else text


def covers(scenario: Table, path: str, other: str) -> bool:
    """Whether `put` at `path` replaces all that `put` at the other path sets.

    Two paths may name one key: `links.s0-b.lanes` and `devices.b.upstream.lanes`.

    Raises:
        ScenarioError: As for `put`.
    """
    places = {
        one: {(id(place.outer), place.inner, place.key) for place in _places(scenario, one)}
        for one in in_order(scenario, (path, other))
    }
    return places[other] <= places[path]


def is_key(path: str) -> bool:
    """Whether scenarios have keys at such a path, whatever its names; results have others."""
    parts = split_path(path)
    return path in _SCALARS or (parts[0] in _SECTIONS and parts[-1] in _where())


def put(scenario: Table, path: str, value: object) -> None:
    """Sets the key at `path` of a scenario in place; `None` takes it away.

    Raises:
        ScenarioError: There is no such section or name, or no key can be there. Whether the key
            itself exists is for the simulator to say.
    """
    for place in _places(scenario, path):
        place.put(value)


def in_order(scenario: Table, paths: Iterable[str]) -> list[str]:
    """The paths in the order in which `put` sets their keys.

    The first key of a member writes all members of its table out, so keys of members follow those
    of repeated tables. All others stay as they are given.

    Raises:
        ScenarioError: One is not a path.
    """
    given = list(paths)
    if not any(map(_is_repeated, scenario.values())):
        return given
    parts = {path: split_path(path) for path in given}
    last = max((n for n, p in enumerate(given) if _is_of_repeated(scenario, parts[p])), default=-1)
    before = [path for path in given[: last + 1] if not _is_of_member(scenario, parts[path])]
    return before + [path for path in given if path not in before]


def find(scenario: Table, path: str) -> object:
    """The value that the scenario writes at `path`, of several the first; `None` if it has none.

    Raises:
        ScenarioError: As for `put`.
    """
    for place in _places(scenario, path):
        return place.table().get(place.key)
    return None


@dataclass(frozen=True, slots=True)
class _Place:
    """A key of a table, which `inner` tables below `outer` have; the last ones may be missing."""

    outer: Table
    inner: tuple[str, ...]
    key: str

    def table(self) -> Table:
        """The table as it is; an empty one if it is not there."""
        table = self.outer
        for name in self.inner:
            table = _as_table(table.get(name, {}))
        return table

    def put(self, value: object) -> None:
        if value is None:
            self.table().pop(self.key, None)
            return
        table = self.outer
        for name in self.inner:
            table[name] = table = _as_table(table.get(name, {}))
        table |= written({self.key: value})


def _as_table(value: object) -> Table:
    """The table that a node has above it may be written as a name alone."""
    return value if isinstance(value, dict) else {"to": value}


def write_out(scenario: Table, source: str = "<scenario>") -> None:
    """Writes the tables with `each` out, so that every member has a table of its own.

    Raises:
        ScenarioError: One cannot be written out.
    """
    if not any(_is_repeated(part) for part in scenario.values()):
        return
    text = tomli_w.dumps(scenario)
    try:
        members = json.loads(_core.written_out(text, source))
    except ScenarioError as error:  # the line is one of another text
        raise ScenarioError(re.sub(r":\d+: ", ": ", str(error), count=1)) from None
    scenario.clear()
    scenario.update(members)


def _is_repeated(section: object) -> bool:
    """Whether a section or list has tables that are repeated."""
    tables = section.values() if isinstance(section, dict) else section
    return isinstance(tables, Iterable) and any(
        isinstance(table, dict) and "each" in table for table in tables
    )


def _is_of_member(scenario: Table, parts: tuple[str, ...]) -> bool:
    """Whether a path is about one member of a repeated table, which has no table of its own yet."""
    match parts:
        case ("links", id_, _):
            return id_ not in _links(scenario) and any(map(_is_repeated, scenario.values()))
        case (section, name, _, *_) if section in _NAMED:
            tables = _as_tables(scenario.get(section))
            return name != EVERY and name not in tables and _is_repeated(tables)
        case (section, id_, _) if section in _LISTS or section in _JOINED:
            entries = scenario.get(section)
            # An id that is not written counts all members before.
            is_written = isinstance(entries, list) and any(
                isinstance(entry, dict) and entry.get("id") == id_ for entry in entries
            )
            return id_ != EVERY and not is_written and _is_repeated(entries)
        case _:
            return False


def _is_of_repeated(scenario: Table, parts: tuple[str, ...]) -> bool:
    """Whether a path names a repeated table, whose key is that of all members."""
    match parts:
        case ("links", id_, _):
            table, _ = _links(scenario).get(id_, ({}, ()))
        case (section, name, _, *_) if section in _NAMED:
            table = _as_tables(_as_tables(scenario.get(section)).get(name))
        case (section, id_, _) if section in _LISTS or section in _JOINED:
            table = _entries(scenario, section).get(id_, {})
        case (section, _) if section in _LISTS or section in _JOINED:
            return _is_repeated(scenario.get(section))
        case _:
            return False
    return "each" in table


def _places(scenario: Table, path: str) -> Iterator[_Place]:
    parts = split_path(path)
    if _is_of_member(scenario, parts):
        write_out(scenario)
    match parts:
        case (key,) if key in _SCALARS:
            yield _Place(scenario, (), key)
        case (section, *rest) if section in _PLAIN:
            if section == "links" and len(rest) > 1:
                yield _link(scenario, path, rest[0], rest[1:])
            else:
                yield _Place(scenario, (section,), _only(path, rest, section))
        case (section, *rest) if section in _NAMED:
            yield from _of_named(scenario, path, section, rest)
        case (section, *rest) if section in _LISTS or section in _JOINED:
            yield from _of_list(scenario, path, section, rest)
        case (first, *_):
            known = [*_SCALARS, *_SECTIONS]
            raise _unknown(path, f"scenarios have no section {first!r}", first, (), known)


def _only(path: str, rest: list[str], *before: str) -> str:
    """The key, which is all that is left of the path."""
    if len(rest) == 1:
        return rest[0]
    where = join_path(before)
    if not rest:
        raise ScenarioError(f"{path} is a table; write one of its keys, {where}.KEY")
    raise ScenarioError(f"{path}: {join_path([*before, rest[0]])} has no tables; write {where}.KEY")


def _of_named(scenario: Table, path: str, section: str, rest: list[str]) -> Iterator[_Place]:
    tables = {
        name: table
        for name, table in _as_tables(scenario.get(section, {})).items()
        if isinstance(table, dict)
    }
    if len(rest) < 2:  # noqa: PLR2004 - a name and a key
        name = rest[0] if rest else "NAME"
        wanted = "NAME.KEY" if name not in tables else f"{join_path([name])}.KEY"
        every = f", or {section}.*.{rest[0]} for every one" if rest and name not in tables else ""
        raise ScenarioError(f"{path} is no key; write {section}.{wanted}{every}")
    name, *keys = rest
    if name == EVERY:
        chosen = {one: t for one, t in tables.items() if _takes(section, t, keys)}
        if not chosen:
            what = f"no {section} of this scenario have a key {keys[-1]!r}"
            fitting = [
                key for key in _where() if any(_takes(section, t, [key]) for t in tables.values())
            ]
            raise _unknown(path, what, keys[-1], (section, EVERY), fitting)
    elif name in tables:
        chosen = {name: tables[name]}
    elif "{" in name and not _is_repeated(tables):
        raise ScenarioError(_written_out_before(path, name, section))
    else:
        raise _unknown(path, f"there is no {name!r} among the {section}", name, (section,), tables)
    for one, table in chosen.items():
        inner = _inner(section, keys)
        yield _Place(table, inner, _only(path, keys[len(inner) :], section, one, *inner))


def _as_tables(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def _inner(section: str, keys: list[str]) -> tuple[str, ...]:
    """The leading parts of `keys` that are tables within a table of the section."""
    known = _INNER.get(section, {})
    if len(keys) > 1 and keys[0] in known:
        deep = known[keys[0]]
        return (keys[0], keys[1]) if len(keys) > 2 and keys[1] in deep else (keys[0],)  # noqa: PLR2004
    return ()


def _takes(section: str, table: Table, keys: list[str]) -> bool:
    """Whether tables of this section, and of the model of this table, have the key."""
    if len(keys) > 1:
        return keys[0] != "upstream" or "upstream" in table
    mine = table.get("model", "dma")
    return any(
        section in kinds and model in {"", mine} for kinds, model in _where().get(keys[0], [])
    )


def _where() -> dict[str, list[tuple[set[str], str]]]:
    """Every key, with the sections that have it, and the model whose tables do."""
    return _keys_of(tuple(all_models()))


@lru_cache(maxsize=8)
def _keys_of(models: tuple[_core.DeviceModel, ...]) -> dict[str, list[tuple[set[str], str]]]:
    del models  # those of the catalogue
    found: dict[str, list[tuple[set[str], str]]] = {}
    for parameter in catalogue()["parameters"]:
        kinds, _, model = parameter["where"].partition(", model ")
        found.setdefault(parameter["key"], []).append((set(kinds.split(", ")), model))
    return found


def _of_list(scenario: Table, path: str, section: str, rest: list[str]) -> Iterator[_Place]:
    entries = _entries(scenario, section)
    match rest:
        case [key] if len(entries) == 1:
            yield _Place(next(iter(entries.values())), (), key)
        case [id_, *keys] if id_ in entries:
            yield _Place(entries[id_], (), _only(path, keys, section, id_))
        case [id_, *keys] if id_ == EVERY and entries:
            for entry in entries.values():
                yield _Place(entry, (), _only(path, keys, section, id_))
        case []:
            raise ScenarioError(f"{path} is a section; write {section}.ID.KEY")
        case [key] if entries:
            each = f"{section}.{join_path([next(iter(entries))])}.{key}"
            raise ScenarioError(
                f"{path}: there are {len(entries)} {section}; write {each} for one of them,"
                f" or {section}.*.{key} for all"
            )
        case [id_, *_] if "{" in id_ and not _is_repeated(entries):
            raise ScenarioError(_written_out_before(path, id_, section))
        case [id_, *_]:
            raise _unknown(
                path, f"there is no {id_!r} among the {section}", id_, (section,), entries
            )


def _entries(scenario: Table, section: str) -> dict[str, Table]:
    """The tables of a list, by their ids as results have them."""
    written_ = scenario.get(section, [])
    tables = (
        [one for one in written_ if isinstance(one, dict)] if isinstance(written_, list) else []
    )
    found: dict[str, Table] = {}
    for number, table in enumerate(tables, 1):
        if section in _LISTS:
            found[str(table.get("id", f"{_LISTS[section]}-{number}"))] = table
            continue
        pair = f"{table.get('from')}-{table.get('to')}"
        alike = sum(one == pair or one.startswith(f"{pair}-") for one in found)
        found[f"{pair}-{alike + 1}" if pair in found else pair] = table
    return found


def with_their_own(scenario: Table, path: str) -> list[str]:
    """The links that a key of all links does not change, as they write it themselves."""
    match split_path(path):
        case ("links", key):
            places = [(id_, _Place(*where, key)) for id_, where in _links(scenario).items()]
            return [id_ for id_, place in places if key in place.table()]
        case _:
            return []


def _links(scenario: Table) -> dict[str, tuple[Table, tuple[str, ...]]]:
    """Where each link is written: of a node to the node above it, or of a cable."""
    links: dict[str, tuple[Table, tuple[str, ...]]] = {}
    for section in ("switches", "devices"):
        for name, node in _as_tables(scenario.get(section, {})).items():
            if isinstance(node, dict) and "upstream" in node:
                above = _as_table(node["upstream"]).get("to")
                links[f"{above}-{name}"] = node, ("upstream",)
    return links | {name: (cable, ()) for name, cable in _entries(scenario, "cables").items()}


def _link(scenario: Table, path: str, id_: str, keys: list[str]) -> _Place:
    """The key of one link."""
    links = _links(scenario)
    if id_ in links:
        table, inner = links[id_]
        return _Place(table, inner, _only(path, keys, "links", id_))
    for network in _as_tables(scenario.get("networks", {})):
        if id_.startswith(f"{network}-"):
            where = join_path(["networks", network, "routers", "upstream", *keys])
            raise ScenarioError(f"{path}: the links of a network are alike; write {where}")
    raise _unknown(path, f"there is no link {id_!r}", id_, ("links",), links)


def _written_out_before(path: str, name: str, section: str) -> str:
    """The message that a path names a repeated table where there is none, or none any more."""
    return (
        f"{path}: there is no {name!r} among the {section}, and none of them has each; the first"
        f" key of a member writes all members out, so set the keys of {name} before"
    )


def _unknown(
    path: str, what: str, given: str, before: tuple[str, ...], known: Iterable[str]
) -> ScenarioError:
    """The error that a part of a path is not known, with the nearest one that is."""
    names = list(known)
    near = _core.nearest(given, names)
    if near:
        advice = f"did you mean {join_path([*before, near])}?"
    elif names:
        most = 12
        shown = ", ".join(names[:most]) + (", ..." if len(names) > most else "")
        advice = f"there are {shown}"
    else:
        advice = "the scenario has none of its own"
    return ScenarioError(f"{path}: {what}; {advice}")
