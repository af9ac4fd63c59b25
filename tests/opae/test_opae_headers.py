"""The C interface of `libopae-c`, compared with the list of published facts."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import MISSING

if TYPE_CHECKING:
    from conftest import Run

ROOT = Path(__file__).parents[2]
HEADERS = ROOT / "integrations" / "opae" / "include"
SOURCES = ROOT / "tests" / "opae"
INTERFACE: dict[str, Any] = tomllib.loads((SOURCES / "interface.toml").read_text(encoding="utf-8"))

NAMES = sorted(path.name for path in (HEADERS / "opae").glob("*.h"))

ALL_HEADERS = [f"#include <opae/{name}.h>" for name in ("fpga", "uio", "vfio")]
"""The lines that declare all functions: `fpga.h` does not bring the headers of other drivers."""

LANGUAGES = {
    "c": ["gcc", "-xc", "-std=gnu11"],
    "c++": ["g++", "-xc++", "-std=gnu++17"],
    "c99": ["gcc", "-xc", "-std=c99", "-pedantic", "-Wshadow", "-Wstrict-prototypes"],
    "c++11": ["g++", "-xc++", "-std=c++11", "-pedantic", "-Wshadow"],
}

PROBES = {
    "errno.h": "int errno_probe(void) { return errno + ENOENT; }",
    "limits.h": "int limits_probe[CHAR_BIT];",
    "stdbool.h": "bool bool_probe;",
    "stddef.h": "size_t size_probe; void *null_probe = NULL;",
    "stdint.h": "uint64_t word_probe; int64_t most_probe = INT64_MAX;",
    "stdlib.h": "void *stdlib_probe(void) { return malloc(1); }",
    "string.h": "size_t string_probe(const char *text) { return strlen(text); }",
    "opae/types.h": "fpga_guid guid_probe; fpga_handle handle_probe;",
    "stdio.h": "FILE *stdio_probe;",
    "opae/log.h": "int log_probe = OPAE_LOG_DEBUG;",
}
"""What a program can write if it has a header."""


def compiles(text: str, language: str, folder: Path) -> None:
    """Compiles a text with warnings as errors; fails with the compiler's messages."""
    command = LANGUAGES[language]
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} {MISSING}")
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", "-c", "-", "-o", str(folder / "x.o")]
    built = subprocess.run(
        [*command, *flags], input=text, text=True, capture_output=True, timeout=60, check=False
    )
    assert built.returncode == 0, f"{text}\n{built.stderr}"


