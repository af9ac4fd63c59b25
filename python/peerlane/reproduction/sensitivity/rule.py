"""Checks the rule for rows of the kind `predicted`.

The simulated value must be within the tolerance of the published value for every possible value of
each input that has no independent source.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from peerlane._core import advice as nearby
from peerlane.reproduction.catalogue import folder_of, scenario_text
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.inputs import everywhere, of_scenario, source_of
from peerlane.reproduction.row import Row
from peerlane.reproduction.sensitivity import record
from peerlane.reproduction.sensitivity.record import FILE, advice, base
from peerlane.reproduction.sensitivity.task import constants_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.reproduction.expected import ExpectedRow, Source
    from peerlane.reproduction.sensitivity.record import Figure, Record


def concerns(system: str) -> list[str]:
    """Messages about predicted rows that are not confirmed; empty if all rows are confirmed."""
    return stale(system) or [*unknown(system), *unfounded(system)]


def unknown(system: str) -> list[str]:
    """Messages about names in `[[sources]]` and `[[ranges]]` that are not names of inputs."""
    known = [*of_scenario(scenario_text(system)), *everywhere(), *constants_of(system)]
    expected = Expected.load(folder_of(system))
    entries: dict[str, Sequence[Source]] = {
        "sources": expected.sources,
        "ranges": expected.ranges,
    }
    return [
        f"{system}: [[{part}]] has {key!r}, which is no input; {nearby(key, known)}"
        for part, all_ in entries.items()
        for entry in all_
        for key in entry.where
        if key not in known and not any(fnmatchcase(one, key) for one in known)
    ]


def stale(system: str) -> list[str]:
    """Messages about a `sensitivity.toml` that is missing or stale; empty if it is current."""
    expected = Expected.load(folder_of(system))
    if not expected.predicted():
        return []
    try:
        known = record.load(system)
    except ValueError as error:
        return [str(error)]
    if known is None:
        return [f"{system} has no {FILE}, which predicted rows need; {advice(system)}"]
    return [f"{why}; {advice(system)}" for why in _stale(system, known, expected)]


def _stale(system: str, known: Record, expected: Expected) -> Iterator[str]:
    old = f"{system}/{FILE} is of an older"
    if known.scenario != record.scenario_digest(system):
        yield f"{old} scenario.toml"
    if known.experiments != record.experiments_digest(system):
        yield f"{old} state of the experiments"
    if known.profiles != record.profile_digests(known.profiles):
        yield f"{old} state of the simulator's profiles"
    if known.defaults != record.default_digests(known.defaults):
        yield f"{old} state of the simulator's defaults"
    inputs = {name for figure in known.figures.values() for name in figure.inputs}
    if known.ranges.keys() & inputs != {i for i in inputs if expected.origin_of(i) == "choice"}:
        yield f"{old} state of [[sources]] and [[calibration]]"
    for name, rows in expected.predicted().items():
        figure = known.figures.get(name)
        if figure is None:
            yield f"{system}/{FILE} does not have the figure {name}, which has predicted rows"
            continue
        if figure.untried:
            yield f"{len(figure.untried)} inputs of {system} {name} were not moved"
        if missing := sorted({*rows} - figure.rows.keys()):
            yield f"{system}/{FILE} does not have the predicted row {missing[0]}"


def unfounded(system: str) -> list[str]:
    """Messages about predicted rows that depend on an input whose value is our own choice.

    Another value of the input takes the row out of its tolerance. Each message has the error and
    the correction.
    """
    expected = Expected.load(folder_of(system))
    known = record.load(system)
    if known is None:
        return []
    found: list[str] = []
    for name, rows in expected.by_figure().items():
        if (figure := known.figures.get(name)) is None:
            continue
        for row in rows:
            if row.kind == "predicted" and row.is_published:
                found += _unfounded(system, row, figure, expected)
    return found


def _unfounded(system: str, row: ExpectedRow, figure: Figure, expected: Expected) -> Iterator[str]:
    for move, percent in figure.moved.get(row.id, {}).items():
        name = base(move)
        moved = Row(row, "", figure.rows[row.id] * (1 + percent / 100))
        if moved.passes or expected.origin_of(name) != "choice":
            continue
        own = source_of(name)
        said = f', "{own}",' if own else ""
        yield (
            f"{system}: {row.id} is predicted, but {name} ({figure.inputs.get(name, '')}) moves it"
            f" by {percent:+.1f} % as {move.partition('=')[2]}, out of its tolerance, and has no"
            f" independent source{said} and is not calibrated; name a source in [[sources]], fit"
            " it in [[calibration]], or give the row another kind"
        )
