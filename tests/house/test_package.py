"""The wheel: what is in it, and that it works from any folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from trove_classifiers import classifiers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).parents[2]
WHEEL = pytest.mark.xdist_group("wheel")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of this tree, built as the editable install: nothing is compiled twice."""
    folder = tmp_path_factory.mktemp("wheel")
    maturin = [sys.executable, "-m", "maturin", "build", "--profile", "fast"]
    run = subprocess.run(
        [*maturin, "--out", str(folder)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    (built,) = folder.glob("*.whl")
    return built


@WHEEL
def test_tests_of_one_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        pytest.skip("this process has no others beside it")
    # Two wheels that are built at once overwrite each other's files.
    assert request.node.nodeid.endswith("@wheel")


def test_a_package_in_several_locks_has_one_version_and_the_same_files() -> None:
    folders = ("release", "gateware", "fuzz")
    names = ("requirements-dev.txt", *(f"{folder}/requirements.txt" for folder in folders))
    pin = re.compile(r"^([a-z0-9.-]+)==([\w.]+).*?((?:\n    --hash=\S+(?: \\)?)+)", re.MULTILINE)
    found: dict[str, dict[str, set[tuple[str, str]]]] = {}
    for name in names:
        for package, number, hashes in pin.findall((ROOT / name).read_text(encoding="utf-8")):
            pins = found.setdefault(package, {}).setdefault(name, set())
            pins.add((number, hashes.replace(" \\", "")))
    assert len(found) > 100
    for package, of_files in found.items():
        whole = max(of_files.values(), key=len)  # Pythons may differ in the version that they take
        assert all(pins <= whole for pins in of_files.values()), package


@WHEEL
def test_the_wheel_serves_every_later_python(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name


@WHEEL
def test_the_wheel_has_systems_types_and_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("expected.toml", "scenario.toml", "README.md", "experiments.py", "claims.toml"):
        assert f"peerlane/systems/rosta/{name}" in names
    assert "peerlane/py.typed" in names
    assert "peerlane/_core.pyi" in names
    assert "peerlane/scenarios/pair.toml" in names
    assert "peerlane/report/templates/page.html" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any("__pycache__" in name or name.startswith("tests/") for name in names)


@WHEEL
def test_the_wheel_has_the_library_for_programs_and_its_headers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        linked = files.read("peerlane/opae/lib/libopae-c.so")
    assert "peerlane/opae/lib/libopae-c.so.2" in names
    assert b"libopae-c.so.2" in linked
    include = ROOT / "integrations/opae/include"
    headers = [header.relative_to(include) for header in include.rglob("*.h")]
    assert {f"peerlane/opae/include/{header}" for header in headers} <= names


@pytest.fixture(scope="session")
def installed(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path, Sequence[str]], str]:
    """Runs a command of the installed wheel in a folder; returns what it prints."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)

    def run(folder: Path, command: Sequence[str]) -> str:
        return subprocess.run(
            [sys.executable, "-m", "peerlane", *command],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(site)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    return run


@WHEEL
def test_the_installed_wheel_works_from_any_folder(
    installed: Callable[[Path, Sequence[str]], str], tmp_path: Path
) -> None:
    reproduced = installed(tmp_path, ["reproduce", "rosta", "--figure", "table1"])
    assert re.search(r"figures of the source, analytic +9 +9 +0\n", reproduced)
    assert "a-to-b" in installed(tmp_path, ["run", "pair"])


@WHEEL
def test_a_new_model_in_rust_needs_only_the_wheel_and_cargo(
    installed: Callable[[Path, Sequence[str]], str], tmp_path: Path
) -> None:
    installed(tmp_path, ["new", "model", "--rust", "fast-drive"])
    # Warnings of the copied crate would be shown to the author of a model.
    subprocess.run(
        ["cargo", "test", "--offline", "--quiet"],
        cwd=tmp_path / "fast-drive",
        env=os.environ | {"CARGO_TARGET_DIR": str(tmp_path / "target"), "RUSTFLAGS": "-D warnings"},
        check=True,
        capture_output=True,
    )


def test_the_classifiers_are_those_of_the_index_in_their_order() -> None:
    assert set(PROJECT["classifiers"]) <= classifiers
    assert sorted(PROJECT["classifiers"]) == PROJECT["classifiers"]


@pytest.mark.parametrize(
    "line", sorted({*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())})
)
def test_the_tests_use_what_the_package_asks_for(line: str) -> None:
    wanted = Requirement(line)
    assert wanted.specifier, "say from which version on"
    assert wanted.specifier.contains(version(wanted.name))


def test_releases_are_built_by_pinned_tools() -> None:
    pinned = (ROOT / "release/requirements.txt").read_text(encoding="utf-8")
    developed = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")
    for tool in ("auditwheel", "maturin", "twine", "ziglang"):
        assert re.search(rf"^{tool}==[0-9.]+ \\\n    --hash=sha256:", pinned, re.MULTILINE), tool
    of = re.compile(r"^maturin==(\S+)", re.MULTILINE)
    assert of.findall(pinned) == of.findall(developed)


def test_a_source_distribution_has_the_library_for_programs(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = tmp_path.glob("peerlane-*.tar.gz")
    with tarfile.open(built) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    for name in ("Cargo.lock", "LICENSE", "PKG-INFO", "integrations/opae/src/lib.rs"):
        assert name in names, name


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("peerlane")
    assert subprocess.run([command, "--version"], check=True, capture_output=True).stdout


@pytest.mark.parametrize(
    ("rustc", "fault"), [(None, "cargo is missing"), ("rustc 1.80.0 (x)", "rustc is 1.80.0")]
)
def test_without_rust_the_build_says_what_it_needs(
    tmp_path: Path, rustc: str | None, fault: str
) -> None:
    for program in ("make", "sh", "sed", "find", "sort", "cut", "git", "env"):
        found = shutil.which(program)
        assert found is not None, program
        (tmp_path / program).symlink_to(found)
    if rustc is not None:
        for name in ("cargo", "rustc"):
            (tmp_path / name).write_text(f"#!{shutil.which('sh')}\necho '{rustc}'\n")
            (tmp_path / name).chmod(0o755)
    made = subprocess.run(
        [tmp_path / "make", "--no-print-directory", "demo"],
        cwd=ROOT,
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = made.stderr.splitlines()
    assert f"needs Rust 1.93 or later ({fault})" in line
    assert (made.returncode, made.stdout) == (2, "")
