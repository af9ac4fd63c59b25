"""A fabric built in code is the fabric of the scenario file."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import PAIR
from peerlane import Fabric, ScenarioError, Simulation


def pair() -> Fabric:
    fabric = Fabric("pair").links(generation=2, lanes=4).host("h0", memory="1 MiB")
    fabric.switch("s0", "h0").device("a", "s0").device("b", "s0", bar="64 KiB")
    return fabric.flow("a", "b", id="a-to-b", size="16 KiB")


def test_code_and_file_say_the_same() -> None:
    assert tomllib.loads(pair().to_toml()) == tomllib.loads(PAIR)


def test_code_and_file_do_the_same() -> None:
    assert pair().run() == Simulation(PAIR).run()


def test_a_link_s_settings_stand_with_the_link() -> None:
    fabric = Fabric().host("h0").device("d", "h0", lanes=8, port=2, tags=16)
    device = tomllib.loads(fabric.to_toml())["devices"]["d"]
    assert device == {"upstream": {"to": "h0", "lanes": 8, "port": 2}, "tags": 16}


def test_none_takes_a_setting_away() -> None:
    fabric = pair().set("b", bar=None, max_payload="128 B")
    devices = tomllib.loads(fabric.to_toml())["devices"]
    assert devices["b"] == {"upstream": {"to": "s0"}, "max_payload": "128 B"}


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="'a' is already"):
        pair().device("a", "s0")


def test_a_node_that_is_not_there_cannot_be_set() -> None:
    with pytest.raises(KeyError, match="nobody"):
        pair().set("nobody", bar="1 KiB")


def test_a_copy_is_its_own_fabric() -> None:
    first = pair()
    second = first.copy().set("b", bar="4 KiB")
    assert first.to_toml() != second.to_toml()


def test_an_error_names_the_fabric_and_the_parameter() -> None:
    with pytest.raises(ScenarioError, match=r"<pair>.*lanes"):
        pair().links(lanes=3).simulation()


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)


@given(st.dictionaries(names, values, max_size=4), names, names)
def test_what_is_written_is_read_back(
    settings: dict[str, str | int | float | bool], host: str, flow: str
) -> None:
    fabric = Fabric("any").flow("a", 0xC000_0000, id=flow)
    fabric._add("hosts", host, settings)
    read = tomllib.loads(fabric.to_toml())
    assert read["hosts"] == {host: settings}
    assert read["flows"] == [{"id": flow, "from": "a", "to": "0xc0000000"}]
    assert Fabric.from_toml(fabric.to_toml()).to_toml() == fabric.to_toml()
