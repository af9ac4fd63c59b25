"""The page of published machines: each published value beside the simulated one of the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from peerlane.formats import number
from peerlane.report.words import NONE, percent
from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.expected import Expected
from peerlane.reproduction.sensitivity import record
from peerlane.reproduction.sensitivity.record import STRONG, base
from peerlane.reproduction.simulated import FILE as RECORD
from peerlane.reproduction.simulated import load, published_rows, rounded, save
from peerlane.reproduction.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from conftest import Run
    from peerlane.reproduction.row import Row

FILE = Path(__file__).parents[2] / "docs" / "reference" / "published.md"

HEAD = """\
# Published machines: simulated against measured

This page has each published number of the five systems that has a row, with the simulated value
beside it. `make published` runs all systems and writes this page again from their files
`simulated.toml`. [Rows](rows.md) describes how a row is judged.

| status | meaning |
|---|---|
| fitted | a parameter was set from this published number |
| derived | a sum, difference, quotient or share of fitted numbers |
| formula | arithmetic of the specification or of the source, without a simulation |
| predicted | no parameter and no part of the model was chosen to fit this published number |
| not reproduced | the note of the row says why |

The last column has the inputs that change a predicted value most: by more than 2 % if the input
changes by 10 %, or if a choice of ours has another value of its range. For each input it states
whether the value is from a document, was fitted to another published number, or is a choice of
ours. If another value of a choice of ours moves a row out of its tolerance, the row must not be
`predicted`: a test refuses it.
"""

STATUS = {
    "calibrated": "fitted",
    "derived": "derived",
    "analytic": "formula",
    "predicted": "predicted",
    "gap": "not reproduced",
}

MOST_INPUTS = 2
"""Inputs that a row names."""


def made() -> str:
    """The page."""
    tallies = {name: Tally.of(published_rows(name), fitted(name)) for name in systems()}
    return "\n".join([HEAD, *overview(tallies), *(line for name in systems() for line in of(name))])


def fitted(system: str) -> int:
    return len(Expected.load(folder_of(system)).calibration)


def overview(tallies: dict[str, Tally]) -> Iterator[str]:
    """A line for each system."""
    yield (
        "| system | fitted | derived | formula | predicted | median deviation | worst |"
        " not reproduced | beyond the tolerance |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, tally in tallies.items():
        counts = {kind: count.all for kind, count in tally.figures.items()}
        kinds = (counts.get(kind, 0) for kind in ("calibrated", "derived", "analytic"))
        found = tally.predictions
        median = percent(found.median_error_percent).lstrip("+")
        cells = [
            f"[{name}](#{name})",
            *map(str, kinds),
            str(counts.get("predicted", 0)),
            median,
            percent(found.worst_error_percent),
            str(tally.gaps),
            str(tally.published.missed),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""


def of(system: str) -> Iterator[str]:
    """The section of a system."""
    expected = Expected.load(folder_of(system))
    yield from (f"## {system}", "", f"{expected.source}.", "")
    yield "| row | what | published | simulated | deviation | status | depends on |"
    yield "|---|---|---|---|---|---|---|"
    for row in published_rows(system):
        unit = "" if row.expected.unit == "1" else f" {row.expected.unit}"
        simulated = NONE if row.simulated is None else f"{number(row.simulated)}{unit}"
        cells = [
            f"`{row.id}`",
            row.expected.what,
            f"{published(row)}{unit}",
            simulated,
            percent(row.error_percent),
            STATUS[row.expected.kind or "gap"],
            depends_on(system, row, expected),
        ]
        yield f"| {' | '.join(one.replace('|', '/') for one in cells)} |"
    yield ""


def published(row: Row) -> str:
    """The value or the range of the source."""
    ends = row.expected.ends
    return number(row.expected.value) if ends is None else " to ".join(map(number, ends))


def depends_on(system: str, row: Row, expected: Expected) -> str:
    """The inputs that move a predicted row most, or the rows that another one is derived from."""
    if row.expected.derived_from:
        return ", ".join(f"`{one}`" for one in row.expected.derived_from)
    known = record.load(system) if row.expected.kind == "predicted" else None
    moved = known.figures[row.figure].moved.get(row.id, {}) if known else {}
    strong = {base(move): None for move, share in moved.items() if abs(share) > STRONG}
    named = [f"`{name}` ({expected.origin_of(name)})" for name in strong]
    more = [f"{len(named) - MOST_INPUTS} more"] if len(named) > MOST_INPUTS else []
    return ", ".join([*named[:MOST_INPUTS], *more])


def test_the_record_has_the_published_rows_and_no_others() -> None:
    for name in systems():
        wanted = {row.id for row in published_rows(name) if row.expected.kind != "gap"}
        known = load(folder_of(name)).keys()
        assert wanted <= known, f"write {name}/{RECORD} by `make published`"
        assert known <= {row.id for row in published_rows(name)}


def test_save_writes_the_published_rows_that_were_run_and_keeps_the_others(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, *_ = published_rows("rosta")
    folder = tmp_path / "rosta"
    folder.mkdir()
    (folder / "expected.toml").write_bytes((folder_of("rosta") / "expected.toml").read_bytes())
    monkeypatch.setattr("peerlane.reproduction.simulated.folder_of", lambda _: folder)
    save("rosta", [first])
    save("rosta", [second])
    both = {row.id: rounded(row.simulated or 0.0) for row in (first, second)}
    assert load(folder) == both
    peerlane("reproduce", "rosta", "--figure", "table1", "--save")
    assert load(folder).items() >= both.items()
    assert len(load(folder)) > len(both)
    for unfit in ("--set", "links.lanes=8"), ("--implementation", "model"):
        peerlane("reproduce", "rosta", "--save", *unfit).refuses("the values of a system as it is")