# By the oldest standards, without extensions; each is compiled by newer ones below.
@pytest.mark.parametrize("language", ["c99", "c++11"])
@pytest.mark.parametrize("name", NAMES)
def test_a_header_compiles_alone_and_twice(name: str, language: str, tmp_path: Path) -> None:
    compiles(f"#include <opae/{name}>\n" * 2 + "extern int nothing;\n", language, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_header_brings_the_published_headers(name: str, tmp_path: Path) -> None:
    wanted = INTERFACE["includes"][name]
    if "opae/types.h" in wanted:
        wanted = [*wanted, *INTERFACE["includes"]["types.h"]]
    probes = [PROBES[header] for header in wanted]
    text = [f"#include <opae/{name}>", "fpga_result result_probe;", *probes]
    compiles("\n".join([*text, ""]), "c", tmp_path)


@pytest.mark.parametrize("language", ["c", "c++"])
def test_values_sizes_and_offsets_are_the_published_ones(language: str, tmp_path: Path) -> None:
    check = "_Static_assert" if language == "c" else "static_assert"

    def equal(what: str, value: int) -> str:
        return f'{check}({what} == {value}, "{what}");'

    lines = ["#define LIBOPAE_DEBUG", *ALL_HEADERS]
    lines += [equal(name, value) for name, value in INTERFACE["constants"].items()]
    for name, values in INTERFACE["enums"].items():
        lines += [equal(f"sizeof({name})", 4)]
        lines += [equal(f"(int){item}", value) for item, value in values.items()]
    for name, facts in INTERFACE["types"].items():
        lines += [equal(f"sizeof({name})", facts["size"])]
        offsets = facts.get("offsets", {}).items()
        lines += [equal(f"offsetof({name}, {field})", offset) for field, offset in offsets]
    for name in INTERFACE["macros"]["names"]:
        lines += [f"#ifndef {name}", f"#error {name}", "#endif"]
    compiles("\n".join([*lines, ""]), language, tmp_path)


@pytest.mark.parametrize("language", ["c", "c++"])
def test_functions_have_the_published_types(language: str, tmp_path: Path) -> None:
    lines = list(ALL_HEADERS)
    for functions in INTERFACE["functions"].values():
        for name, arguments in functions.items():
            result = INTERFACE["returns"].get(name, "fpga_result")
            lines.append(f"{result} (*pointer_to_{name})({arguments}) = {name};")
    compiles("\n".join([*lines, ""]), language, tmp_path)


def declared(name: str) -> dict[str, str]:
    """The functions that a header declares, with the types of their arguments."""
    text = re.sub(
        r"/\*.*?\*/|#.*?(?<!\\)$",
        "",
        (HEADERS / "opae" / name).read_text(),
        flags=re.DOTALL | re.MULTILINE,
    )
    found = re.findall(r"(\w+)\(([^()]*)\);", text)
    return {
        function: ", ".join(map(nameless, arguments.split(","))) for function, arguments in found
    }


def nameless(argument: str) -> str:
    """An argument's type, without its name."""
    argument = " ".join(argument.split())
    if argument in {"void", "..."}:
        return argument
    return re.sub(r"\w+$", "", argument).strip()


@pytest.mark.parametrize("name", INTERFACE["functions"])
def test_a_header_declares_the_published_functions_and_no_others(name: str) -> None:
    assert declared(name) == INTERFACE["functions"][name]


CXX = sorted(str(path.relative_to(HEADERS)) for path in (HEADERS / "opae" / "cxx").rglob("*.h"))


@pytest.mark.parametrize("name", CXX)
def test_a_header_of_the_cxx_interface_compiles_alone(name: str) -> None:
    command = ["g++", "-xc++", "-std=c++11", "-fsyntax-only"]
    command += ["-Wall", "-Wextra", "-pedantic", "-Wshadow", "-Werror"]
    text = f"#include <{name}>\n#include <{name}>\n"
    done = subprocess.run(
        [*command, "-I", str(HEADERS), "-"], input=text, text=True, check=False, timeout=120
    )
    assert done.returncode == 0


def test_every_header_is_in_the_list() -> None:
    assert set(NAMES) == set(INTERFACE["includes"])
    others = {"fpga.h", "types.h", "types_enum.h"}
    assert set(INTERFACE["functions"]) == set(NAMES) - others


def test_the_library_has_every_function_of_the_headers(peerlane: Run) -> None:
    library = peerlane("opae", "flags").out.split("-L")[1].strip()
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", f"{library}/libopae-c.so.2"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    exported = {line.split()[-1] for line in listed.splitlines()}
    wanted = {name for functions in INTERFACE["functions"].values() for name in functions}
    assert wanted <= exported
    assert {name for name in exported if name.startswith(("fpga", "opae"))} == wanted


@pytest.mark.parametrize(("level", "out"), [(None, 0), ("0", 0), ("1", 1), ("2", 2)])
def test_a_message_is_printed_up_to_the_level_of_the_environment(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str | None, out: int
) -> None:
    program = tmp_path / "print"
    flags = peerlane("opae", "flags").out.split()
    command = ["gcc", "-Wall", "-Werror", str(SOURCES / "print.c"), *flags, "-lopae-c", "-o"]
    subprocess.run([*command, str(program)], check=True, timeout=60)
    monkeypatch.delenv("LIBOPAE_LOG", raising=False)
    if level is not None:
        monkeypatch.setenv("LIBOPAE_LOG", level)
    done = peerlane("opae", "run", str(program)).succeeds()
    numbers, error = done.err.splitlines()
    assert numbers == "1 two 3 4 5 6 7 8|0.10 0.20 0.30 0.40 0.50 0.60 0.70 0.80 0.90"
    assert re.fullmatch(r"print\.c:\d+:main\(\) \*\*ERROR\*\* : no arguments", error)
    messages = ["a message with 1", "*DEBUG* : a detail with 0.5"][:out]
    lines = done.out.splitlines()
    assert len(lines) == out
    assert all(line.endswith(text) for line, text in zip(lines, messages, strict=True))
