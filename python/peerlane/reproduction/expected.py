"""Reads `expected.toml`: the published values of a system, and the tolerance of each."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    model_validator,
)

from peerlane.reproduction.inputs import source_of
from peerlane.reproduction.plots import Plot  # noqa: TC001 - pydantic reads it
from peerlane.reproduction.steps import alternatives
from peerlane.results.reading import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.resources.abc import Traversable

    from peerlane.reproduction.inputs import Input

Kind = Literal["analytic", "calibrated", "derived", "predicted", "check", "gap"]
"""The kind of a row; docs/reference/rows.md describes each kind."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Origin = Literal["fitted", "document", "choice"]
"""The origin of an input's value: fitted, stated by a document, or our own choice."""

VALUES = ("published", "published_range", "expected", "expected_range")
"""The keys of a row that state the value or range with which the simulated value is compared."""

NEEDS_VALUE = {"analytic", "derived", "predicted"}
"""The kinds of rows that must have one of the keys `VALUES`."""


CIRCUIT_TOLERANCE = 3
"""The least tolerance, in percent, of rows that are simulated with circuits; rows that must be
exact, and rows of the kind `analytic`, keep their tolerance."""

WIDE = 5
"""The tolerance, in percent, above which a row needs `tolerance_reason`."""

_OURS = re.compile(r"\s*(our choice|(a )?common\b|the usual|fitted|$)", re.IGNORECASE)
"""The first words of a `source` that names no independent document, such as "our choice"."""


