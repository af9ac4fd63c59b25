"""The result codes of the C interface, by function and wrong argument."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from peerlane.opae.session import include_folder, library_folder

SOURCES = Path(__file__).parent


def read(name: str) -> dict[str, Any]:
    """A table of the data files."""
    return tomllib.loads((SOURCES / name).read_text(encoding="utf-8"))


CODES = read("codes.toml")
INTERFACE = read("interface.toml")
ROWS = [(name, arguments) for name, rows in CODES.items() for arguments in rows]


# One process compiles and runs the program of all rows.
pytestmark = pytest.mark.xdist_group("codes")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], int]:
    """What each call of the table returned, in one run of a program."""
    folder = tmp_path_factory.mktemp("codes")
    calls = [f'printf("%d\\n", (int){name}({arguments}));' for name, arguments in ROWS]
    (folder / "codes.inc").write_text("\n".join(calls), encoding="utf-8")
    program = folder / "codes"
    flags = [
        "-std=gnu11",
        "-Wall",
        "-Werror",
        "-Wno-nonnull",
        f"-I{folder}",
        f"-I{include_folder()}",
    ]
    build = ["gcc", *flags, str(SOURCES / "codes.c"), f"-L{library_folder()}", "-lopae-c"]
    subprocess.run([*build, "-o", str(program)], check=True, timeout=120)
    run = [sys.executable, "-P", "-m", "peerlane", "opae", "run", str(program)]
    done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return dict(zip(ROWS, map(int, done.stdout.split()), strict=True))


@pytest.mark.parametrize("name", CODES)
def test_a_wrong_argument_gets_its_code(said: dict[tuple[str, str], int], name: str) -> None:
    numbers = INTERFACE["enums"]["fpga_result"]
    names = {number: code.removeprefix("FPGA_") for code, number in numbers.items()}
    found = {arguments: names[said[name, arguments]] for arguments in CODES[name]}
    assert found == CODES[name]


ALIKE = ("fpgaPropertiesGet", "fpgaPropertiesSet")
"""Getters and setters of numbers are made by one macro."""


def test_every_function_has_rows_and_every_pointer_is_null_once() -> None:
    for functions in INTERFACE["functions"].values():
        for name, types in functions.items():
            # Functions for other drivers fail whatever their arguments are.
            if name.startswith((*ALIKE, "opae_")) or name in {"fpgaErrStr", "fpgaFinalize"}:
                continue
            calls = [row.split(", ") for row in CODES[name]]
            for place, kind in enumerate(types.split(", ")):
                is_object = kind in {"fpga_token", "fpga_handle", "fpga_properties", "fpga_object"}
                if is_object or kind.endswith("*"):
                    assert any(call[place] == "NULL" for call in calls), f"{name}: {kind}"
