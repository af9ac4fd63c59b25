"""Results as Parquet: the numbers of the JSON, in tables that other programs read."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from peerlane import Fabric, RunResult
from peerlane.errors import MissingPackageError
from peerlane.results.parquet import table_files

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run, Write


def ran(**flow: Any) -> RunResult:
    """A run with samples and waits of a read, a write, and a flow that does both."""
    fabric = Fabric("tables").links(generation=3, lanes=4).host("h").switch("s", "h")
    fabric.device("d{i}", "s", each="i = 0..2")
    ways: list[Any] = ["read", "write", "both"]
    for number, way in enumerate(ways):
        fabric.flow(f"d{number}", "h", id=way, direction=way, size="64 KiB", **flow)
    simulation = fabric.simulation()
    simulation.watch_waits()
    simulation.sample(every="1 us")
    return simulation.run()


def flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The fields of an entry of the JSON, those of inner objects with joined names."""
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}_")
        else:
            found[prefix + name] = value
    return found


def test_every_list_of_the_json_is_a_table_with_the_same_numbers(tmp_path: Path) -> None:
    result = ran()
    document = json.loads(json.dumps(result.to_json()))
    files = {path.stem: pq.read_table(path) for path in result.to_parquet(tmp_path / "new")}
    lists = [name for name, value in document.items() if isinstance(value, list) and value]
    assert {"flows", "links", "waits"} <= set(lists) - {"measured_ns"} <= set(files)
    for name in ("flows", "links", "waits"):
        for row, entry in zip(files[name].to_pylist(), document[name], strict=True):
            numbers = {key: v for key, v in flat(entry).items() if not isinstance(v, list)}
            assert {key: row[key] for key in numbers} == numbers
    assert files["run"].to_pylist()[0]["simulated_ns"] == result.simulated_ns
    assert files["flows_directions"].column("flows_id").to_pylist() == ["both", "both"]
    shares = files["waits_shares"].to_pandas().groupby("waits_id")["share"].sum()
    assert shares.tolist() == pytest.approx([1.0] * 3)


def test_samples_are_a_row_for_each_interval(tmp_path: Path) -> None:
    result = ran()
    result.to_parquet(tmp_path)
    series = result.series
    assert series is not None
    links = pd.read_parquet(tmp_path / "series_links.parquet")
    assert len(links) == len(series.end_ns) * len(series.links)
    up = links[(links["id"] == "s-d1") & (links["direction"] == "up")]
    assert tuple(up["utilisation"]) == series.links["s-d1", "up"].utilisation
    assert tuple(up["end_ns"]) == series.end_ns


def test_types_do_not_depend_on_the_values(tmp_path: Path) -> None:
    """A rate that was never observed is missing, in a column of numbers."""
    fabric = Fabric("none").host("h").device("d", "h")
    nothing = fabric.flow("d", "h", id="f", size="1 KiB").simulation().result()
    nothing.to_parquet(tmp_path)
    before = pq.read_schema(tmp_path / "flows.parquet")
    ran().to_parquet(tmp_path)
    after = pq.read_schema(tmp_path / "flows.parquet")
    assert before.equals(after)
    assert after.field("bytes_per_second").type == pa.float64()
    assert after.field("bytes").type == pa.int64()


def test_a_table_without_rows_leaves_no_file_of_an_earlier_run(tmp_path: Path) -> None:
    ran().to_parquet(tmp_path)
    (tmp_path / "mine.parquet").write_bytes(b"")
    names = {path.name for path in Fabric("empty").host("h").run().to_parquet(tmp_path)}
    assert {path.name for path in tmp_path.iterdir()} == names | {"mine.parquet"}


def test_the_command_line_writes_tables(peerlane: Run, scenario: Write, tmp_path: Path) -> None:
    file = scenario()
    peerlane("run", file, "--parquet", "tables", "--interval", "1us", "--json", "r.json").succeeds()
    document = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    (run,) = pq.read_table(tmp_path / "tables/run.parquet").to_pylist()
    assert run["scenario_digest"] == document["scenario_digest"]
    assert run["command"][:2] == ["peerlane", "run"]
    assert (tmp_path / "tables/series_links.parquet").exists()
    peerlane("run", file, "--parquet", file).refuses("is a file; name a folder")
    peerlane("run", file, "--parquet", "no/folder").refuses("there is no folder")
    peerlane("run", file, "--parquet", "t", "--repeat", "2").refuses("--parquet is for a single")
    peerlane("run", file, "--parquet", "-").refuses("name a folder")
    peerlane("run", file, "--parquet", f"{file}/tables").refuses("fabric.toml is not a folder")
    peerlane("run", file, "--parquet", "").refuses("the name is empty; name a folder")
    (tmp_path / "dangling").symlink_to("nowhere")
    peerlane("run", file, "--parquet", "dangling").refuses("dangling is a file")
    for table in ("flows", "waits_shares", "series_links", "run"):
        (tmp_path / table / f"{table}.parquet").mkdir(parents=True)
        peerlane("run", file, "--parquet", table).refuses(f"has a folder {table}.parquet")
    (tmp_path / "t" / "mine.parquet").mkdir(parents=True)
    assert peerlane("run", file, "--parquet", "t").status == 0
    inside = ("--json", "t/flows.parquet")
    peerlane("run", file, "--parquet", "t", *inside).refuses("--json", "table of --parquet")


def test_the_files_of_all_tables_are_known_before_a_run(tmp_path: Path) -> None:
    written = {path.name for path in ran().to_parquet(tmp_path)}
    assert written <= set(table_files(RunResult))


def test_without_pyarrow_the_message_says_how_to_get_it(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    peerlane("run", scenario(), "--parquet", "t").refuses(
        "pip install 'peerlane[parquet]'", status=1
    )
    with pytest.raises(MissingPackageError, match="needs pyarrow"):
        ran().to_parquet(tmp_path)