def is_independent(source: str) -> bool:
    """Whether the text names an independent source of a value, and not a choice of our own."""
    return _OURS.match(source) is None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedRow(_Strict):
    """A value, or a range of values, of the source, and the tolerance of the simulated value.

    A row of the kind `check` has a value of our own instead of a published value. A row that is
    only simulated has no value and no kind.
    """

    id: str
    what: str
    published: float | None = None
    published_range: tuple[float, float] | None = None
    unit: str
    tolerance_percent: NonNegativeFloat = 0
    kind: Kind | None = None
    note: str = ""
    expected: float | None = None
    expected_range: tuple[float, float] | None = None
    tolerance_reason: str = ""
    derived_from: tuple[str, ...] = ()
    same_as: str = ""
    """Another row that is compared with the same published value; only the other row is counted."""

    @property
    def is_published(self) -> bool:
        """Whether the source has a value for the row."""
        return self.published is not None or self.published_range is not None

    @property
    def is_expected(self) -> bool:
        """Whether the row has a value of our own arithmetic or expectation."""
        return self.expected is not None or self.expected_range is not None

    @property
    def is_held(self) -> bool:
        """Whether the row has a value or range with which its simulated value is compared."""
        return self.is_published or self.is_expected

    @property
    def value(self) -> float | None:
        """The published or the expected value, if there is one."""
        return self.published if self.expected is None else self.expected

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the published or of the expected range, if there is one."""
        return self.published_range or self.expected_range

    @model_validator(mode="after")
    def _one_statement(self) -> Self:
        if sum(getattr(self, key) is not None for key in VALUES) > 1:
            raise ValueError(f"{self.id}: a value or a range, published or expected, not both")
        if self.is_expected and self.kind != "check":
            raise ValueError(
                f'{self.id}: an expected value is our own; write kind = "check", or published if'
                " the source has it"
            )
        if self.kind == "check" and not self.is_expected:
            raise ValueError(f"{self.id}: a check needs expected, or expected_range")
        if self.is_published and self.kind is None:
            raise ValueError(f"{self.id}: a published value needs a kind, such as predicted")
        if self.kind not in {None, "gap"} and not self.is_held:
            raise ValueError(
                f"{self.id}: {self.kind} is held against nothing; write published or expected, or"
                " leave out kind"
            )
        if self.derived_from and self.kind != "derived":
            raise ValueError(f'{self.id}: derived_from is for rows of kind = "derived"')
        if self.same_as and self.kind != "predicted":
            raise ValueError(f'{self.id}: same_as is for rows of kind = "predicted"')
        return self

    @model_validator(mode="after")
    def _honest_tolerance(self) -> Self:
        has_range = self.published_range is not None or self.expected_range is not None
        if has_range and self.tolerance_percent and self.kind != "gap":
            raise ValueError(
                f"{self.id}: a row with a range is within only inside it; write"
                " tolerance_percent = 0"
            )
        if self.tolerance_percent > WIDE and self.is_held and not self.tolerance_reason.strip():
            raise ValueError(
                f"{self.id}: a tolerance of {self.tolerance_percent:g} % needs tolerance_reason,"
                f" such as how closely the source can be read; {WIDE} % and less need none"
            )
        return self


class Figure(_Strict):
    """Rows of one figure or table of the source.

    In the file, each key of a figure except `name` and `rows` is a default for its rows, and `what`
    may contain `{row}` for the last part of the row's id. Several entries may have the same name,
    if their rows have different defaults. A default of `kind` that needs a value does not apply to
    a row without a value.
    """

    name: str
    rows: tuple[ExpectedRow, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: Any) -> Any:  # noqa: ANN401 - a part of a file
        if not are_tables([fields, *listed(fields, "rows")]):
            return fields
        shared = {key: value for key, value in fields.items() if key not in {"name", "rows"}}
        rows = [shared | row for row in listed(fields, "rows")]
        for row in rows:
            place = str(row.get("id", "")).rpartition("/")[2]
            row["what"] = str(row.get("what", "")).replace("{row}", place)
            if str(row.get("kind")) in NEEDS_VALUE and row.keys().isdisjoint(VALUES):
                del row["kind"]
        return {"name": fields.get("name"), "rows": _frozen(rows)}


class Calibration(_Strict):
    """A fitted parameter: the keys that have its value, and the rows to which it was fitted.

    If there are several keys, reports show the value of the first key, and a study of the
    sensitivity changes the values of all keys together by the same percentage.
    """

    name: str
    where: tuple[str, ...] = Field(min_length=1)
    meaning: str
    origin: tuple[str, ...] = Field(alias="from", min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _one_place_or_several(cls, fields: Any) -> Any:  # noqa: ANN401 - a part of a file
        return _one_or_several(fields)


class Source(_Strict):
    """A document, and a section of it, that states the values of inputs that were not fitted."""

    where: tuple[str, ...] = Field(min_length=1)
    source: str

    @model_validator(mode="after")
    def _independent(self) -> Self:
        if not is_independent(self.source):
            raise ValueError(
                f"{', '.join(self.where)}: {self.source!r} is no independent source; name a"
                " document and its section, or fit the value in [[calibration]]"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _one_place_or_several(cls, fields: Any) -> Any:  # noqa: ANN401 - a part of a file
        return _one_or_several(fields)


class Range(Source):
    """The possible values of an input, if the source does not say which of them was in use."""

    values: tuple[str | float | bool, ...] = Field(min_length=1)


class CircuitGap(_Strict):
    """Rows that are gaps if circuits are simulated in place of device models, and the reason."""

    rows: tuple[str, ...] = Field(min_length=1)
    note: str = Field(min_length=1)


def _names(entries: Sequence[Calibration | Source], name: str) -> bool:
    """Whether `where` of any entry has the name of an input, or a pattern that matches the name."""
    keys = (key for entry in entries for key in entry.where)
    return any(name == key or fnmatchcase(name, key) for key in keys)


def are_tables(parts: Iterable[object]) -> bool:
    """Whether all these parts of a file are tables of TOML."""
    return all(isinstance(part, dict) for part in parts)


def listed(fields: object, key: str) -> list[Any]:
    """The list at a key of a table of a file; a value that is no list becomes a list of one."""
    found = fields.get(key, []) if isinstance(fields, dict) else []
    return list(found) if isinstance(found, list | tuple) else [found]


def _one_or_several(fields: Any) -> Any:  # noqa: ANN401 - a part of a file
    """The fields of an entry with tuples in place of lists; a single key at `where` is a tuple."""
    if not are_tables([fields]):
        return fields
    where = {"where": listed(fields, "where")} if "where" in fields else {}
    return _frozen(fields | where)


def _frozen(part: Any) -> Any:  # noqa: ANN401 - a part of a file
    """A part of a file with tuples in place of lists, because validated values have tuples."""
    if isinstance(part, dict):
        return {key: _frozen(value) for key, value in part.items()}
    return tuple(map(_frozen, part)) if isinstance(part, list | tuple) else part


class Expected(_Strict):
    """The content of `expected.toml`: values of a system's source, and expectations of our own."""

    title: str
    source: str
    figures: tuple[Figure, ...]
    calibration: tuple[Calibration, ...] = ()
    sources: tuple[Source, ...] = ()
    ranges: tuple[Range, ...] = ()
    circuit_gaps: tuple[CircuitGap, ...] = ()
    plots: tuple[Plot, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        rows = [row for figure in self.figures for row in figure.rows]
        ids = [row.id for row in rows]
        if len(set(ids)) != len(ids):
            raise ValueError(f"row ids repeat: {sorted({i for i in ids if ids.count(i) > 1})}")
        fitted = {row for entry in self.calibration for row in entry.origin}
        calibrated = {row.id for row in rows if row.kind == "calibrated"}
        if fitted != calibrated:
            raise ValueError(
                "calibrated rows and the rows that calibration came from differ: "
                f"{sorted(fitted ^ calibrated)}"
            )
        for row in rows:
            if wrong := set(row.derived_from) - set(ids):
                raise ValueError(f"{row.id} is derived from {sorted(wrong)}, which are no rows")
        independent = {row.id for row in rows if row.kind == "predicted" and not row.same_as}
        for row in rows:
            if row.same_as and row.same_as not in independent:
                raise ValueError(
                    f"{row.id}: same_as names {row.same_as!r}; name a predicted row that counts"
                )
        return self

    @model_validator(mode="after")
    def _known_circuit_gaps(self) -> Self:
        known = {row.id for figure in self.figures for row in figure.rows}
        if wrong := {row for gap in self.circuit_gaps for row in gap.rows} - known:
            raise ValueError(f"circuit_gaps names {sorted(wrong)}, which are no rows")
        return self

    @model_validator(mode="after")
    def _plotted(self) -> Self:
        figures = self.by_figure()
        for plot in self.plots:
            if plot.figure not in figures:
                known = ", ".join(figures)
                raise ValueError(f"a plot is of the figure {plot.figure!r}; there are {known}")
            rows = {row.id: row for row in figures[plot.figure]}
            units = {rows[one].unit for one in plot.places(list(rows))}
            if len(units) > 1:
                raise ValueError(
                    f"{plot.figure}: the rows of a plot have one unit, not {sorted(units)};"
                    " write a plot for each"
                )
        return self

    def by_figure(self) -> dict[str, list[ExpectedRow]]:
        """All rows of each figure, in the order of the file."""
        rows: dict[str, list[ExpectedRow]] = {}
        for figure in self.figures:
            rows.setdefault(figure.name, []).extend(figure.rows)
        return rows

    def predicted(self) -> dict[str, list[str]]:
        """For each figure that has predicted rows with a published value, the ids of these rows."""
        found = {
            name: [row.id for row in rows if row.kind == "predicted" and row.is_published]
            for name, rows in self.by_figure().items()
        }
        return {name: ids for name, ids in found.items() if ids}

    def origin_of(self, name: str) -> Origin:
        """The origin of the value of an input of the system."""
        if _names(self.calibration, name):
            return "fitted"
        own = source_of(name)
        is_sourced = _names(self.sources, name) or (own and is_independent(own))
        return "document" if is_sourced else "choice"

    def others_of(self, one: Input) -> list[Any] | None:
        """The other possible values of an input that is our own choice; `None` for other inputs."""
        if self.origin_of(one.name) != "choice":
            return None
        stated = (entry.values for entry in self.ranges if _names([entry], one.name))
        return list(next(stated, ())) or alternatives(one)

    def with_circuits(self) -> Self:
        """The values for circuits in place of models: more gaps, and tolerances of 3 % or more."""
        notes = {row: gap.note for gap in self.circuit_gaps for row in gap.rows}

        def of_circuits(row: ExpectedRow) -> ExpectedRow:
            if row.id in notes:
                alone = {
                    "kind": "gap",
                    "note": notes[row.id],
                    "derived_from": (),
                    "same_as": "",
                    "assumes": (),
                }
                return row.model_copy(update=alone)
            is_exact = row.tolerance_percent == 0
            if is_exact or row.kind in {None, "analytic", "gap"}:
                return row
            wider = max(row.tolerance_percent, CIRCUIT_TOLERANCE)
            return row.model_copy(update={"tolerance_percent": wider})

        figures = tuple(
            figure.model_copy(update={"rows": tuple(map(of_circuits, figure.rows))})
            for figure in self.figures
        )
        return self.model_copy(update={"figures": figures})

    @classmethod
    def load(cls, system: Traversable) -> Expected:
        """Reads `expected.toml` in a system's folder.

        Raises:
            FileError: The file is wrong; the message has the first error.
        """
        text = (system / "expected.toml").read_bytes()
        return read_toml(cls, text, f"{system.name}/expected.toml")
