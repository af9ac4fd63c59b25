"""A file with a wrong format is refused in one line with its name and place, and status 2."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from peerlane.report.overhead import flow_overheads
from peerlane.results.reading import FileError, csv_of, document_of, json_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Run


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each format, as commands write them."""
    folder = tmp_path_factory.mktemp("written")
    peerlane = [sys.executable, "-m", "peerlane"]
    for command in (
        ["run", "pair", "--json", "run.json", "--trace", "trace.jsonl"],
        ["sweep", "pair", "--vary", "seed=1,2", "--json", "sweep.json", "--out", "sweep.csv"],
        ["explain", "pair", "--json", "explain.json"],
        ["show", "pair", "--json", "show.json"],
    ):
        subprocess.run([*peerlane, *command], cwd=folder, check=True, capture_output=True)
    return folder


def document(written: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((written / "run.json").read_text(encoding="utf-8"))
    return found


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], str]:
    def text(written: Path) -> str:
        found = document(written)
        change(found)
        return json.dumps(found)

    return text


WRONG: dict[str, tuple[Callable[[Path], str], str]] = {
    "NaN": (changed(lambda d: d["flows"][0].update(bytes=float("nan"))), "NaN"),
    "infinity": (changed(lambda d: d["links"][0].update(tlps=float("inf"))), "Infinity"),
    "a number of 400 digits": (changed(lambda d: d.update(seed=10**400)), "finite"),
    "a number of 9000 digits": (lambda _: '{"flows": [' + "9" * 9000 + "]}", "finite"),
    "an exponent of 400": (lambda _: '{"flows": [1e400]}', "1e400"),
    "deep nesting": (lambda _: '{"flows": ' + "[" * 100_000, "nested too deep"),
    "a text for a number": (
        changed(lambda d: d["flows"][0].update(bytes="5")),
        "flows.0.bytes: input should be a valid integer",
    ),
    "a list for a table": (changed(lambda d: d.update(flows={})), "flows: "),
    "a missing field": (changed(lambda d: d.pop("links")), "links: field required"),
    "a cut histogram": (
        changed(
            lambda d: d["flows"][0]["latency_ns"].update(
                histogram_ps=d["flows"][0]["latency_ns"]["histogram_ps"][:-8]
            )
        ),
        "flows.0.latency_ns.histogram_ps: it is no whole histogram",
    ),
}


@pytest.mark.parametrize("law", WRONG)
def test_a_wrong_result_is_refused_with_its_place(
    peerlane: Run, written: Path, tmp_path: Path, law: str
) -> None:
    text, words = WRONG[law]
    wrong = tmp_path / "wrong.json"
    wrong.write_text(text(written), encoding="utf-8")
    for command in (
        ["compare", written / "run.json", wrong],
        ["compare", wrong, wrong],
        ["plot", wrong],
    ):
        peerlane(*command).refuses("wrong.json", words)


def test_a_wrong_sweep_is_refused_with_its_place(
    peerlane: Run, written: Path, tmp_path: Path
) -> None:
    found = json.loads((written / "sweep.json").read_text(encoding="utf-8"))
    for part, value in (("metrics", 5), ("settings", []), ("metrics", {"a": [1]})):
        points = [{**found["points"][0], part: value}]
        (tmp_path / "wrong.json").write_text(json.dumps(found | {"points": points}))
        for command in (["compare"] + [tmp_path / "wrong.json"] * 2, ["plot", "wrong.json"]):
            peerlane(*command).refuses("wrong.json", f"points.0.{part}")


