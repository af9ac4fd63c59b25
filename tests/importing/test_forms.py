"""Files of any form become the machine that they describe, alone and together."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importing.forms import (
    GPU,
    NIC,
    SWITCH,
    Drawn,
    Node,
    drawn,
    hwloc,
    lspci,
    matrix,
    nccl,
    nvidia_smi,
)
from peerlane import Simulation
from peerlane.importing import ListingError, machine_of, scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Run
    from peerlane import Tree

Link = tuple[str, int, int, int | None]
MAKERS = {"lspci": lspci, "nccl": nccl, "hwloc": hwloc, "nvidia_smi": nvidia_smi}


def imported(**files: str) -> str:
    contents = [(text.encode(), name) for name, text in files.items()]
    return scenario_of(machine_of(contents), with_left_out=True)


def tree(**files: str) -> Tree:
    return Simulation(imported(**files)).tree()


def links(fabric: Tree) -> dict[str, Link]:
    return {
        node.name: (up.to, up.generation, up.lanes, (up.socket or 0) if up.to == "host" else None)
        for node in fabric.nodes
        if (up := node.upstream)
    }


def ways(fabric: Tree) -> dict[str, tuple[object, ...]]:
    """The ways to devices of a fabric; the root ports of a socket are of one host bridge."""

    def way(name: str) -> tuple[object, ...]:
        up = fabric.nodes[name].upstream
        assert up
        if up.to == "host":
            return (up.socket or 0, 0, (up.socket, up.port))
        return (*way(up.to), up.to)

    names = sorted(node.name for node in fabric.nodes if node.upstream)
    return {name: way(name) for name in names if not name.startswith("sw-")}


def without_bridges(cells: list[list[str]]) -> list[list[str]]:
    return [["PHB" if cell == "NODE" else cell for cell in row] for row in cells]


@given(drawn())
def test_a_table_gives_a_fabric_with_the_same_table(machine: Drawn) -> None:
    table = matrix(machine.devices())
    for affinity in (True, False):
        fabric = tree(nvidia_smi=nvidia_smi(machine, affinity=affinity))
        assert matrix(ways(fabric)) == without_bridges(table)


@given(drawn(), st.data())
def test_a_changed_table_is_refused_or_given_back(machine: Drawn, data: st.DataObject) -> None:
    cells = matrix(machine.devices())
    pairs = list(combinations(range(len(cells)), 2))
    one, other = data.draw(st.sampled_from(pairs or [(0, 0)]))
    if one != other:
        cells[one][other] = cells[other][one] = data.draw(
            st.sampled_from(["PIX", "PXB", "PHB", "NODE", "SYS"])
        )
    try:
        fabric = tree(nvidia_smi=nvidia_smi(machine, cells=cells, affinity=False))
    except ListingError as error:
        refusal = str(error)
    else:
        assert matrix(ways(fabric)) == without_bridges(cells)
        return
    assert re.match(r"inconsistent: nvidia_smi:\d+ says .*, nvidia_smi:\d+ says ", refusal)


@given(drawn())
def test_each_form_with_a_tree_gives_the_same_tree(machine: Drawn) -> None:
    expected = machine.expected()
    assert links(tree(nccl=nccl(machine))) == expected
    assert links(tree(hwloc=hwloc(machine))) == expected
    assert links(tree(lspci=lspci(machine), hwloc=hwloc(machine))) == expected
    together = {name: make(machine) for name, make in MAKERS.items()}
    assert links(tree(**together)) == expected


def two_gpus() -> Drawn:
    """GPUs below two switches of one socket, a network card beside the first."""
    near = [Node(SWITCH, [Node(GPU), Node(NIC)]), Node(SWITCH, [Node(GPU)])]
    return Drawn([[near], [[Node(GPU)]]])


@pytest.mark.parametrize(
    ("form", "old", "new", "others"),
    [
        ("nccl", 'numaid="0"', 'numaid="7"', "lspci hwloc nvidia_smi"),
        ("hwloc", "10de:2331", "10de:2330", "lspci nccl"),
        ("nccl", 'link_width="16"', 'link_width="8"', "lspci"),
        ("hwloc", 'name="nvml0"', 'name="nvml1"', "nccl"),
        ("nccl", 'busid="0000:05:00.0"', 'busid="0000:06:00.0"', "lspci hwloc"),
        ("nvidia_smi", "\t0-15\t0\t", "\t0-15\t5\t", "lspci hwloc nccl"),
    ],
)
def test_files_that_state_different_values_are_refused(
    peerlane: Run, form: str, old: str, new: str, others: str
) -> None:
    machine = two_gpus()
    changed = MAKERS[form](machine).replace(old, new)
    assert changed != MAKERS[form](machine)
    Path("one").write_text(changed, encoding="utf-8")
    for other in others.split():
        Path("other").write_text(MAKERS[other](machine), encoding="utf-8")
        peerlane("import", "machine", "one", "other").refuses("inconsistent: ", "one:", "other:")


def test_a_path_of_a_table_that_the_tree_denies_is_refused() -> None:
    machine = two_gpus()
    cells = matrix(machine.devices())
    cells[0][1] = cells[1][0] = "PIX"
    with pytest.raises(
        ListingError, match=r"inconsistent: lspci:\d+ says .*PHB, nvidia_smi:2 says"
    ):
        imported(lspci=lspci(machine), nvidia_smi=nvidia_smi(machine, cells=cells))


def test_gpus_of_a_listing_are_numbered_in_the_order_of_their_slots() -> None:
    machine = two_gpus()
    fabric = links(tree(lspci=lspci(machine), nvidia_smi=nvidia_smi(machine)))
    assert [fabric[f"gpu{n}"] for n in range(3)] == [
        machine.expected()[f"gpu{n}"] for n in range(3)
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\t", "    "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\tGPU0\t", "\t\x1b[4mGPU0\t", 1).replace(
            "ID\n", "ID\x1b[0m\n", 1
        ),
        lambda text: f"$ nvidia-smi topo -m\n```\n{text}```\n",
    ],
    ids=["spaces", "crlf", "underlined", "pasted"],
)
def test_how_a_table_was_copied_changes_nothing(change: Callable[[str], str]) -> None:
    text = nvidia_smi(two_gpus())
    assert change(text) != text
    assert imported(nvidia_smi=change(text)) == imported(nvidia_smi=text)


def test_several_switches_below_one_root_port_are_as_few_as_can_be() -> None:
    below = Node(SWITCH, [Node(SWITCH, [Node(GPU), Node(NIC)]), Node(SWITCH, [Node(GPU)])])
    fabric = links(tree(nvidia_smi=nvidia_smi(Drawn([[[below]]]))))
    assert sorted(fabric) == ["gpu0", "gpu1", "mlx5_0", "sw-0", "sw-1"]
    assert fabric["gpu0"][0] == fabric["mlx5_0"][0] != fabric["gpu1"][0]


def table(*rows: str) -> str:
    names = [row.split()[0] for row in rows]
    lines = ["\t" + "\t".join(names) + "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"]
    return "\n".join([*lines, *rows, ""])


class TestLeftOut:
    """What a scenario does not represent has a comment with its file and line."""

    def test_nvlinks_are_named(self) -> None:
        machine = two_gpus()
        link = '<nvlink target="0000:07:00.0" count="4" tclass="0x068000"/></gpu>'
        xml = nccl(machine).replace('rank="0" gdr="1"/>', f'rank="0" gdr="1">{link}')
        line = next(n for n, text in enumerate(xml.splitlines(), 1) if "<nvlink" in text)
        assert f"# not here: nccl:{line}: NVLink, target 0000:07:00.0 count 4" in imported(nccl=xml)
        text = table("GPU0 X NV18 0-7 0 N/A", "GPU1 NV18 X 8-15 1 N/A")
        assert "# not here: nvidia_smi:2: NV18 between GPU0 and GPU1" in imported(nvidia_smi=text)
        assert [way[0] for way in ways(tree(nvidia_smi=text)).values()] == [0, 1]

    @pytest.mark.parametrize(
        ("form", "old", "new", "comment"),
        [
            ("nccl", '<gpu dev="0"', '<gpu speedy="1" dev="0"', "speedy of <gpu> is not"),
            ("nccl", "</cpu>", "<cxl/></cpu>", "<cxl> is not understood"),
            ("hwloc", "<object type=.PU. os_index=.0./>", '<object type="New"/>', "an object New"),
            ("nvidia_smi", "Legend:", "Remarks: none", "Remarks: none"),
            ("nvidia_smi", "PHB", "P2P", "'P2P' between GPU0 and GPU1 is not understood"),
        ],
    )
    def test_what_is_not_understood_is_named(
        self, form: str, old: str, new: str, comment: str
    ) -> None:
        text = re.sub(old, new, MAKERS[form](two_gpus()), count=1)
        line = next(n for n, row in enumerate(text.splitlines(), 1) if new in row)
        assert f"# not here: {form}:{line}: {comment}" in imported(**{form: text})
        brief = scenario_of(machine_of([(text.encode(), form)]))
        assert "# Left out: 1 " in brief
        assert "not here" not in brief

    def test_far_paths_within_a_numa_node_are_named(self) -> None:
        """Some machines have such tables; the affinity of the CPU decides the socket."""
        text = table("GPU0 X SYS 0-7 0 N/A", "GPU1 SYS X 0-7 0 N/A")
        assert "nvidia_smi:2: SYS between GPU0 and GPU1, which" in imported(nvidia_smi=text)
        assert "sockets = " not in imported(nvidia_smi=text)


ROCM = """
======================= ROCm System Management Interface =======================
============================ Hops between two GPUs =============================
       GPU0         GPU1         GPU2
