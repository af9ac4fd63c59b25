"""The published figures of a system, as its `expected.toml` states them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, model_validator

from peerlane.reproduction.plots import Plot  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Kind = Literal["analytic", "calibrated", "predicted", "gap"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpectedRow(_Strict):
    """One published value, or range of values, and how close the simulation must come."""

    id: str
    what: str
    published: float | None = None
    published_range: tuple[float, float] | None = None
    unit: str
    tolerance_percent: NonNegativeFloat
    kind: Kind
    note: str = ""

    @property
    def is_published(self) -> bool:
        """Whether the source has a value for the row."""
        return self.published is not None or self.published_range is not None

    @model_validator(mode="after")
    def _one_statement(self) -> Self:
        if self.published is not None and self.published_range is not None:
            raise ValueError(f"{self.id}: a value or a range, not both")
        return self


class Figure(_Strict):
    """Rows of one figure or table of the source.

    In the file its other keys are the defaults of its rows, and `what` may say `{row}` for the
    last part of the row's id. Several entries may share a name: readings that differ in a default.
    """

    name: str
    rows: tuple[ExpectedRow, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: dict[str, Any]) -> dict[str, Any]:
        shared = {key: value for key, value in fields.items() if key not in {"name", "rows"}}
        rows = [shared | row for row in fields.get("rows", [])]
        for row in rows:
            row["what"] = str(row.get("what", "")).replace("{row}", row["id"].rpartition("/")[2])
        return {"name": fields.get("name"), "rows": rows}


class Calibration(_Strict):
    """A parameter that was fitted: where its one value stands, and which rows it came from.

    Where several keys have that one value, the first is shown and all are moved together.
    """

    name: str
    where: tuple[str, ...] = Field(min_length=1)
    meaning: str
    origin: tuple[str, ...] = Field(alias="from", min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _one_place_or_several(cls, fields: dict[str, Any]) -> dict[str, Any]:
        where = fields.get("where")
        return fields | {"where": (where,)} if isinstance(where, str) else fields


class Expected(_Strict):
    """Everything that a system's source published and we hold ourselves to."""

    title: str
    source: str
    figures: tuple[Figure, ...]
    calibration: tuple[Calibration, ...] = ()
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

    @classmethod
    def load(cls, system: Traversable) -> Expected:
        """Reads `expected.toml` in a system's folder."""
        text = (system / "expected.toml").read_text(encoding="utf-8")
        return cls.model_validate(tomllib.loads(text))
