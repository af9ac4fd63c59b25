"""A bundle has a result with its scenario, runs again, and runs nothing else."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from peerlane.bundle import Manifest, file_name, open_bundle
from peerlane.cli.bundle import KEPT
from peerlane.cli.commands import app
from peerlane.fabric.simulation import digest_of
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Outcome, Run, Write

RUNS = {
    "run": ["run", "fabric.toml", "--seed", "3", "--set", "devices.a.tags=2", "--threads=1"],
    "run without waits": ["run", "fabric.toml", "--no-explain"],
    "run of a shipped scenario": ["run", "pair"],
    "steady": ["run", "fabric.toml", "--steady", "--set", "measure.limit=100us"],
    "repeat": ["run", "fabric.toml", "--repeat", "2"],
    "samples": ["run", "--interval=1us", "fabric.toml"],
    "explain": ["explain", "fabric.toml", "--flow", "a-to-b", "--no-what-if"],
    "sweep": ["sweep", "fabric.toml", "--vary", "devices.a.tags=1,2", "--vary=seed=1,2"],
}


def bundled(peerlane: Run, *command: str) -> Outcome:
    """The outcome of bundling the result of a command, as r.zip."""
    assert peerlane(*command, "--json", "r.json").status == 0
    return peerlane("bundle", "r.json")


@pytest.fixture
def archive(peerlane: Run, scenario: Write, tmp_path: Path) -> Path:
    scenario()
    assert bundled(peerlane, *RUNS["run"]).status == 0
    return tmp_path / "r.zip"


@pytest.mark.parametrize("command", RUNS)
def test_a_bundle_runs_again_with_the_same_numbers(
    peerlane: Run, scenario: Write, tmp_path: Path, command: str
) -> None:
    path = scenario()
    assert bundled(peerlane, *RUNS[command]).status == 0
    for file in (path, tmp_path / "r.json"):
        file.unlink()
    checked = peerlane("bundle", "--check", "r.zip").succeeds()
    assert checked.err == ""
    assert checked.out.startswith("no change: all ")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["r.zip"]


def test_a_bundle_says_what_made_the_numbers(archive: Path) -> None:
    manifest = open_bundle(archive).manifest
    assert (manifest.command, manifest.file, manifest.seed) == ("run", "fabric.toml", 3)
    assert manifest.options == ("--set=devices.a.tags=2", "--seed=3")
    assert set(manifest.bundled_on) == {"python", "system", "processor"}


def test_the_archive_of_a_result_is_the_same_file(peerlane: Run, archive: Path) -> None:
    assert peerlane("bundle", "r.json", "--out", "again.zip").status == 0
    assert (archive.parent / "again.zip").read_bytes() == archive.read_bytes()


def test_numbers_that_differ_are_named_and_end_with_1(peerlane: Run, archive: Path) -> None:
    def doubled(texts: dict[str, str]) -> None:
        numbers = json.loads(texts["numbers.json"])
        numbers["flows"][0]["bytes_per_second"] *= 2
        texts["numbers.json"] = json.dumps(numbers)
        manifest = json.loads(texts["bundle.json"])
        manifest["numbers_digest"] = digest_of(texts["numbers.json"])
        texts["bundle.json"] = json.dumps(manifest)

    change(archive, doubled)
    checked = peerlane("bundle", "--check", "r.zip", "--json", "changes.json")
    assert checked.status == 1
    assert "bytes_per_second" in checked.out
    (one,) = json.loads((archive.parent / "changes.json").read_text())["changes"]
    assert one["before"] == 2 * one["after"]


def change(
    archive: Path, edit: Callable[[dict[str, str]], object], method: int = zipfile.ZIP_DEFLATED
) -> None:
    """Writes an archive again with other texts."""
    with zipfile.ZipFile(archive) as old:
        texts = {name: old.read(name).decode() for name in old.namelist()}
    edit(texts)
    with zipfile.ZipFile(archive, "w", method) as new:
        for name, text in texts.items():
            new.writestr(name, text)


def of_manifest(**values: Any) -> Callable[[dict[str, str]], None]:
    def edit(texts: dict[str, str]) -> None:
        texts["bundle.json"] = json.dumps(json.loads(texts["bundle.json"]) | values)

    return edit


WRONG: dict[str, tuple[Callable[[dict[str, str]], object], str]] = {
    "scenario": (lambda texts: texts.update({"scenario.toml": "[hosts.h]\n"}), "scenario.toml"),
    "numbers": (lambda texts: texts.update({"numbers.json": "{}"}), "numbers.json"),
    "a member less": (lambda texts: texts.pop("numbers.json"), "it has no numbers.json"),
    "a member more": (lambda texts: texts.update({"evil.py": "1"}), "it has a member 'evil.py'"),
    "a path": (lambda texts: texts.update({"../evil": "1"}), "it has a member '../evil'"),
    "no JSON": (lambda texts: texts.update({"bundle.json": "{"}), "bundle.json is not JSON"),
    "a key": (of_manifest(run="evil"), "bundle.json: run"),
    "version": (of_manifest(version="9"), "differ in version"),
    "command": (of_manifest(command="opae"), "bundle.json: command"),
    "folder": (of_manifest(file="../fabric.toml"), "bundle.json: file"),
    "option for file": (of_manifest(file="--help.toml"), "bundle.json: file"),
    "model": (of_manifest(options=["--model=a=evil.py"]), "--model, which loads code"),
    "output": (of_manifest(options=["--trace=evil"]), "options"),
    "unknown option": (of_manifest(options=["--evil"]), "--evil"),
    "a second file": (of_manifest(options=["evil.toml"]), "no single scenario"),
    "setting": (of_manifest(options=["--set=devices.a.tgas=1"]), "the run failed"),
    "code": (of_manifest(options=["--set=devices.a.model=evil.py"]), "the run failed"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_damaged_bundle_is_refused_in_one_line_and_nothing_runs(
    peerlane: Run, archive: Path, what: str
) -> None:
    (archive.parent / "evil.py").write_text(f"open({str(archive.parent / 'ran')!r}, 'w')")
    edit, words = WRONG[what]
    change(archive, edit)
    peerlane("bundle", "--check", "r.zip").refuses("r.zip", words)
    assert not (archive.parent / "ran").exists()
    assert not (archive.parent / "evil").exists()


@given(data=st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_a_bundle_or_are_refused_with_the_name(
    archive: Path, data: st.DataObject
) -> None:
    content = bytearray(archive.read_bytes())
    for at in data.draw(st.lists(st.integers(-len(content), len(content) - 1), max_size=4)):
        content[at] = data.draw(st.integers(0, 255))
    damaged = archive.with_name("damaged.zip")
    damaged.write_bytes(content[: data.draw(st.integers(0, 2 * len(content)))])
    with suppress(FileError):
        open_bundle(damaged)


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_member_is_deflated(peerlane: Run, archive: Path, method: int) -> None:
    change(archive, lambda _: None, method)
    peerlane("bundle", "--check", "r.zip").refuses("r.zip", "deflate")


@pytest.mark.usefixtures("archive")
def test_a_bundle_of_another_version_is_compared_with_a_warning(
    peerlane: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("peerlane.__version__", "9.9")
    checked = peerlane("bundle", "--check", "r.zip").succeeds()
    assert "is of Peerlane" in checked.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["show", "fabric.toml"], "`peerlane show`"),
        (["run", "fabric.toml", "--model", "sensor=sensor.py"], "--model, which loads code"),
    ],
)
def test_a_result_that_a_scenario_alone_does_not_make_is_refused(
    peerlane: Run, scenario: Write, tmp_path: Path, command: list[str], words: str
) -> None:
    scenario()
    model = "from peerlane import Device\nclass Sensor(Device):\n    pass\n"
    (tmp_path / "sensor.py").write_text(model)
    bundled(peerlane, *command).refuses("r.json", words)


def test_a_scenario_that_changed_since_is_refused(peerlane: Run, scenario: Write) -> None:
    path = scenario()
    assert bundled(peerlane, "run", "fabric.toml").status == 0
    path.write_text(path.read_text() + "# changed\n")
    peerlane("bundle", "r.json").refuses("fabric.toml", "run it again")
    path.unlink()
    peerlane("bundle", "r.json").refuses("fabric.toml")


@pytest.mark.usefixtures("archive")
def test_options_of_the_other_form_are_refused(peerlane: Run) -> None:
    peerlane("bundle", "--check", "r.zip", "--out", "x.zip").refuses("--out")
    peerlane("bundle", "r.json", "--json", "-").refuses("--check")


WITHOUT_EFFECT = {
    "run": """
        --json --junit --parquet --report --threads --trace --pcap --perfetto --vcd --at --kind
        --flow --address --window --model --circuit
    """,
    "explain": "--all --json --model --circuit",
    "sweep": "--out --resume --scheduler --all --json --report --model --circuit --allow-failures",
}


@pytest.mark.parametrize("command", KEPT)
def test_each_option_of_a_command_decides_on_its_numbers_or_does_not(command: str) -> None:
    commands: Any = get_command(app)
    options = {option.opts[0] for option in commands.commands[command].params} - {"file", "--help"}
    assert options - set(KEPT[command]) == set(WITHOUT_EFFECT[command].split())


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b/card.toml", "card.toml"),
        ("C:\\x\\my card", "my-card.toml"),
        ("--help", "help.toml"),
        ("..", "scenario.toml"),
    ],
)
def test_a_name_of_a_scenario_has_no_folder(path: str, name: str) -> None:
    assert file_name(path) == name
    assert file_name(name) == name


def test_a_manifest_has_a_documented_form() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "bundles.md"
    text = page.read_text(encoding="utf-8")
    for key in ("version", "command", "file", "options", "seed", "bundled_on"):
        assert key in Manifest.__dataclass_fields__
        assert f"`{key}`" in text
