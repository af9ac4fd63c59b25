"""Headers, payloads and DLLPs equal those of an independent packer, byte for byte.

`_core.pack_tlp` takes one JSON object and gives the bytes of that packet. The object's `kind` says
which packet; its other keys, all integers unless said otherwise:

- every TLP: `traffic_class` 0-7; `relaxed_ordering`, `id_ordering`, `no_snoop`, `poisoned`
  (booleans); `tag` of up to 10 bits, except in a memory write; `requester`, a function id
  (bus << 8 | device << 3 | function). All but `requester` may be absent and are then 0 or false.
- `memory-read`: `address` (a byte address) and `length` (bytes; of none, the zero-length read).
- `memory-write`: `address` and `data`, the bytes as a hexadecimal string. Bytes of the first and
  last doubleword that are not written go out as zero.
- `fetch-add`, `swap` and `compare-and-swap`: `address` and `data`, the operand, or both, one after
  the other (hexadecimal).
- `completion`: `completer`, `status` (`successful`, `unsupported-request`,
  `configuration-retry`, `completer-abort`), `byte_count` 1-4096, `lower_address`; with `data`
  (hexadecimal, whole doublewords) it is a completion with data.
- `config-read` and `config-write`: `target` (a function id), `type` 0 or 1, `register` (the
  doubleword's number, 0-1023), `byte_enables` 1-15; a write has `data`, four bytes.
- `ack` and `nak`: `sequence` 0-4095. These and the next are DLLPs: six bytes with their CRC.
- `init-fc1`, `init-fc2`, `update-fc`: `channel` 0-7, `class` (`posted`, `non-posted`,
  `completion`), `headers` 0-255, `data` 0-4095.

What cannot be packed, such as a request across 4 KiB, is a `ValueError`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peerlane import _core

pytest.importorskip("cocotbext.pcie", reason="the independent packer is not installed")

from cocotbext.pcie.core.dllp import Dllp, DllpType
from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId

PAGE = 4096
FOUR_GIB = 1 << 32

STATUS = {
    "successful": CplStatus.SC,
    "unsupported-request": CplStatus.UR,
    "configuration-retry": CplStatus.CRS,
    "completer-abort": CplStatus.CA,
}
CREDIT_TYPES = {
    ("init-fc1", "posted"): DllpType.INIT_FC1_P,
    ("init-fc1", "non-posted"): DllpType.INIT_FC1_NP,
    ("init-fc1", "completion"): DllpType.INIT_FC1_CPL,
    ("init-fc2", "posted"): DllpType.INIT_FC2_P,
    ("init-fc2", "non-posted"): DllpType.INIT_FC2_NP,
    ("init-fc2", "completion"): DllpType.INIT_FC2_CPL,
    ("update-fc", "posted"): DllpType.UPDATE_FC_P,
    ("update-fc", "non-posted"): DllpType.UPDATE_FC_NP,
    ("update-fc", "completion"): DllpType.UPDATE_FC_CPL,
}

thousands = settings(
    max_examples=max(2000, settings().max_examples), suppress_health_check=[HealthCheck.too_slow]
)
function_ids = st.integers(0, 0xFFFF)
tags = st.integers(0, 0x3FF)


def fields(**more: Any) -> st.SearchStrategy[dict[str, Any]]:
    """A description with the keys that every TLP has, and `more`."""
    return st.fixed_dictionaries(
        {
            "requester": function_ids,
            "traffic_class": st.integers(0, 7),
            "relaxed_ordering": st.booleans(),
            "id_ordering": st.booleans(),
            "no_snoop": st.booleans(),
            "poisoned": st.booleans(),
            **more,
        }
    )


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    """A byte address, of 32 or 64 bits, and a length that stays in its 4 KiB page."""
    page = draw(st.one_of(st.integers(0, FOUR_GIB // PAGE - 1), st.integers(0, 2**52 - 1)))
    offset = draw(st.integers(0, PAGE - 1))
    room = PAGE - offset
    length = draw(st.one_of(st.integers(0, min(room, 16)), st.integers(0, room)))
    return page * PAGE + offset, length


@thousands
@given(fields(tag=tags), spans())
def test_memory_reads(described: dict[str, Any], span: tuple[int, int]) -> None:
    address, length = span
    tlp = judge(described, TlpType.MEM_READ_64 if address >= FOUR_GIB else TlpType.MEM_READ)
    tlp.set_addr_be(address, length)
    more = {"kind": "memory-read", "address": address, "length": length}
    assert packed(described | more) == tlp.pack()


@thousands
@given(fields(), spans(), st.randoms(use_true_random=False))
def test_memory_writes(described: dict[str, Any], span: tuple[int, int], random: Any) -> None:
    address, length = span
    data = random.randbytes(length)
    tlp = judge(described, TlpType.MEM_WRITE_64 if address >= FOUR_GIB else TlpType.MEM_WRITE)
    tlp.set_addr_be_data(address, data)
    more = {"kind": "memory-write", "address": address, "data": data.hex()}
    assert packed(described | more) == tlp.pack()


ATOMICS = {
    "fetch-add": (TlpType.FETCH_ADD, TlpType.FETCH_ADD_64, 1),
    "swap": (TlpType.SWAP, TlpType.SWAP_64, 1),
    "compare-and-swap": (TlpType.CAS, TlpType.CAS_64, 2),
}


@thousands
@given(
    fields(tag=tags),
    st.sampled_from(sorted(ATOMICS)),
    st.sampled_from([4, 8, 16]),
    st.one_of(st.integers(0, 2**28 - 1), st.integers(0, 2**60 - 1)),
    st.randoms(use_true_random=False),
)
def test_atomic_operations(
    described: dict[str, Any], kind: str, width: int, place: int, random: Any
) -> None:
    short, long, operands = ATOMICS[kind]
    width = min(width, 8 * operands)
    address, data = 16 * place, random.randbytes(width * operands)
    tlp = judge(described, long if address >= FOUR_GIB else short)
    tlp.address = address
    tlp.set_data(data)
    more = {"kind": kind, "address": address, "data": data.hex()}
    assert packed(described | more) == tlp.pack()


@thousands
@given(
    fields(
        tag=tags,
        completer=function_ids,
        status=st.sampled_from(sorted(STATUS)),
        byte_count=st.integers(1, 4096),
        lower_address=st.integers(0, 0x7F),
    )
)
def test_completions_without_data(described: dict[str, Any]) -> None:
    tlp = judge_completion(described, TlpType.CPL)
    assert packed(described | {"kind": "completion"}) == tlp.pack()


@thousands
@given(
    fields(tag=tags, completer=function_ids, lower_address=st.integers(0, 0x7F)),
    st.integers(1, 1024),
    st.randoms(use_true_random=False),
)
def test_completions_with_data(described: dict[str, Any], dwords: int, random: Any) -> None:
    data = random.randbytes(4 * dwords)
    first = described["lower_address"] & 3
    described |= {"status": "successful", "byte_count": random.randint(4 * dwords - first, 4096)}
    tlp = judge_completion(described, TlpType.CPL_DATA)
    tlp.set_data(data)
    assert packed(described | {"kind": "completion", "data": data.hex()}) == tlp.pack()


@thousands
@given(
    fields(
        tag=tags,
        target=function_ids,
        type=st.integers(0, 1),
        register=st.integers(0, 1023),
        byte_enables=st.integers(1, 15),
    ),
    st.one_of(st.none(), st.binary(min_size=4, max_size=4)),
)
def test_configuration_requests(described: dict[str, Any], data: bytes | None) -> None:
    described |= {"traffic_class": 0, "relaxed_ordering": False, "id_ordering": False}
    described |= {"no_snoop": False}
    kinds = {
        (False, 0): TlpType.CFG_READ_0,
        (False, 1): TlpType.CFG_READ_1,
        (True, 0): TlpType.CFG_WRITE_0,
        (True, 1): TlpType.CFG_WRITE_1,
    }
    tlp = judge(described, kinds[data is not None, described["type"]])
    tlp.completer_id = PcieId.from_int(described["target"])
    tlp.address = described["register"] * 4
    tlp.first_be = described["byte_enables"]
    tlp.length = 1
    if data is None:
        assert packed(described | {"kind": "config-read"}) == tlp.pack()
    else:
        tlp.set_data(data)
        assert packed(described | {"kind": "config-write", "data": data.hex()}) == tlp.pack()


@thousands
@given(st.sampled_from([("ack", DllpType.ACK), ("nak", DllpType.NAK)]), st.integers(0, 4095))
def test_acknowledgements(kind: tuple[str, DllpType], sequence: int) -> None:
    dllp = Dllp()
    dllp.type, dllp.seq = kind[1], sequence
    assert packed({"kind": kind[0], "sequence": sequence}) == dllp.pack_crc()


@thousands
@given(
    st.sampled_from(sorted(CREDIT_TYPES)),
    st.integers(0, 7),
    st.integers(0, 255),
    st.integers(0, 4095),
)
def test_flow_control(kind: tuple[str, str], channel: int, headers: int, data: int) -> None:
    dllp = Dllp()
    dllp.type, dllp.vc, dllp.hdr_fc, dllp.data_fc = CREDIT_TYPES[kind], channel, headers, data
    described = {"kind": kind[0], "class": kind[1], "channel": channel}
    assert packed(described | {"headers": headers, "data": data}) == dllp.pack_crc()


@pytest.mark.parametrize(
    "described",
    [
        {"kind": "memory-read", "requester": 0, "address": 4095, "length": 2},
        {"kind": "memory-write", "requester": 0, "address": 0, "data": "0"},
        {"kind": "teleport"},
        {},
    ],
)
def test_what_cannot_be_packed_is_refused(described: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        packed(described)


def packed(described: dict[str, Any]) -> bytes:
    return _core.pack_tlp(json.dumps(described))


def judge(described: dict[str, Any], kind: TlpType) -> Tlp:
    """The same packet in the independent packer, without its address or data."""
    tlp = Tlp()
    tlp.fmt_type = kind
    tlp.requester_id = PcieId.from_int(described["requester"])
    tlp.tag = described.get("tag", 0)
    tlp.tc = TlpTc(described["traffic_class"])
    tlp.ep = described["poisoned"]
    tlp.attr = TlpAttr(
        described["no_snoop"] * TlpAttr.NS
        | described["relaxed_ordering"] * TlpAttr.RO
        | described["id_ordering"] * TlpAttr.IDO
    )
    return tlp


def judge_completion(described: dict[str, Any], kind: TlpType) -> Tlp:
    tlp = judge(described, kind)
    tlp.completer_id = PcieId.from_int(described["completer"])
    tlp.status = STATUS[described["status"]]
    tlp.byte_count = described["byte_count"]
    tlp.lower_address = described["lower_address"]
    return tlp
