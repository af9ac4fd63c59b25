"""Every number that a source states has its claim, and each claim is true of rows and scenarios."""

from __future__ import annotations

import ast
import json
import math
import operator
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from pydantic import TypeAdapter, ValidationError

from peerlane import _core
from peerlane._core import ScenarioError
from peerlane.figures.quantities import Quantity
from peerlane.reproduction.catalogue import folder_of, systems
from peerlane.reproduction.claims import STATUSES, ClaimEntry, ClaimList, Claims, claims_of
from peerlane.reproduction.expected import Expected, ExpectedRow
from peerlane.reproduction.machine import machine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Run

FILE = Path(__file__).parents[2] / "docs/reference/claims.schema.json"

STATED = {"machines": 0, "rosta": 118, "chpp": 84, "pac": 66, "tsukuba": 19, "ccix": 47}
"""Numbers that each source states, counted in its text, tables and figures."""

UNITS = {
    "ps": ("s", 1e-12),
    "ns": ("s", 1e-9),
    "us": ("s", 1e-6),
    "ms": ("s", 1e-3),
    "B": ("B", 1),
    "KiB": ("B", 2**10),
    "MiB": ("B", 2**20),
    "GiB": ("B", 2**30),
    "KB": ("B", 1e3),
    "MHz": ("Hz", 1e6),
    "GHz": ("Hz", 1e9),
    "cycles": ("cycles", 1),
    "M cycles": ("cycles", 1e6),
    "MB/s": ("B/s", 1e6),
    "GB/s": ("B/s", 1e9),
    "MiB/s": ("B/s", 2**20),
    "2^20 B": ("B", 2**20),
    "2^20 B/s": ("B/s", 2**20),
    "1024 MB/s": ("B/s", 1024e6),
    "Gbit/s": ("B/s", 1e9 / 8),
}
"""The dimension of each unit that is converted, and its size."""

