"""The keys of every section and device model as types, and `Fabric.device` with those of each."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from conftest import beside
from peerlane import _core
from peerlane.fabric import typed_keys

FILE = Path(typed_keys.__file__)

PORTS = "hosts, io_ports, switches, devices"
NODES = (PORTS, "hosts, switches, devices")
BOTH_LOCKS = "locks, transactions"
FIBRES = "fibres, networks"
(REPEATED,) = (
    one["where"] for one in json.loads(_core.catalogue())["parameters"] if one["key"] == "each"
)

SECTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "Links": ((), ("links, upstream",), ()),
    "Upstream": (("Links",), ("upstream",), ("to",)),
    "Repeated": ((), (REPEATED,), ()),
    "Port": (("Repeated",), (PORTS,), ()),
    "Node": (("Port",), ("hosts, switches, devices",), ()),
    "Host": (("Node",), ("hosts",), ()),
    "Switch": (("Node", "Upstream"), ("switches",), ()),
    "Device": (("Node", "Upstream"), ("devices",), ("model",)),
    "IoPort": (("Port",), ("io_ports",), ("owners",)),
    "Profile": (("Repeated",), (*NODES, "hosts", "switches", "devices"), ("model",)),
    "Controller": (("Repeated",), ("controllers",), ()),
    "Cable": (("Repeated",), ("cables",), ("from", "to")),
    "Network": (("Repeated",), ("networks", FIBRES), ("hosts", "routers", "shape", "size")),
    "Fibre": (("Repeated",), (FIBRES,), ()),
    "Incident": (("Repeated",), ("incidents",), ("id", "at", "what", "node")),
    "Flow": (("Repeated",), ("flows",), ("id", "from", "to")),
    "Traffic": (("Repeated",), ("traffic",), ("id", "network", "load", "from", "to")),
    "Collective": (("Repeated",), ("collectives",), ("id", "network", "operation")),
    "Schedule": (("Repeated",), ("schedules",), ("id", "devices", "operation")),
    "Step": (("Repeated",), ("steps",), ("id", "schedule", "device", "after", "work")),
    "Buffer": (("Repeated",), ("buffers",), ("host",)),
    "Accesses": (("Repeated",), ("accesses",), ("id", "by", "buffer")),
    "Locks": (("Repeated",), ("locks", BOTH_LOCKS), ("id", "by", "buffer")),
    "Transactions": (("Repeated",), ("transactions", BOTH_LOCKS), ("id", "by", "buffer", "locks")),
}
"""Types by name: those that they extend, the places of their keys, and arguments of their own."""

HEAD = beside(__file__, "typed_keys.head")

TYPES = {
    "count": "Count",
    "flag": "Flag",
    "ratio": "Ratio",
    "size": "Size",
    "bandwidth": "Rate",
    "text": "Text",
}
"""The types of the keys of each kind; those of all other kinds are numbers with a unit."""

CATALOGUE = json.loads(_core.catalogue())
MODELS = [model["name"] for model in CATALOGUE["models"]]


def type_of(model: str) -> str:
    """The name of the type of a model's keys."""
    return "".join(part.capitalize() for part in model.split("-")) + "Device"


def place_of(parameter: dict[str, str]) -> str:
    """The sections that have a key; all kinds of incidents have one type."""
    return parameter["where"].partition(", what ")[0]


def made() -> str:
    """The text of the file."""
    types = SECTIONS | {
        type_of(model): (("Device",), (f"devices, model {model}",), ()) for model in MODELS
    }
    keys: dict[str, set[str]] = {}
    parts = [HEAD]
    for name, (bases, places, own) in types.items():
        inherited = set().union(*(keys[base] for base in bases))
        found = {
            one["key"]: one
            for one in CATALOGUE["parameters"]
            if place_of(one) in places and one["key"] not in {*own, *inherited}
        }
        keys[name] = inherited | set(found)
        parts.append(declared(name, bases or ("TypedDict",), places, found))
    overloads = [overload_of(number, model) for number, model in enumerate(MODELS)]
    overloads.append(OVERLOAD.format("type[Model] | Model | Library", "Setting"))
    text = "\n\n".join([*parts, "".join([OVERLOADS, *overloads])])
    settings = str(FILE.parents[3] / "pyproject.toml")
    ruff = (sys.executable, "-m", "ruff", "format", "--config", settings, "-")
    return subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout


