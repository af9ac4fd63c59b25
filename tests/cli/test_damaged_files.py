"""Every file that a command reads has a form: a damaged one is refused with its name and place."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import beside
from peerlane.report.overhead import flow_overheads
from peerlane.reproduction import claims, expected, simulated
from peerlane.reproduction.catalogue import folder_of
from peerlane.reproduction.sensitivity import record
from peerlane.results.forms import FORMS
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Run

# One process has the folder of all files, which takes seconds to write.
pytestmark = pytest.mark.xdist_group("damaged-files")

SCENARIO = """\
name = "pair"
hosts.h = { memory = "1 MiB" }
devices.a.upstream = { to = "h" }
devices.b = { model = "gpu", upstream = { to = "h" } }

[[flows]]
id = "f"
from = "a"
to = "h"
size = "1 KiB"
"""

JOURNAL = "t.csv.journal"


COMPARE, PLOT = "compare {} {}", "plot {}"
READERS: dict[str, tuple[str, ...]] = {f"{kind}.json": (COMPARE,) for kind in FORMS} | {
    "result.json": (COMPARE, PLOT, "plot {} --y series.links.utilisation"),
    "points.json": (COMPARE, PLOT),
    "sweep.json": (COMPARE, PLOT),
    "shapes.json": (COMPARE, "bench shapes endpoint --quick --repeat 1 --against {}"),
    JOURNAL: ("sweep s.toml --vary seed=1,2 --out t.csv --resume",),
    "pages/contents.json": ("run s.toml --report pages",),
}
"""Every file of JSON that a command reads, and the commands that read it; `{}` is its name."""

WRITERS = (
    "run s.toml --json result.json --interval 100ns --trace trace.jsonl",
    "explain s.toml --json explanation.json",
    "advise s.toml --devices a,b --json advice.json",
    "sweep s.toml --vary seed=1,2 --json points.json --out points.csv",
    "sweep torus --steps 1 --json sweep.json",
    "run s.toml --repeat 2 --json repeat.json",
    "reproduce --claims --json claims.json",
    "show s.toml --json fabric.json",
    "plan video s.toml --json video.json",
    "compare result.json result.json --json comparison.json",
    "compare result.json --measured m.csv --json measured.json",
    "calibrate s.toml --measured m.csv --free hosts.h.latency --json calibration.json",
    "run s.toml --error-bars --json error-bars.json",
    "bench shapes endpoint --quick --repeat 1 --save shapes.json",
    "run s.toml --report pages",
    "sweep s.toml --vary seed=1,2 --out t.csv",
)

REPORT: dict[str, Any] = json.loads(beside(__file__, "report.json"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of each kind, as commands write them."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "s.toml").write_text(SCENARIO)
    (folder / "m.csv").write_text("f mean\n500 ns\n")
    # A journal as an interruption leaves it: with one of the two points.
    script = f"""
from peerlane.varying import journal
from peerlane.cli.application import run_command_line
journal.Journal.remove = journal.Journal.close
for command in {WRITERS!r}:
    assert run_command_line(command.split()) == 0, command
