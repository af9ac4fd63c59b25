"""The claims of a system's source, as its `claims.toml` lists them, and what became of each."""

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
"""The kind of the row that holds the claim; or what the claim is instead of a row."""

STATUSES: tuple[Status, ...] = get_args(Status)

_KINDS = frozenset({"predicted", "analytic", "calibrated", "derived", "check", "gap"})
"""The statuses that a row of `expected.toml` has, too."""

_SENTENCE = re.compile(r"[A-Z0-9].* .* .*[^.]\.", re.DOTALL)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ClaimEntry(_Strict):
    """A number that a source states, and where it is found here, or why it is not.

    `value` and `unit` are as published; there is no value where our copy has lost it. Several
    values are a range, or one for each of several rows or keys.
    """

    id: str
    what: str
    value: float | str | tuple[float | str, ...] | None = None
    unit: str = ""
    status: Status
    row: tuple[str, ...] = ()
    """Rows of `expected.toml`: each states the value, or none does where it is lost; rows of an
    input have it in their names."""
    where: tuple[str, ...] = ()
    """Keys of `scenario.toml`; or `constants.NAME`, a constant of the experiments; or
    `profile:NAME.KEY`, the setting of a shipped profile."""
    conversion: tuple[str, ...] = ()
    """The way from `it`, the value of a row or key, to the claim's, such as `it / 1000`: one for
    all, or one for each; none where only units differ."""
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
        """Holds that a claim has what its status needs, and nothing else."""
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
    """Claims that have something in common: the group's other keys are defaults of its claims.

    `{}` in its `what` stands for the claim's own.
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
        """Reads `claims.toml` in a system's folder; without one the system has no claims.

        Raises:
            FileError: It says what cannot be; the message has the first fault.
        """
        if not (system / "claims.toml").is_file():
            return cls(groups=())
        text = (system / "claims.toml").read_bytes()
        return read_toml(cls, text, f"{system.name}/claims.toml")


@dataclass(frozen=True, slots=True)
class Claim:
    """A number that the source of a system states, and what became of it here."""

    system: str
    id: str
    what: str
    value: float | str | tuple[float | str, ...] | None
    """As published, in `unit`; null where our copy of the source has lost it."""
    unit: str
    status: Status
    row: tuple[str, ...]
    """The rows of the system's report that have the claim."""
    where: tuple[str, ...]
    """The keys of the system's scenario, constants of its measurements, or settings of shipped
    profiles that have it."""
    conversion: tuple[str, ...]
    """The way from `it`, the value of a row or key, to the claim's; none where they are equal."""
    reason: str
    """Why no row has the claim's value, or why the row is a gap; empty if there is none."""


@dataclass(frozen=True, slots=True)
class ClaimList:
    """Claims, and how many of them have each status."""

    counts: dict[str, dict[Status, int]]
    """The number of claims of each status that occurs, by system."""
    claims: tuple[Claim, ...]


def claims_of(names: Iterable[str]) -> ClaimList:
    """The claims of systems; nothing is simulated."""
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
