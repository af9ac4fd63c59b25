"""Any key of any scenario is set by its path: in code, and with `--set`."""

from __future__ import annotations

import json
import pickle
import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from conftest import PAIR, ROOT, SHIPPED, needs_lspci
from peerlane import Fabric, ScenarioError, Simulation
from peerlane._core import Scenario
from peerlane.dotted import join_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conftest import Run, Write


def keys(table: dict[str, Any], *before: str) -> Iterator[tuple[tuple[str, ...], object]]:
    """The path of every key that a scenario writes; the entry of a list stands by its id."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from keys(value, *before, key)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for number, entry in enumerate(value, 1):
                ends = f"{entry.get('from')}-{entry.get('to')}"
                singular = key[:-1] if key in {"flows", "collectives", "incidents"} else key
                one = ends if key in {"cables", "fibres"} else f"{singular}-{number}"
                yield from keys(entry, key, entry.get("id", one))
        else:
            yield (*before, key), value


@pytest.mark.parametrize("name", SHIPPED)
def test_every_key_of_every_scenario_is_found_and_set_by_its_path(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    scenario = Scenario.parse(text, name)
    assert tomllib.loads(scenario.to_toml()) == tables
    found = list(keys(tables))
    assert found
    for parts, value in found:
        one = join_path(parts)
        assert scenario.get(one) == value
        changed = scenario.copy()
        if parts[-1] not in {"id", "from", "to"}:  # by which the entry is found
            changed.set(one, None)
            assert changed.get(one) is None
        changed.set(one, value)
        assert tomllib.loads(changed.to_toml()) == tables


def test_a_key_that_the_file_does_not_write_is_set() -> None:
    fabric = Fabric.from_toml(PAIR).override("measure.from", "1 us").override("seed", 7)
    fabric.override("links.s0-b.lanes", 2).override("devices.*.tags", 4)
    scenario = tomllib.loads(fabric.to_toml())
    assert scenario["measure"] == {"from": "1 us"}
    assert scenario["seed"] == 7
    assert scenario["devices"]["b"]["upstream"] == {"to": "s0", "lanes": 2}
    assert [scenario["devices"][name]["tags"] for name in "ab"] == [4, 4]


def test_a_link_is_found_where_its_node_names_only_the_node_above() -> None:
    scenario = Scenario.parse('devices.a.upstream = "h0"')
    scenario.set("links.h0-a.lanes", 2)
    assert scenario.get("devices.a.upstream") == {"to": "h0", "lanes": 2}


def test_every_means_those_whose_model_has_the_key() -> None:
    scenario = Scenario.parse('[devices.a]\n[devices.r]\nmodel = "reflector"')
    scenario.set("devices.*.tags", 4)
    assert [scenario.get(f"devices.{name}.tags") for name in "ar"] == [4, None]


def test_a_key_of_several_entries_says_which() -> None:
    fabric = Fabric.from_toml(PAIR).flow("b", "a", size="4 KiB")
    with pytest.raises(ScenarioError, match=r"flows.a-to-b.size for one of them, or flows.\*.size"):
        fabric.override("flows.size", "8 KiB")
    fabric.override("flows.flow-2.size", "8 KiB").override("flows.*.direction", "read")
    assert [flow["direction"] for flow in tomllib.loads(fabric.to_toml())["flows"]] == ["read"] * 2


def test_a_run_has_its_keys_set(peerlane: Run, scenario: Write) -> None:
    outcome = peerlane(
        *("run", scenario(), "--json", "-"),
        *("--set", "flows.a-to-b.size=4 KiB", "--set", "seed=5", "--set", "links.generation=3"),
    )
    document = json.loads(outcome.out)
    assert (document["flows"][0]["bytes"], document["seed"]) == (4096, 5)


@pytest.mark.parametrize(
    "command",
    [
        ("run",),
        ("run", "--repeat", "2"),
        ("explain", "--no-what-if"),
        ("sweep", "--vary", "flows.a-to-b.size=4 KiB"),
    ],
)
def test_a_scenario_without_a_name_has_that_of_its_file_whatever_is_set(
    peerlane: Run, scenario: Write, command: tuple[str, ...]
) -> None:
    file = scenario(('name = "pair"\n', "")).rename("pair.v2.toml")
    for settings in ([], ["--set", "devices.a.tags=8"], ["--set", "links.generation=3"]):
        outcome = peerlane(*command, file, *settings, "--json", "-")
        assert json.loads(outcome.out)["name"] == "pair.v2"
    named = peerlane("run", file, "--set", "name=x.y", "--json", "-")
    assert json.loads(named.out)["name"] == "x.y"


def test_what_is_shown_of_a_fabric_has_its_keys_set(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    setting = ("--set", "links.s0-b.lanes=2")
    nodes = json.loads(peerlane("show", file, *setting, "--json", "-").out)["nodes"]
    assert [node["upstream"]["lanes"] for node in nodes if node["name"] == "b"] == [2]
    peerlane("show", file, "--set", "devices.a.tgas=1").refuses("did you mean", "tags")


@needs_lspci
def test_lspci_reads_registers_of_a_fabric_with_its_keys_set(
    peerlane: Run, scenario: Write
) -> None:
    listed = ("lspci", scenario(), "--set", "links.s0-b.lanes=2", "--after-run", "--seed", "3")
    assert "Width x2" in peerlane(*listed, "--", "-vv").out
    assert "Width x2" not in peerlane("lspci", scenario(), "--", "-vv").out


def test_links_that_a_key_of_all_links_does_not_change_are_warned_of(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(('upstream = { to = "s0" }', 'upstream = { to = "s0", lanes = 2 }'))
    told = "links.lanes does not change s0-a, s0-b, whose own value stays; set links.s0-a.lanes"
    assert told in peerlane("run", file, "--set", "links.lanes=8").err
    assert told in peerlane("sweep", file, "--vary", "links.lanes=4,8").err
    assert not peerlane("run", file, "--set", "links.generation=3").err


def test_a_run_refuses_settings_that_set_nothing(peerlane: Run, scenario: Write) -> None:
    file = scenario()
    peerlane("run", file, "--set", "devices.a.tags").refuses("KEY=VALUE")
    peerlane("run", file, "--set", "devices.a.tags=").refuses("no value")
    peerlane("run", file, "--set", "devices.a.tgas=1").refuses("did you mean", "tags")
    peerlane("run", file, "--set", "devices.a.tags=x").refuses("fabric.toml with devices.a.tags=x:")
    scenario(text="[[[")
    peerlane("run", file, "--set", "devices.a.tags=1").refuses("fabric.toml:1")


def test_an_error_beside_a_setting_names_the_line_of_the_file(
    peerlane: Run, scenario: Write
) -> None:
    file = scenario(('to = "b"', 'to = "c"'))
    line = next(n for n, row in enumerate(file.read_text().splitlines(), 1) if 'to = "c"' in row)
    refused = peerlane("run", file, "--set", "devices.a.tags=8")
    refused.refuses(f"fabric.toml:{line} with devices.a.tags=8: ")


def test_a_value_in_a_run_is_written_or_of_a_profile_or_the_default() -> None:
    text = PAIR + '\n[profiles.mine]\nbase = "plx"\ntags = 5\n'
    scenario = Scenario.parse(text, "pair.toml")
    assert scenario.effective("devices.a.tags") == (32, "default", None)
    scenario.set("devices.a.profile", "mine")
    value, origin, line = scenario.effective("devices.a.tags")
    assert (value, origin) == (5, "profile mine")
    assert line == text.splitlines().index("tags = 5") + 1
    scenario.set("devices.a.tags", 7)
    assert scenario.effective("devices.a.tags") == (7, "written", None)
    assert scenario.effective("links.s0-a.lanes")[1] == "written"


def test_a_scenario_that_another_process_gets_keeps_its_lines() -> None:
    devices = '[devices."d{i}"]\neach = "i = 0..1"\nupstream = "h"\ntags = 0\n'
    text = f"[links]\nlanes = 4\n[hosts.h]\n{devices}"
    scenario = Scenario.parse(text, "sent.toml")
    scenario.set("seed", 7)
    scenario.write_out()
    received = pickle.loads(pickle.dumps(scenario))  # noqa: S301 - we made it
    assert received.effective("links.lanes") == (4, "written", 2)
    assert received.effective("seed") == (7, "written", None)
    assert received.to_toml() == scenario.to_toml()
    for one in (scenario, received):
        with pytest.raises(
            ScenarioError, match=r"^sent.toml:7: devices.d0.tags: 0 is out of range"
        ):
            Simulation(one)