OPERATORS: dict[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def converted(form: str, it: float) -> float:
    """The value of a conversion: sums and products of `it` and numbers, perhaps rounded."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id="it"):
                return it
            case ast.BinOp(left=left, op=op, right=right):
                return OPERATORS[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id="round"), args=[of, *digits]):
                return round(value(of), *(int(value(one)) for one in digits))
        raise ValueError(f"{form!r} is no conversion; write one such as round(it / 1000, 1)")

    return value(ast.parse(form, mode="eval").body)


def in_unit(number: float, unit: str, wanted: str) -> float:
    """The number in another unit of the same dimension; one without a unit takes any of things."""
    if unit == wanted or (unit in {"", "1"} and wanted not in UNITS):
        return number
    (dimension, size), (other, per) = UNITS.get(unit, (unit, 1)), UNITS.get(wanted, (wanted, 1))
    if dimension != other:
        raise ValueError(f"{unit} is no {wanted}; write a conversion")
    return number * size / per


def constant(system: str, where: str) -> tuple[Any, str]:
    """The value of a constant such as `constants.buffer`, and its unit.

    `profile:plx.latency` is a setting of a shipped profile.
    """
    found: object
    module, _, name = where.rpartition(".")
    if module.startswith("profile:"):
        found = shipped()[module.removeprefix("profile:")][name]
    else:
        found = getattr(machine_of(system).constants, name)
    quantity = Quantity.read(found) if isinstance(found, str) else None
    return (found, "") if quantity is None else (float(quantity.number), quantity.unit)


@cache
def shipped() -> dict[str, dict[str, str]]:
    """The settings of each shipped profile."""
    return {
        profile["name"]: {one["key"]: one["value"] for one in profile["settings"]}
        for profile in json.loads(_core.catalogue())["profiles"]
    }


def values(claim: ClaimEntry) -> tuple[object, ...]:
    return claim.value if isinstance(claim.value, tuple) else (claim.value,)


def places(system: str, claim: ClaimEntry, rows: dict[str, ExpectedRow]) -> Iterator[Any]:
    """The values of the rows, keys or constants of a claim, each with its unit."""
    for name in claim.row:
        row = rows[name]
        yield from ((value, row.unit) for value in row.published_range or [row.published])
    for where in claim.where:
        if ":" in where or where.startswith("constants."):
            yield constant(system, where)
        else:
            found = machine_of(system).quantity(where)
            yield float(found.number), found.unit


def contradictions(system: str, claim: ClaimEntry, rows: dict[str, ExpectedRow]) -> list[str]:
    """The ways in which a claim is not true of the rows and the scenario of its system."""
    if missing := [name for name in claim.row if name not in rows]:
        return [f"there is no row {name}" for name in missing]
    held = [rows[name] for name in claim.row]
    if claim.status == "lost":
        return [f"{row.id} has a published value" for row in held if row.is_published]
    if claim.status == "input" and held:
        return [
            f"{row.id} is not of {value}"
            for row, value in zip(held, cycle(values(claim)), strict=False)
            if named(value) not in map(named, row.id.split("/"))
        ]
    wrong = [f"{row.id} is {row.kind}" for row in held if row.kind != claim.status]
    try:
        found = list(places(system, claim, rows))
    except (AttributeError, KeyError, ScenarioError) as error:
        return [*wrong, f"there is no {error}"]
    stated = values(claim)
    if found and len(stated) not in {1, len(found)}:
        wrong.append(f"{len(stated)} values, and {len(found)} in rows or keys")
    forms = cycle(claim.conversion or ("",))
    for (number, unit), value, form in zip(found, cycle(stated), forms, strict=False):
        if number is None:
            wrong.append("a row has no published value")
            continue
        try:
            here = converted(form, number) if form else in_unit(number, unit, claim.unit)
        except ValueError as error:
            wrong.append(str(error))
            continue
        if not (isinstance(value, int | float) and math.isclose(here, value, rel_tol=1e-9)):
            wrong.append(f"{here:g}, not {value}")
    return wrong


def named(value: object) -> str:
    """A number as ids of rows have it: "64 KB" and 64KiB are the same."""
    word = f"{value:g}" if isinstance(value, float) else str(value)
    return word.replace(" ", "").replace("iB", "B")


@cache
def rows_of(system: str) -> dict[str, ExpectedRow]:
    figures = Expected.load(folder_of(system)).figures
    return {row.id: row for figure in figures for row in figure.rows}


@cache
def entries(system: str) -> tuple[ClaimEntry, ...]:
    return Claims.load(folder_of(system)).entries


def test_every_number_of_every_source_has_a_claim() -> None:
    listed = claims_of(systems())
    assert {name: sum(counts.values()) for name, counts in listed.counts.items()} == STATED
    ids = {claim.id for claim in listed.claims}
    assert len(listed.claims) == len(ids) == sum(STATED.values()) == 334
    assert all(claim.id.startswith(f"{claim.system}-") for claim in listed.claims)


@pytest.mark.parametrize("system", systems())
def test_claims_are_true(system: str) -> None:
    wrong = {claim.id: contradictions(system, claim, rows_of(system)) for claim in entries(system)}
    assert {name: said for name, said in wrong.items() if said} == {}


@pytest.mark.parametrize("system", systems())
def test_a_claim_with_another_value_unit_status_row_or_key_is_not_true(system: str) -> None:
    """Holds that the test above sees whatever may be wrong."""
    for claim in entries(system):
        if not (claim.row or claim.where):
            continue
        same = ClaimEntry.model_validate(claim.model_dump())
        assert same == claim
        for change in changes(claim):
            try:
                other = ClaimEntry.model_validate(claim.model_dump() | change)
            except ValidationError:
                continue
            assert contradictions(system, other, rows_of(system)), f"{claim.id} with {change}"


def changes(claim: ClaimEntry) -> Iterator[dict[str, Any]]:
    yield from ({"status": status} for status in STATUSES if status != claim.status)
    if claim.row:
        yield {"row": (*claim.row[:-1], "no/such/row")}
    if claim.where:
        yield {"where": (*claim.where[:-1], "profiles.none.such")}
        yield {"where": (*claim.where[:-1], "constants.no_such")}
        yield {"where": (*claim.where[:-1], "profile:plx.none_such")}
    if claim.status == "lost":
        return
    if not claim.conversion and not (claim.row and claim.status == "input"):
        yield {"unit": "ns" if claim.unit != "ns" else "MiB"}
    numbers = [value for value in values(claim) if isinstance(value, int | float)]
    for place, number in enumerate(numbers):
        for other in (number * 1.01, number + 1, -number - 1):
            yield {"value": (*numbers[:place], other, *numbers[place + 1 :])}


def test_a_claim_has_what_its_status_needs() -> None:
    whole = {"id": "a-b", "what": "w", "value": 1, "status": "predicted", "row": "f/1"}
    reason = {"reason": "The plot is not in our copy."}
    ClaimEntry.model_validate(whole)
    ClaimEntry.model_validate({"id": "a-b", "what": "w", "status": "lost", **reason})
    for fields, message in (
        (whole | {"value": None}, "a value, unless"),
        (whole | {"status": "lost"}, "a value, unless"),
        (whole | {"where": "links.lanes"}, "only an input"),
        (whole | {"status": "input", "where": "links.lanes"}, "or rows named after it"),
        (whole | {"status": "input", "row": []} | reason, "or rows named after it"),
        (whole | {"status": "impossible"}, "has no row"),
        (whole | {"row": []} | reason, "that is predicted has a row"),
        (whole | {"status": "gap", "row": []}, "or the reason"),
        (whole | {"reason": "no plot"}, "is a sentence"),
        (whole | {"status": "guessed"}, "Input should be"),
        (whole | {"colour": "red"}, "Extra inputs"),
    ):
        with pytest.raises(ValidationError, match=message):
            ClaimEntry.model_validate(fields)
    with pytest.raises(ValidationError, match="repeat"):
        Claims.model_validate({"groups": ({"claims": [whole, whole]},)})


def test_a_group_has_the_defaults_of_its_claims() -> None:
    group = {
        "what": "rate of {}",
        "unit": "ns",
        "status": "gap",
        "reason": "It is not so.",
        "claims": [
            {"id": "a-1", "what": "one", "value": 1},
            {"id": "a-2", "what": "two", "value": 2, "unit": "us"},
        ],
    }
    one, two = Claims.model_validate({"groups": (group,)}).entries
    assert (one.what, one.unit, two.what, two.unit) == ("rate of one", "ns", "rate of two", "us")


def schema() -> str:
    """The schema of the claims, as text."""
    found = TypeAdapter(ClaimList).json_schema(mode="serialization")
    text = {"type": "string"}
    head = {
        "schema": {"const": "peerlane-claims/1"},
        "version": text,
        "command": {"type": "array", "items": text},
    }
    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "peerlane-claims/1",
        "title": "The claims of published systems",
        **{key: found[key] for key in found if key != "title"},
        "properties": head | found["properties"],
        "required": [*head, *found["required"]],
        "additionalProperties": False,
    }
    described["$defs"]["Claim"]["additionalProperties"] = False
    return json.dumps(described, indent=1) + "\n"


def test_the_list_is_as_described(peerlane: Run) -> None:
    described = jsonschema.Draft202012Validator(json.loads(schema()))
    document = json.loads(peerlane("reproduce", "--claims", "--json", "-").out)
    described.validate(document)
    assert len(document["claims"]) == sum(STATED.values())
    for wrong in (
        document | {"colour": "red"},
        document | {"schema": "peerlane-claims/0"},
        document | {"claims": [document["claims"][0] | {"status": "guessed"}]},
    ):
        with pytest.raises(jsonschema.ValidationError):
            described.validate(wrong)


def test_the_counts_are_shown_by_system_and_status(peerlane: Run) -> None:
    shown = peerlane("reproduce", "--claims").out.splitlines()
    table = {line.split()[0]: line.split()[1:] for line in shown if line[:1].isalpha()}
    names = sorted(STATED)
    assert table["status"] == [*names, "total"]
    assert table["total"] == [str(STATED[name]) for name in names] + ["334"]
    counts = claims_of(names).counts
    for status in STATUSES:
        each = [counts[name].get(status, 0) for name in names]
        assert table[status] == list(map(str, [*each, sum(each)]))


def test_the_claims_of_a_system_are_shown_with_row_or_reason(peerlane: Run) -> None:
    shown = peerlane("reproduce", "tsukuba", "--claims").out
    assert shown.splitlines()[-1].startswith("19 claims: 1 predicted, 3 analytic, ")
    for claim in entries("tsukuba"):
        assert all(said in shown for said in (claim.id, *claim.row, *claim.where, claim.reason))


def test_claims_are_not_asked_for_with_what_simulates(peerlane: Run) -> None:
    peerlane("reproduce", "rosta", "--claims", "--figure", "table1").refuses("leave out --figure")
    peerlane("reproduce", "--claims", "--sensitivity").refuses("leave out --sensitivity")
    peerlane("reproduce", "rusta", "--claims").refuses("no system 'rusta'", "rosta")
