"""The rule behind `predicted`: everything that moves such a row has a source, or is calibrated."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from peerlane._core import advice as nearby
from peerlane.reproduction.catalogue import folder_of, scenario_text
from peerlane.reproduction.expected import Expected, is_independent
from peerlane.reproduction.inputs import everywhere, of_scenario, source_of
from peerlane.reproduction.sensitivity import record
from peerlane.reproduction.sensitivity.record import FILE, LISTED, advice, base
from peerlane.reproduction.sensitivity.task import constants_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from peerlane.reproduction.expected import Calibration, Source
    from peerlane.reproduction.sensitivity.record import Figure, Record


def concerns(system: str) -> list[str]:
    """What speaks against the predicted rows of a system; nothing if they are what they say."""
    return stale(system) or [*unknown(system), *unfounded(system)]


def unknown(system: str) -> list[str]:
    """The keys of `[[sources]]` that are no inputs."""
    known = [*of_scenario(scenario_text(system)), *everywhere(), *constants_of(system)]
    expected = Expected.load(folder_of(system))
    return [
        f"{system}: [[sources]] has {key!r}, which is no input; {nearby(key, known)}"
        for entry in expected.sources
        for key in entry.where
        if key not in known and not any(fnmatchcase(one, key) for one in known)
    ]


def stale(system: str) -> list[str]:
    """What is wrong with the state of a system's `sensitivity.toml`; nothing if it is current."""
    wanted = Expected.load(folder_of(system)).predicted()
    if not wanted:
        return []
    try:
        known = record.load(system)
    except ValueError as error:
        return [str(error)]
    if known is None:
        return [f"{system} has no {FILE}, which predicted rows need; {advice(system)}"]
    return [f"{why}; {advice(system)}" for why in _stale(system, known, wanted)]


def _stale(system: str, known: Record, wanted: Mapping[str, list[str]]) -> Iterator[str]:
    old = f"{system}/{FILE} is of an older"
    if known.scenario != record.scenario_digest(system):
        yield f"{old} scenario.toml"
    if known.experiments != record.experiments_digest(system):
        yield f"{old} state of the experiments"
    if known.profiles != record.profile_digests(known.profiles):
        yield f"{old} state of the simulator's profiles"
    if known.defaults != record.default_digests(known.defaults):
        yield f"{old} state of the simulator's defaults"
    for name, rows in wanted.items():
        figure = known.figures.get(name)
        if figure is None:
            yield f"{system}/{FILE} does not have the figure {name}, which has predicted rows"
            continue
        if figure.untried:
            yield f"{len(figure.untried)} inputs of {system} {name} were not moved"
        if missing := sorted({*rows} - figure.rows.keys()):
            yield f"{system}/{FILE} does not have the predicted row {missing[0]}"


def unfounded(system: str) -> list[str]:
    """The predicted rows that an input moves which has no source and is not calibrated.

    Each text says by how much, and what would be right.
    """
    expected = Expected.load(folder_of(system))
    known = record.load(system)
    if known is None:
        return []
    found: list[str] = []
    for name, rows in expected.predicted().items():
        if figure := known.figures.get(name):
            for row in rows:
                found += _unfounded(system, row, figure, expected)
    return found


def _unfounded(system: str, row: str, figure: Figure, expected: Expected) -> Iterator[str]:
    for move, percent in figure.moved.get(row, {}).items():
        name = base(move)
        if abs(percent) <= LISTED or origin_of(name, expected) != "choice":
            continue
        own = source_of(name)
        said = f', "{own}",' if own else ""
        yield (
            f"{system}: {row} is predicted, but {_moves(move, figure, percent)}, which has no"
            f" independent source{said} and is not calibrated; name a source in [[sources]], fit"
            " it in [[calibration]], or give the row another kind"
        )


def origin_of(name: str, expected: Expected) -> Literal["fitted", "document", "choice"]:
    """The origin of the value of an input of a system: a choice if no source says it."""

    def has(entries: Iterable[Calibration | Source]) -> bool:
        keys = (key for entry in entries for key in entry.where)
        return any(name == key or fnmatchcase(name, key) for key in keys)

    if has(expected.calibration):
        return "fitted"
    own = source_of(name)
    return "document" if has(expected.sources) or (own and is_independent(own)) else "choice"


def _moves(move: str, figure: Figure, percent: float) -> str:
    """By how much a move changes a row, in words."""
    name = base(move)
    value = figure.inputs.get(name, "")
    if move != name:
        return f"{name} ({value}) moves it by {percent:+.1f} % as {move.partition('=')[2]}"
    return f"10 % of {name} ({value}) move it by {percent:+.1f} %"