def cuts(content: bytes) -> list[bytes]:
    """The content, cut at many lengths."""
    step = max(len(content) // 40, 1)
    return [content[:length] for length in range(0, len(content), step)]


@pytest.mark.parametrize("name", ["run.json", "sweep.json", "explain.json", "show.json"])
def test_a_document_that_is_cut_is_refused(written: Path, name: str) -> None:
    content = (written / name).read_bytes()
    document_of(content.decode(), name)
    for cut in cuts(content.rstrip()):
        with pytest.raises(FileError, match=rf"{name} is not JSON: line \d+"):
            document_of(cut.decode(errors="replace"), name)


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "binary": bytes(range(256)) * 20,
    "zeros": b"\0" * 4096,
    "UTF-16": '{"flows": []}'.encode("utf-16"),
    "a list": b"[1]",
    "a number": b"3",
    "a text": b'"flows"',
    "nothing in it": b"{}",
    "empty tables": b'{"flows": {}, "points": 3, "links": [[]], "series": []}',
    "a point of nothing": b'{"points": [{"settings": {}}], "keys": 3, "name": []}',
    "samples of nothing": b'{"flows": [], "series": {"links": 3, "end_ns": null}, "links": [3]}',
    "points of nothing": b'{"points": [{}, [], null]}',
    "deep": b"[" * 100_000,
    "a TOML table": b"[hosts.h]\nports = 1e999999\n",
    "control characters": b"\x1b[31m\x07\x9b",
}

COMMANDS: dict[str, list[str]] = {
    "compare": ["compare", "{}", "{}"],
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
@pytest.mark.parametrize("content", HOSTILE)
def test_no_file_makes_a_command_fail_otherwise(
    peerlane: Run, tmp_path: Path, command: str, content: str
) -> None:
    for ending in ("", ".json", ".csv"):
        (tmp_path / f"hostile{ending}").write_bytes(HOSTILE[content])
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


def test_a_pipe_is_read_like_a_file(peerlane: Run, written: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with subprocess.Popen(["cp", written / "run.json", tmp_path / "pipe.json"]) as writer:
        ran = peerlane("compare", written / "run.json", tmp_path / "pipe.json")
    assert (ran.status, writer.returncode) == (0, 0)


def test_a_long_cell_of_a_table_is_read(peerlane: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
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
def test_a_wrong_table_is_refused_with_its_line(
    peerlane: Run, tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(FileError, match=r"t\.csv: line"):
        csv_of(text, "t.csv")
    (tmp_path / "t.csv").write_text(text)
    peerlane("plot", "t.csv").refuses("t.csv: line", words)


def test_cells_of_any_kind_are_drawn_or_refused(peerlane: Run, tmp_path: Path) -> None:
    cells = ["9" * 400, "NaN", "Infinity", "1e400", "[" * 50_000, "$x_{", "\x1b[31m", "-0", '"a"']
    for cell in cells:
        (tmp_path / "t.csv").write_text(f"a,b\n{cell},1\n2,{cell}\n")
        for names in (["a", "b"], ["b", "a"]):
            ran = peerlane("plot", "t.csv", "--x", names[0], "--y", names[1])
            assert_refused_or_done(ran.status, "" if ran.status == 0 else ran.err)


def test_a_trace_with_any_line_damaged_is_refused_with_the_line(
    written: Path, tmp_path: Path
) -> None:
    lines = (written / "trace.jsonl").read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if b'"tlp"' in line)
    entry = json.loads(lines[number])
    damaged = [
        b"\xff\xfe\n",
        b"\0\n",
        b"[1]\n",
        b'"tlp"\n',
        b"[" * 100_000,
        lines[number][:-9],
        *(json.dumps({**entry, key: None}).encode() for key in ("ns", "link", "header", "bytes")),
        json.dumps({**entry, "bytes": "8"}).encode(),
        json.dumps({**entry, "replay": 1}).encode(),
        json.dumps({**entry, "flow": []}).encode(),
        json.dumps({**entry, "length_ns": float("nan")}).encode(),
    ]
    path = tmp_path / "damaged.jsonl"
    for line in damaged:
        path.write_bytes(b"".join(lines[:number]) + line)
        with pytest.raises(FileError, match=rf"damaged.jsonl:{number + 1}: no line of a packet"):
            flow_overheads(path)


def test_numbers_of_json_are_finite() -> None:
    assert json_of("[1, -2.5e3, 99999999999999999999]", "t") == [1, -2500.0, 10**20 - 1]
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
