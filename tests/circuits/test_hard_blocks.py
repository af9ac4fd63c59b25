"""Circuits with the ports of a hard block, which is simulated between them and the fabric."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from peerlane import Fabric
from peerlane.circuits import Source, build, load, ports
from peerlane.circuits.hard_blocks import XilinxUs

if TYPE_CHECKING:
    from pathlib import Path

    from peerlane import Simulation

WIDTHS = (64, 256, 512)
SIZE = 64
"""Bytes that the circuit copies."""


def with_copier(width: int) -> Simulation:
    """A host, a device with memory, and the circuit `us_copier`."""
    fabric = Fabric("us").host("h0", memory="16 MiB").switch("s0", "h0")
    fabric.device("d0", "s0", bar="4 KiB", datapath=f"{width // 8} B", circuit="us_copier")
    return fabric.device("d1", "s0", bar="1 MiB", bar_address_bits=32).simulation()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("where", ["h0", "d1"])
def test_requests_and_completions_have_the_bytes_of_their_descriptors(
    width: int, where: str
) -> None:
    """With headers of four words to the host's memory, and of three words to the peer's."""
    simulation = with_copier(width)
    nodes = simulation.tree().nodes
    host, memory = simulation.node("h0"), simulation.node(where)
    (registers, *_), (region, *_) = nodes["d0"].regions, nodes[where].regions
    assert (region.base >= 1 << 32) == (where == "h0"), "both kinds of headers are tried"
    for count in range(1, 4):
        begin = region.base + 4096 * count
        data = random.Random(width + count).randbytes(SIZE)
        memory.fill(begin, data)
        host.write(registers.base, (begin // 16).to_bytes(4, "little"))
        for _ in range(20):
            if int.from_bytes(host.read(registers.base, 4), "little") == count:
                break
        else:
            pytest.fail(f"copy {count} does not end")
        assert memory.memory(begin + SIZE, SIZE) == data
    assert simulation.run().failures == []


def has(**changed: ports.Port | None) -> ports.Ports:
    """The ports of `us_copier` at 256 bits; a port may be another one."""
    streams = {
        "s_axis_cq": ("input", 88),
        "m_axis_cc": ("output", 33),
        "m_axis_rq": ("output", 62),
        "s_axis_rc": ("input", 75),
    }
    found = {"user_clk": ports.Port("input", 1), "user_reset": ports.Port("input", 1)}
    for name, (way, user) in streams.items():
        back = "input" if way == "output" else "output"
        bits = {"tdata": 256, "tkeep": 8, "tuser": user, "tlast": 1, "tvalid": 1}
        found |= {f"{name}_{signal}": ports.Port(way, count) for signal, count in bits.items()}
        found[f"{name}_tready"] = ports.Port(back, 1)
    return {name: port for name, port in (found | changed).items() if port is not None}


def without(stream: str) -> ports.Ports:
    return {name: port for name, port in has().items() if f"_{stream}_" not in name}


def test_ports_of_the_block_are_accepted() -> None:
    block = XilinxUs()
    assert block.width(has()) == 256
    assert block.fault(has(), 256) is None
    pair = {name: port for name, port in without("rq").items() if "_rc_" not in name}
    assert block.fault(pair, 256) is None, "CQ and CC alone"
    renamed = {name.replace("m_axis_rq", "s_axis_rq"): port for name, port in has().items()}
    assert block.fault(renamed, 256) is None, "named as at the block"


@pytest.mark.parametrize(
    ("ports_of_it", "says"),
    [
        (without("rc"), "it has the stream rq and not rc"),
        (without("cq"), "it has the stream cc and not cq"),
        (has(m_axis_rq_tlast=None), "the stream rq has no tlast (output of 1 bit)"),
        (
            has(s_axis_rc_tuser=ports.Port("input", 60)),
            "s_axis_rc_tuser is an input of 60 bits; it must be an input of 75 bits or more",
        ),
        (
            has(m_axis_cc_tkeep=ports.Port("output", 32)),
            "its port m_axis_cc_tkeep is an output of 32 bits; it must be an output of 8 bits",
        ),
        (has(s_axis_cq_tready=ports.Port("input", 1)), "it must be an output of 1 bit"),
        (has(cfg_power=ports.Port("input", 1)), "it has a port cfg_power, which is not simulated"),
        (has(user_clk=None), "it has no clock; write user_clk or clk"),
        (
            has(pcie_cq_np_req=ports.Port("output", 3)),
            "it must be an output of 1 bit or output of 2 bits",
        ),
        ({"user_clk": ports.Port("input", 1)}, "it has no stream"),
    ],
)
def test_the_first_wrong_port_is_named(ports_of_it: ports.Ports, says: str) -> None:
    found = XilinxUs().fault(ports_of_it, 256)
    assert found is not None
    assert says in found


IDLE = """
module idle (
  input user_clk, output [63:0] m_axis_rq_tdata, output [1:0] m_axis_rq_tkeep,
  output [59:0] m_axis_rq_tuser, output m_axis_rq_tlast, m_axis_rq_tvalid, input m_axis_rq_tready,
  input [63:0] s_axis_rc_tdata, input [1:0] s_axis_rc_tkeep, input [74:0] s_axis_rc_tuser,
  input s_axis_rc_tlast, s_axis_rc_tvalid, output s_axis_rc_tready
);
  assign {m_axis_rq_tdata, m_axis_rq_tkeep, m_axis_rq_tuser, m_axis_rq_tlast} = '0;
  assign {m_axis_rq_tvalid, s_axis_rc_tready} = 2'b01;
endmodule
"""


def test_a_request_to_a_circuit_without_cq_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "idle.sv").write_text(IDLE, encoding="utf-8")
    source = Source([tmp_path / "idle.sv"], "idle", port_set=XilinxUs())
    load(build(source, tmp_path / "libidle.so", waves=False, optimise=0))
    fabric = Fabric("us").host("h0", memory="16 MiB").device("a", "h0")
    fabric.device("d0", "h0", bar="1 MiB", datapath="8 B", circuit="idle")
    result = fabric.flow("h0", "d0", size="64 KiB").run()
    (stopped,) = result.stopped_circuits
    assert "the circuit has no CQ: leave out the BAR" in stopped
