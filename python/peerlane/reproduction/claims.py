"""Reads `claims.toml`: each number that the source of a system states, and its status."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from peerlane.reproduction.catalogue import folder_of
from peerlane.reproduction.expected import are_tables, listed
from peerlane.results.reading import read_toml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.resources.abc import Traversable

Status = Literal[
    "predicted",
    "analytic",
    "calibrated",
    "derived",
    "check",
    "gap",
    "input",
    "lost",
    "impossible",
]
"""The status of a claim: the kind of the row that has its value, or the reason for no row."""

STATUSES: tuple[Status, ...] = get_args(Status)

_KINDS = frozenset({"predicted", "analytic", "calibrated", "derived", "check", "gap"})
"""The statuses that are also kinds of rows in `expected.toml`."""

_SENTENCE = re.compile(r"[A-Z0-9].* .* .*[^.]\.", re.DOTALL)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ClaimEntry(_Strict):
    """A number that a source states, with the rows or keys that have it, or the reason for none.

    `value` and `unit` are as published. There is no value if our copy of the source has lost it. If
    there are several values, they are a range, or one value for each of the rows or keys.
    """

    id: str
    what: str
    value: float | str | tuple[float | str, ...] | None = None
    unit: str = ""
    status: Status
    row: tuple[str, ...] = ()
    """Rows of `expected.toml` that have the value of the claim.

    If the value is lost, the rows have no published value. If the claim is an input of the
    experiments, the ids of the rows contain the value.
    """
    where: tuple[str, ...] = ()
    """Keys of `scenario.toml`, or constants of the experiments (`constants.NAME`), or settings of
    shipped profiles (`profile:NAME.KEY`)."""
    conversion: tuple[str, ...] = ()
    """Formulas from the value of a row or key, `it`, to the value of the claim: `it / 1000`.

    There is one formula for all rows, or one for each row; none if only the units differ.
    """
    reason: str = ""

    @model_validator(mode="before")
    @classmethod
    def _one_or_several(cls, fields: Any) -> Any:  # noqa: ANN401 - a part of a file
        if not are_tables([fields]):
            return fields
        keys = [key for key in ("row", "where", "conversion") if key in fields]
        several = {key: tuple(listed(fields, key)) for key in keys}
        value = fields.get("value")
        many = {"value": tuple(value)} if isinstance(value, list) else {}
        return fields | several | many

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Checks that a claim has what its status needs, and nothing else."""
        is_lost, is_input = self.status == "lost", self.status == "input"
        if (self.value is None) != is_lost:
            raise ValueError(f"{self.id}: a claim has a value, unless it is lost")
        if bool(self.where) and not is_input:
            raise ValueError(f"{self.id}: only an input has a key at `where`")
        if is_input and bool(self.where) == bool(self.row):
            raise ValueError(f"{self.id}: an input has a key at `where`, or rows named after it")
        if self.row and self.status == "impossible":
            raise ValueError(f"{self.id}: a claim with the status {self.status!r} has no row")
        if not (self.row or self.where or self.reason):
            raise ValueError(f"{self.id}: write the row that has the claim, or the reason")
        if not (self.row or self.where or self.status in {"gap", "lost", "impossible"}):
            raise ValueError(f"{self.id}: a claim that is {self.status} has a row")
        if self.reason and not _SENTENCE.fullmatch(self.reason):
            raise ValueError(f"{self.id}: the reason is a sentence: {self.reason!r}")
        return self


class _Group(_Strict):
    """A group of claims; each key of the group except `claims` is a default for its claims.

    `{}` in the `what` of the group is replaced by the `what` of the claim.
    """

    claims: tuple[ClaimEntry, ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, fields: Any) -> Any:  # noqa: ANN401 - a part of a file
        if not are_tables([fields, *listed(fields, "claims")]):
            return fields
        shared = {key: value for key, value in fields.items() if key != "claims"}
        form = str(shared.get("what", "{}"))
        return {
            "claims": tuple(
                shared | one | {"what": form.replace("{}", str(one.get("what", "")))}
                for one in listed(fields, "claims")
            )
        }


class Claims(_Strict):
    """All claims of a system's source."""

    groups: tuple[_Group, ...]

    @model_validator(mode="after")
    def _different(self) -> Self:
        counted = Counter(claim.id for claim in self.entries)
        if again := sorted(name for name, times in counted.items() if times > 1):
            raise ValueError(f"ids of claims repeat: {again}")
        return self

    @property
    def entries(self) -> tuple[ClaimEntry, ...]:
        """The claims, in the order of the file."""
        return tuple(claim for group in self.groups for claim in group.claims)

    @classmethod
    def load(cls, system: Traversable) -> Claims:
        """Reads `claims.toml` in a system's folder; a system without this file has no claims.

        Raises:
            FileError: The file is wrong; the message has the first error.
        """
        if not (system / "claims.toml").is_file():
            return cls(groups=())
        text = (system / "claims.toml").read_bytes()
        return read_toml(cls, text, f"{system.name}/claims.toml")


@dataclass(frozen=True, slots=True)
class Claim:
    """A number that the source of a system states, and its status in the reproduction."""

    system: str
    id: str
    what: str
    value: float | str | tuple[float | str, ...] | None
    """The value as published, in `unit`; null if it is lost in our copy of the source."""
    unit: str
    status: Status
    row: tuple[str, ...]
    """The rows of the system's report that have the value of the claim."""
    where: tuple[str, ...]
    """The keys of the system's scenario, constants of its measurements, or settings of shipped
    profiles that have the value of the claim."""
    conversion: tuple[str, ...]
    """Formulas that convert the value of a row or key, `it`, to the value of the claim; none if
    both values are equal."""
    reason: str
    """The reason why no row has the claim's value, or why the row is a gap; empty for all other
    claims."""


@dataclass(frozen=True, slots=True)
class ClaimList:
    """Claims, and the number of claims of each status."""

    counts: dict[str, dict[Status, int]]
    """The number of claims of each status that occurs, by system."""
    claims: tuple[Claim, ...]


def claims_of(names: Iterable[str]) -> ClaimList:
    """Reads the claims of systems, without a simulation."""
    systems = tuple(names)
    found = tuple(
        Claim(system=name, **entry.model_dump())
        for name in systems
        for entry in Claims.load(folder_of(name)).entries
    )
    counts: dict[str, dict[Status, int]] = {name: {} for name in systems}
    for claim in found:
        of_system = counts[claim.system]
        of_system[claim.status] = of_system.get(claim.status, 0) + 1
    return ClaimList(counts, found)