GPU0   0            2            3
GPU1   2            0            3
GPU2   3            3            0

========================== Link Type between two GPUs ==========================
       GPU0         GPU1         GPU2
GPU0   0            PCIE         PCIE
GPU1   PCIE         0            PCIE
GPU2   PCIE         PCIE         0

================================== Numa Nodes ==================================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[0]\t\t: (Topology) Numa Affinity: 0
GPU[1]\t\t: (Topology) Numa Node: 0
GPU[2]\t\t: (Topology) Numa Node: 1
============================= End of ROCm SMI Log ==============================
"""


class TestRocm:
    """Tables of `rocm-smi` have sockets, and no switches."""

    def test_hops_are_sockets(self) -> None:
        hops, _, nodes = ROCM.partition("=== Numa")
        for text in (ROCM, hops):
            sockets = {name: way[0] for name, way in ways(tree(rocm=text)).items()}
            assert sockets == {"gpu0": 0, "gpu1": 0, "gpu2": 1}, nodes

    def test_xgmi_is_left_out(self) -> None:
        text = imported(rocm=re.sub(r"(?m)^(GPU0 .*)PCIE( +)PCIE", r"\1XGMI\2PCIE", ROCM))
        assert "# not here: rocm:11: XGMI between GPU0 and GPU1: not PCI Express" in text

    def test_bus_numbers_find_the_functions_of_a_listing(self) -> None:
        machine = two_gpus()
        slots = ("0000:03:00.0", "0000:07:00.0", "0000:09:00.0")
        buses = "".join(f"GPU[{n}] : PCI Bus: {slot}\n" for n, slot in enumerate(slots))
        fabric = links(tree(lspci=lspci(machine), rocm=ROCM + buses))
        assert fabric["gpu2"] == machine.expected()["gpu2"]
        swapped = buses.replace("0000:07", "0000:xx").replace("0000:09", "0000:07")
        with pytest.raises(ListingError, match=r"inconsistent: .*the NUMA node of 0000:09"):
            imported(lspci=lspci(machine), rocm=ROCM + swapped.replace("0000:xx", "0000:09"))


class TestHwloc:
    """hwloc has the data rate of links, and all bridges."""

    def test_a_width_is_the_widest_one_or_the_one_of_nccl(self) -> None:
        machine = two_gpus()
        xml = hwloc(machine).replace("63.015385", "15.753846")
        assert links(tree(hwloc=xml))["gpu0"][1:3] == (3, 16)
        narrow = nccl(machine).replace('link_width="16"', 'link_width="8"')
        assert links(tree(hwloc=xml, nccl=narrow))["gpu0"][1:3] == (4, 8)
        drive = xml.replace("0302 [10de:2331]", "0108 [144d:a824]")
        assert links(tree(hwloc=drive))["gpu0"][1:3] == (5, 4)

    def test_packages_are_sockets(self) -> None:
        xml = hwloc(Drawn([[[Node(GPU)]], [[Node(GPU)]], [[Node(GPU)]]]))
        xml = xml.replace('"Package" os_index="1"', '"Package" os_index="0"')
        assert [link[3] for link in links(tree(hwloc=xml)).values()] == [0, 0, 1]

    def test_a_bridge_to_conventional_pci_is_no_switch(self) -> None:
        xml = hwloc(Drawn([[[Node(SWITCH, [Node(GPU)]), Node(GPU)]]]))
        port = re.search(r'<object type="Bridge"[^>]*pci_busid="0000:02:00.0"[^>]*>', xml)
        assert port
        xml = xml.replace(port[0], "").replace("</object>", "", 1).replace("0000:03", "0000:02")
        assert "# not here: 0000:01:00.0 PCI bridge" in (text := imported(hwloc=xml))
        assert "# not here: 0000:02:00.0 3D controller" in text


def test_a_link_without_speed_has_the_default() -> None:
    xml = nccl(two_gpus()).replace('link_speed="32.0 GT/s PCIe"', 'link_speed=""')
    assert "lanes = 16 }  # the default speed, for the file has none" in imported(nccl=xml)


def test_gpus_of_a_table_are_gpus_and_other_devices_are_not() -> None:
    text = imported(nvidia_smi=table("GPU0 X PIX PIX", "GPU1 PIX X PIX", "NIC0 PIX PIX X"))
    assert text.count('model = "gpu"  # a GPU\nprofile = "generic"  # a GPU\n') == 2
    assert text.count("model = ") == 2


def test_known_devices_have_their_names() -> None:
    text = imported(nccl=nccl(two_gpus()))
    assert text.count('profile = "nvidia-h100-pcie"  # NVIDIA H100 PCIe\n') == 3
    assert "Broadcom PEX890xx" in text


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([nccl(two_gpus()), nccl(two_gpus())], ["f1: f0 is also of", "one file of each form"]),
        (["hello\n"], ["f0: the form of this file is not known", "nvidia-smi topo -m"]),
        (["<system>"], ["f0:1: ", "no complete XML"]),
        (["<system/>"], ["f0:1: no <pci>"]),
        (["<system>" + "<cpu>" * 300], ["f0:1: ", "more elements are inside each other"]),
        (["<topology/>"], ["f0:1: no PCI device", "lstopo --of xml"]),
        (['<!DOCTYPE x [<!ENTITY a "b">]><system/>'], ["f0:1: ", "<!ENTITY>"]),
        ([table("GPU0 X 0 0 N/A").replace("GPU0\tCPU", "GPU0\tGPU1\tCPU")], ["f0: no row of GPU1"]),
        ([table("GPU0 X PIX", "GPU1 SYS X")], ["inconsistent: f0:2 says", "PIX, f0:3 says SYS"]),
        ([table("GPU0 X PIX 0 0 -", "GPU1 PIX X 0 1 -")], ["f0:2 says", "f0:3 says 1 of GPU1"]),
        ([ROCM.replace("GPU1   2            0", "GPU1   2")], ["f0:6: the row of GPU1 has 2 of 3"]),
        (
            [lspci(two_gpus()), nccl(two_gpus()).replace("00:09:00", "00:0a:00")],
            ["f1:18 says", "f0 has none"],
        ),
    ],
)
def test_a_wrong_file(peerlane: Run, files: list[str], words: list[str]) -> None:
    for number, text in enumerate(files):
        Path(f"f{number}").write_text(text, encoding="utf-8")
    peerlane("import", "machine", *(f"f{n}" for n in range(len(files)))).refuses(*words)


@given(st.data())
def test_a_damaged_file_is_refused_or_read(data: st.DataObject) -> None:
    texts = {name: make(two_gpus()) for name, make in MAKERS.items()} | {"rocm": ROCM}
    name = data.draw(st.sampled_from(sorted(texts)))
    lines = texts[name].splitlines(keepends=True)
    first = data.draw(st.integers(0, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    content = bytearray("".join(lines[:first] + lines[last:]).encode())
    for _ in range(data.draw(st.integers(0, 4)) if content else 0):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        scenario_of(machine_of([(bytes(content), name)]))
    except ListingError as error:
        refusal = str(error)
    else:
        return
    assert re.fullmatch(r"(inconsistent: )?\w+:(\d+:?)? \S.*; \S.*", refusal), refusal
