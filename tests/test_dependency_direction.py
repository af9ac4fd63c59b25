"""The workspace's crates depend on each other in one direction only."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ALLOWED = {
    "protocol": set[str](),
    "kernel": set[str](),
    "locktable": set[str](),
    "session": set[str](),
    "opae": {"session"},
    "coherence": {"protocol"},
    "packet": {"protocol", "kernel"},
    "link": {"protocol", "kernel", "packet"},
    "transaction": {"protocol", "kernel", "packet", "link", "locktable"},
    "fabric": {"protocol", "kernel", "packet", "link", "transaction", "coherence"},
    "device": {"protocol", "kernel", "packet", "link", "transaction", "coherence"},
    "host": {
        "protocol",
        "kernel",
        "packet",
        "link",
        "transaction",
        "fabric",
        "device",
        "locktable",
    },
    "sim": {
        "protocol",
        "kernel",
        "packet",
        "link",
        "transaction",
        "fabric",
        "device",
        "host",
        "coherence",
        "locktable",
    },
    "server": {"kernel", "session", "sim"},
    "python": {"protocol", "kernel", "sim", "server"},
}
"""What each crate may depend on; `fabric` and `device` meet at packets only."""


def dependencies() -> dict[str, set[str]]:
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"],
        cwd=Path(__file__).parent.parent,
        check=True,
        capture_output=True,
    )
    packages = json.loads(metadata.stdout)["packages"]
    ours = {package["name"] for package in packages}
    return {p["name"]: {d["name"] for d in p["dependencies"]} & ours for p in packages}


def test_every_crate_has_its_place() -> None:
    assert dependencies().keys() == ALLOWED.keys()


@pytest.mark.parametrize("crate", ALLOWED)
def test_a_crate_depends_only_on_those_below_it(crate: str) -> None:
    assert dependencies()[crate] <= ALLOWED[crate]