"""
    arguments = [sys.executable, "-c", script]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    head = {"schema": "peerlane-report/1", "version": json_of(folder, "result.json")["version"]}
    (folder / "report.json").write_text(json.dumps(head | REPORT))
    (folder / "reports.json").write_text(json.dumps(head | {"systems": [REPORT]}))
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    (folder / JOURNAL).write_bytes(b"".join(lines[:2]))
    (folder / "t.csv").unlink()
    return folder


def json_of(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture
def copied(written: Path, tmp_path: Path) -> Path:
    """The folder of the test, with a file of each kind."""
    shutil.copytree(written, tmp_path, dirs_exist_ok=True)
    return tmp_path


EVERY = [(file, reader) for file, readers in READERS.items() for reader in readers]
every_file = pytest.mark.parametrize(("file", "reader"), EVERY, ids=map(" ".join, EVERY))


def read(peerlane: Run, file: str, reader: str) -> Any:
    return peerlane(*(part.replace("{}", file) for part in reader.split()))


@every_file
def test_a_whole_file_is_read(peerlane: Run, copied: Path, file: str, reader: str) -> None:
    assert (copied / file).is_file()
    read(peerlane, file, reader).succeeds()


def cut(content: bytes) -> bytes:
    return content[: 2 * len(content) // 3] + b"\n"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "a line of nothing": lambda _: b"\n",
    "binary": lambda _: bytes(range(256)) * 8,
    "UTF-16": lambda content: content.decode().encode("utf-16"),
    "a byte outside of UTF-8": lambda content: content.replace(
        b'"version": "', b'"version": "\xff'
    ),
    "cut": cut,
    "a list": lambda content: b"[" + content.replace(b"\n", b" ").strip() + b"]\n",
    "a number": lambda _: b"3\n",
    "deep": lambda _: b"[" * 100_000 + b"\n",
    "deep in a table": lambda content: content.replace(
        b'"version": ', b'"version": ' + b"[" * 900 + b"]" * 900 + b', "x": ', 1
    ),
    "no number": lambda content: re.sub(rb": -?[0-9.]+(,?\n)", rb": NaN\1", content, count=1),
    "a number of 400 digits": lambda content: re.sub(
        rb"(: )-?[0-9.]+([,\n}])", rb"\g<1>" + b"9" * 400 + rb"\2", content, count=1
    ),
    "another kind": lambda _: b'{"schema": "peerlane-other/1", "version": "0.1.0"}\n',
    "another form": lambda content: re.sub(rb'("peerlane[a-z-]*)(/1)?"', rb'\1/2"', content),
    "TOML": lambda _: SCENARIO.encode(),
    "an empty object": lambda _: b"{}\n",
}


@every_file
def test_a_damaged_file_is_refused_with_its_name(
    peerlane: Run, copied: Path, file: str, reader: str
) -> None:
    path = copied / file
    content = path.read_bytes()
    tried = 0
    for damage in DAMAGES.values():
        if (damaged := damage(content)) != content:
            path.write_bytes(damaged)
            read(peerlane, file, reader).refuses(Path(file).name)
            tried += 1
    assert tried > 10


@every_file
def test_a_folder_in_the_place_of_a_file_is_refused(
    peerlane: Run, copied: Path, file: str, reader: str
) -> None:
    (copied / file).unlink()
    (copied / file).mkdir()
    read(peerlane, file, reader).refuses(Path(file).name, "is a directory")


@every_file
def test_a_document_of_another_command_is_refused(
    peerlane: Run, copied: Path, file: str, reader: str
) -> None:
    other = "fabric.json" if file != "fabric.json" else "result.json"
    whole = (copied / file).read_bytes()
    content = (copied / other).read_bytes()
    if reader == COMPARE:
        (copied / "other.json").write_bytes(content)
        peerlane("compare", file, "other.json").refuses("results of different commands")
        return
    (copied / file).write_bytes(
        content if file != JOURNAL else content.replace(b"\n", b" ") + b"\n"
    )
    assert whole != content
    read(peerlane, file, reader).refuses(Path(file).name)


def places(part: Any, *before: str | int) -> list[tuple[str | int, ...]]:
    """The paths of all values inside a document."""
    inner: Any = ()
    if isinstance(part, dict):
        inner = part.items()
    elif isinstance(part, list):
        inner = enumerate(part)
    found = [(*before, key) for key, _ in inner]
    for key, value in inner:
        found += places(value, *before, key)
    return found


def holder(document: Any, place: tuple[str | int, ...]) -> Any:
    for part in place[:-1]:
        document = document[part]
    return document


SAME: dict[type, Any] = {
    int: "5",
    float: "5",
    str: 5,
    bool: "yes",
    list: {},
    dict: [],
    type(None): {},
}
"""A value of another type for each type."""


@pytest.mark.parametrize("file", READERS)
def test_a_value_of_another_type_is_refused_with_its_place(
    peerlane: Run, copied: Path, file: str
) -> None:
    """Of each list one entry is tried, and of each field one of its places."""
    lines = (copied / file).read_text(encoding="utf-8").splitlines(keepends=True)
    texts = lines if file == JOURNAL else ["".join(lines)]
    tried = set()
    for number, text in enumerate(texts):
        for place in places(json.loads(text)):
            form = (number, *("*" if isinstance(part, int) else part for part in place))
            is_free = bool({"settings", "metrics", "values"} & set(map(str, place[:-1])))
            if form in tried or is_free:
                continue
            tried.add(form)
            document = json.loads(text)
            inner = holder(document, place)
            inner[place[-1]] = SAME[type(inner[place[-1]])]
            changed = json.dumps(document) + "\n" * (file == JOURNAL)
            content = "".join([*texts[:number], changed, *texts[number + 1 :]])
            (copied / file).write_text(content, encoding="utf-8")
            ran = read(peerlane, file, READERS[file][0])
            assert ran.status == 2, (place, inner[place[-1]], ran.out)
            ran.refuses(Path(file).name)
    assert tried


WRONG: tuple[tuple[str, str, Any, str], ...] = (
    ("result.json", "flows.0.bytes", "5", "flows.0.bytes: input should be a valid integer"),
    ("result.json", "flows", {}, "flows: "),
    ("result.json", "links", ..., "links: field required"),
    ("result.json", "flows.0.latency_ns.histogram_ps", "HISTFAAA", "it is no whole histogram"),
    ("points.json", "points.0.metrics", 5, "points.0.metrics"),
    ("points.json", "points.0.metrics", {"a": [1]}, "points.0.metrics"),
    ("points.json", "points.0.settings", [], "points.0.settings"),
)
"""A place of a document, a value that it cannot have, or none, and a part of the message."""


@pytest.mark.parametrize(("file", "path", "value", "words"), WRONG)
def test_a_wrong_value_is_refused_with_its_place(  # noqa: PLR0913, PLR0917 - fixtures
    peerlane: Run, copied: Path, file: str, path: str, value: Any, words: str
) -> None:
    document = json_of(copied, file)
    place = tuple(int(part) if part.isdecimal() else part for part in path.split("."))
    holder(document, place)[place[-1]] = value
    if value is ...:
        del document[path]
    (copied / "wrong.json").write_text(json.dumps(document), encoding="utf-8")
    peerlane("compare", file, "wrong.json").refuses("wrong.json", words)
    for reader in (COMPARE, PLOT):
        read(peerlane, "wrong.json", reader).refuses("wrong.json", words)


def test_a_pipe_is_read_like_a_file(peerlane: Run, copied: Path) -> None:
    os.mkfifo(copied / "pipe.json")
    with subprocess.Popen(["cp", "result.json", "pipe.json"], cwd=copied) as writer:
        ran = peerlane("compare", "result.json", "pipe.json")
    assert (ran.status, writer.returncode) == (0, 0)


LOADED: dict[str, Callable[[Path], object]] = {
    "expected.toml": expected.Expected.load,
    "claims.toml": claims.Claims.load,
    "sensitivity.toml": lambda folder: record.load(folder.name),
    "simulated.toml": simulated.load,
}


@pytest.mark.parametrize("file", LOADED)
def test_a_damaged_file_of_a_system_is_refused_with_its_name(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "folder_of", lambda _: tmp_path)
    content = (folder_of("rosta") / file).read_bytes()
    damages = (
        bytes(range(256)),
        content.decode().encode("utf-16"),
        cut(content)[:-5],
        b"a = " + b"[" * 100_000,
        b"[[figures]]\nrows = 5\n[[groups]]\nclaims = 5\n",
        b"figures = [5]\ngroups = [[]]\n",
        b"[[figures]]\nrows = [5]\n[[groups]]\nclaims = [{ row = 5 }]\n",
        b"title = 2020-01-01\n",
        b"figures = [{ rows = [{ kind = [], published = nan }] }]\ngroups = nan\n",
        b"groups = " + b"9" * 5000,
        (folder_of("rosta") / "scenario.toml").read_bytes(),
    )
    (tmp_path / file).write_bytes(content)
    LOADED[file](tmp_path)
    for damaged in damages:
        (tmp_path / file).write_bytes(damaged)
        with pytest.raises(FileError, match=file):
            LOADED[file](tmp_path)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([10**400, -1, 2**64, "\x1b[31m", "x" * 10_000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@st.composite
def mutants(draw: st.DrawFn, content: bytes) -> bytes:
    """A file with a few values replaced, left out or doubled, or with some bytes changed."""
    if draw(st.booleans()):
        start = draw(st.integers(0, len(content)))
        end = min(start + draw(st.integers(0, 40)), len(content))
        return content[:start] + draw(st.binary(max_size=20)) + content[end:]
    lines = content.decode().splitlines()
    is_lines = len(lines) > 1 and lines[0].endswith("}")
    which = draw(st.integers(0, len(lines) - 1)) if is_lines else 0
    document = json.loads(lines[which] if is_lines else content)
    for _ in range(draw(st.integers(1, 3))):
        if not (known := places(document)):
            break
        place = draw(st.sampled_from(known))
        inner = holder(document, place)
        what = draw(st.sampled_from(["replace", "leave out", "double"]))
        if what == "replace":
            inner[place[-1]] = draw(VALUES)
        elif what == "leave out":
            del inner[place[-1]]
        elif isinstance(inner, list):
            inner.append(inner[place[-1]])  # type: ignore[index]
    text = json.dumps(document, indent=None if is_lines else 2)
    if is_lines:
        return "".join(f"{one}\n" for one in [*lines[:which], text, *lines[which + 1 :]]).encode()
    return text.encode()


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.data())
@every_file
def test_no_change_of_a_file_makes_a_traceback(  # noqa: PLR0913, PLR0917 - fixtures
    peerlane: Run, written: Path, copied: Path, file: str, reader: str, drawn: st.DataObject
) -> None:
    for name in (JOURNAL, "t.csv"):
        (copied / name).unlink(missing_ok=True)
    (copied / file).write_bytes(drawn.draw(mutants((written / file).read_bytes())))
    ran = read(peerlane, file, reader)
    assert ran.status in {0, 1, 2}, ran.err
    lines = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == (ran.status != 0), ran.err
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", ran.err), ran.err
    if file == "pages/contents.json":
        shutil.rmtree(copied / "pages")
        shutil.copytree(written / "pages", copied / "pages")


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.data())
def test_no_change_of_a_trace_makes_another_error(
    written: Path, tmp_path: Path, drawn: st.DataObject
) -> None:
    content = b"".join((written / "trace.jsonl").read_bytes().splitlines(keepends=True)[:90])
    path = tmp_path / "trace.jsonl"
    path.write_bytes(drawn.draw(mutants(content)))
    try:
        flow_overheads(path)
    except FileError as error:
        assert re.search(r"trace\.jsonl:\d+: ", str(error))  # noqa: PT017 - the message


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
