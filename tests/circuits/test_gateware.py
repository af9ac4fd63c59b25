"""The lint and the short benches of circuits, under Icarus; `make benches` runs all of both."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from conftest import MISSING

GATEWARE = Path(__file__).parents[2] / "gateware"
BENCHES = tomllib.loads((GATEWARE / "tb" / "benches.toml").read_text(encoding="utf-8"))["bench"]
SHORT = sorted({bench["module"] for bench in BENCHES if not bench.get("long")})

IN_THE_ENGINE = {
    "dma_commands",
    "dma_units",
    "example_loopback",
    "example_matrix",
    "example_reflector",
    "example_source_sink",
    "example_sum",
    "pattern_source",
    "user_ports",
    "user_registers",
    "user_streams",
}
"""Parts that only the benches of the engine check."""

pytestmark = pytest.mark.skipif(not shutil.which("iverilog"), reason=f"iverilog {MISSING}")


def run(*command: str) -> None:
    ran = subprocess.run(
        [sys.executable, *command],
        cwd=GATEWARE,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("module", SHORT)
def test_a_bench_passes(module: str) -> None:
    run("tb/bench.py", module, "--short", "--jobs", "1")


@pytest.mark.seconds(5)
def test_icarus_takes_every_circuit_and_refuses_bad_parameters() -> None:
    run("lint.py", "--tool", "icarus")


def test_every_shared_module_has_a_short_bench() -> None:
    shared = {path.stem for path in (GATEWARE / "rtl" / "common").glob("*.sv")}
    assert shared <= set(SHORT)


def test_every_unit_of_the_engine_has_a_short_bench_or_a_proof() -> None:
    text = (GATEWARE / "formal" / "proofs.toml").read_text(encoding="utf-8")
    proven = {proof["module"] for proof in tomllib.loads(text)["proof"]}
    units = {path.stem for path in (GATEWARE / "rtl" / "dma_engine").glob("*.sv")}
    assert units - set(SHORT) - proven == IN_THE_ENGINE


def test_every_mutant_of_a_proof_still_changes_its_circuit() -> None:
    run("prove.py", "--check")
