"""A file with a wrong format is refused in one line with its name and place, and status 2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from peerlane.results.reading import FileError, csv_of, json_of

if TYPE_CHECKING:
    from conftest import Run


HOSTILE = (
    b"",
    bytes(range(256)) * 20,
    b"\0" * 4096,
    '{"flows": []}'.encode("utf-16"),
    b"[1]",
    b"3",
    b'"flows"',
    b"{}",
    b'{"flows": {}, "points": 3, "links": [[]], "series": []}',
    b'{"points": [{"settings": {}}], "keys": 3, "name": []}',
    b'{"flows": [], "series": {"links": 3, "end_ns": null}, "links": [3]}',
    b'{"points": [{}, [], null]}',
    b"[" * 100_000,
    b"[hosts.h]\nports = 1e999999\n",
    b"\x1b[31m\x07\x9b",
)

COMMANDS: dict[str, list[str]] = {
    "compare": ["compare", "{}", "{}"],
    "bundle": ["bundle", "{}.json"],
    "bundle check": ["bundle", "--check", "{}"],
    "plot JSON": ["plot", "{}.json"],
    "plot series": ["plot", "{}.json", "--y", "series.links.bytes"],
    "plot CSV": ["plot", "{}.csv", "--x", "a"],
    "run": ["run", "{}"],
    "check": ["check", "{}"],
    "show": ["show", "{}"],
    "explain": ["explain", "{}"],
    "sweep": ["sweep", "{}", "--vary", "seed=1,2"],
    "sweep table": ["sweep", "pair", "--vary", "seed=1,2", "--out", "{}.csv", "--resume"],
    "lspci": ["lspci", "{}"],
    "import": ["import", "lspci", "{}"],
    "bench": ["bench", "shapes", "--against", "{}"],
    "opae": ["opae", "run", "--afu", "{}", "--", "true"],
}


def assert_refused_or_done(status: int, err: str) -> None:
    assert "Traceback" not in err
    assert "panicked" not in err
    assert "\x1b" not in err
    assert status in {0, 2}, err
    if status:
        lines = [line for line in err.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1, err
        assert lines[0].startswith("error: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_makes_a_command_fail_otherwise(peerlane: Run, command: str) -> None:
    for content in HOSTILE:
        for ending in ("", ".json", ".csv"):
            Path(f"hostile{ending}").write_bytes(content)
        ran = peerlane(*(part.replace("{}", "hostile") for part in COMMANDS[command]))
        assert_refused_or_done(ran.status, ran.err)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_folder_or_closed_file_makes_a_command_fail_otherwise(
    peerlane: Run, tmp_path: Path, command: str
) -> None:
    for ending in ("", ".json", ".csv"):
        (tmp_path / f"hostile{ending}").mkdir()
        (tmp_path / f"closed{ending}").write_text("")
        (tmp_path / f"closed{ending}").chmod(0)
    for name in ("hostile", "closed", "missing"):
        ran = peerlane(*(part.replace("{}", name) for part in COMMANDS[command]))
        assert_refused_or_done(ran.status, ran.err)


def test_a_long_cell_of_a_table_is_read(peerlane: Run, tmp_path: Path) -> None:
    long = "x" * 200_000
    (tmp_path / "t.csv").write_text(f"a,b,note\n1,2,{long}\n2,3,{long}\n")
    assert peerlane("plot", "t.csv", "--x", "a", "--y", "b").status == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n1\n", "line 3: 1 cells for 2 columns"),
        ("a,b\n1,2,3\n", "line 2: 3 cells for 2 columns"),
        ('a,b\n1,"2\n', "line 2: "),
        ("a,a\n1,2\n", "the column 'a' is there twice"),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(peerlane: Run, text: str, words: str) -> None:
    with pytest.raises(FileError, match=r"t\.csv: line"):
        csv_of(text, "t.csv")
    Path("t.csv").write_text(text)
    peerlane("plot", "t.csv").refuses("t.csv: line", words)


def test_cells_of_any_kind_are_drawn_or_refused(peerlane: Run, tmp_path: Path) -> None:
    cells = ["9" * 400, "NaN", "Infinity", "1e400", "[" * 2_000, "$x_{", "\x1b[31m", "-0", '"a"']
    for cell in cells:
        (tmp_path / "t.csv").write_text(f"a,b\n{cell},1\n2,{cell}\n")
        ran = peerlane("plot", "t.csv", "--x", "a", "--y", "b")
        assert_refused_or_done(ran.status, "" if ran.status == 0 else ran.err)


def test_numbers_of_json_are_finite() -> None:
    assert json_of("[1, -2.5e3, 99999999999999999999]", "t") == [1, -2500.0, 10**20 - 1]
    for wrong, why in (("NaN", "NaN"), ("9" * 9000, "finite"), ("1e400", "1e400")):
        with pytest.raises(FileError, match=why):
            json_of(f'{{"flows": [{wrong}]}}', "t")
    with pytest.raises(FileError, match="nested too deep"):
        json_of('{"flows": ' + "[" * 100_000, "t")
    with pytest.raises(FileError, match="t: line 3: -Infinity"):
        json_of("[1,\n2,\n-Infinity]", "t")


@pytest.mark.parametrize("name", ["evil", "evil.py", "./evil.py:Evil", "libevil.so"])
@pytest.mark.parametrize(
    "device", ['model = "{}"', 'model = "fpga-card"\nafu = "{}"', 'implementation = "{}"']
)
def test_a_scenario_alone_never_runs_code(
    peerlane: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, device: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code = f"open({str(tmp_path / 'ran')!r}, 'w')"
    for file in ("evil.py", "libevil.so"):
        (tmp_path / file).write_text(code, encoding="utf-8")
    text = f'[hosts.h]\n[devices.d]\nupstream = "h"\n{device.format(name)}\n'
    (tmp_path / "fabric.toml").write_text(text, encoding="utf-8")
    for command in ("run", "show", "explain", "lspci"):
        peerlane(command, "fabric.toml").refuses("fabric.toml:", name)
    assert not (tmp_path / "ran").exists()