def declared(
    name: str, bases: tuple[str, ...], places: tuple[str, ...], found: dict[str, dict[str, Any]]
) -> str:
    """The class with these keys."""
    lines = [f"class {name}({', '.join(bases)}, total=False):"]
    sections = dict.fromkeys(", ".join(places).split(", "))
    keys_of = (
        "all tables with names, and of lists" if places == (REPEATED,) else ", ".join(sections)
    )
    lines += [f'    """Keys of {keys_of}."""', ""]
    for key, parameter in found.items():
        lines.append(f"    {key}: {kind_of(parameter)}")
        unit = f"{parameter['unit']}; " if parameter["unit"] else ""
        text = f"{parameter['help']} ({unit}default {parameter['default']})"
        shown = textwrap.wrap(text.replace('"', "'"), 88)
        lines += [f'    """{shown[0]}', *(f"    {line}" for line in shown[1:])]
        lines[-1] += '"""'
    return "\n".join(lines).rstrip() + "\n"


def kind_of(parameter: dict[str, Any]) -> str:
    """The type of the values of a key."""
    choices = parameter["choices"]
    if parameter["key"] == "requests":
        return "Requests"
    if parameter["kind"] != "choice":
        return TYPES.get(parameter["kind"], "Quantity")
    if choices[0][0].isdigit():
        return "Size"
    return f"Literal[{', '.join(map(json.dumps, choices))}] | None"


def overload_of(number: int, model: str) -> str:
    """The overload of `Fabric.device` for a model; the first one is that of devices without one."""
    usual = " | None = None" * (number == 0)
    return OVERLOAD.format(f'Literal["{model}"]{usual}', f"Unpack[{type_of(model)}]")


OVERLOAD = """
    @overload
    def __call__(self, name: str, to: str, *, model: {}, **settings: {}) -> Built_co: ...
"""

OVERLOADS = '''
Built_co = TypeVar("Built_co", covariant=True)


class AddDevice(Protocol[Built_co]):
    """`Fabric.device`, with the keys of each model."""
'''


RIGHT = """
from peerlane import Fabric
fabric = Fabric().links(lanes=8).host("h0", memory="1 GiB").switch("s0", "h0", lanes=4)
fabric.device("a", "h0", tags=16, bar=1 << 20, generation=3)
fabric.device("n", "h0", model="nic", virtual_functions=3, controller="c", bit_error_rate=1e-9)
fabric.flow("a", "h0", size="1 MiB", request_size="4 KiB").buffer("b", "h0", page="2 MiB")
fabric.flow("a", "h0", requests=[(0, 0, 4096), ("1 us", 8192, 512)])
"""

WRONG = [
    'fabric.device("b", "h0", tagz=16)',
    'fabric.device("b", "h0", model="dma", media_bandwidth="1 GB/s")',
    'fabric.device("b", "h0", model="nvme", bars="1 MiB")',
    'fabric.device("b", "h0", model="dna")',
    'fabric.host("h1", memori="1 MiB")',
    'fabric.flow("a", "h0", sise="1 MiB")',
    'fabric.flow("a", "h0", direction="rite")',
    'fabric.flow("a", "h0", requests=[(0, 0, 4096, 1)])',
    'fabric.host("h2", iommu="yes")',
    "fabric.links(delay=10)",
]


@pytest.mark.seconds(20)
def test_a_type_checker_sees_the_keys_of_each_model(tmp_path: Path) -> None:
    text = RIGHT + "\n".join(WRONG) + "\n"
    user = tmp_path / "user.py"
    user.write_text(text, encoding="utf-8")
    # With the settings of the repository mypy knows the package already where `make lint` has run.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", user],
        cwd=FILE.parents[3],
        env={"PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    first = RIGHT.count("\n") + 1
    wrong = {int(line) for line in re.findall(r"user\.py:(\d+): error: ", checked.stdout)}
    assert wrong == set(range(first, first + len(WRONG))), checked.stdout
