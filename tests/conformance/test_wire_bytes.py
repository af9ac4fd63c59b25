"""Headers, payloads and DLLPs equal those of an independent packer, byte for byte.

`_core.pack_tlp` takes one JSON object and gives the bytes of that packet. The object's `kind` says
which packet; its other keys, all integers unless said otherwise:

- every TLP: `traffic_class` 0-7; `relaxed_ordering`, `id_ordering`, `no_snoop`, `poisoned`
  (booleans); `tag` of up to 10 bits, except in a memory write; `requester`, a function id
  (bus << 8 | device << 3 | function). All but `requester` may be absent and are then 0 or false.
- `memory-read` and `memory-write`, also: `translated` (boolean), absent if false.
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
- `translation-request`: `address` in the first page, `translations` 1-16, `no_write` (boolean).
- `invalidate-request`: `target` (a function id), `itag` 0-31, `address` and `size` of the range (of
  none, all addresses), `global` (boolean). This message has data; the next three have none.
- `invalidate-completion`: `target`, `count` 1-8, `itags`, 32 bits.
- `page-request`: `address` in the page, `group` 0-511, `last` (boolean), `access`, R and twice W.
- `page-response`: `target`, `group`, `response` (`success`, `invalid-request`, `failure`).
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
from cocotbext.pcie.core.tlp import CplStatus, MsgType, Tlp, TlpAt, TlpAttr, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId

PAGE = 4096
FOUR_GIB = 1 << 32

STATUS = {
    "successful": CplStatus.SC,
    "unsupported-request": CplStatus.UR,
    "configuration-retry": CplStatus.CRS,
    "completer-abort": CplStatus.CA,
}
PAGE_RESPONSES = {"success": 0, "invalid-request": 1, "failure": 15}
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
    max_examples=max(700, settings().max_examples), suppress_health_check=[HealthCheck.too_slow]
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
@given(fields(kind=st.sampled_from(["memory-read", "memory-write"])), spans())
def test_translated_requests(described: dict[str, Any], span: tuple[int, int]) -> None:
    address, length = span
    wide = address >= FOUR_GIB
    if described["kind"] == "memory-write":
        tlp = judge(described, TlpType.MEM_WRITE_64 if wide else TlpType.MEM_WRITE)
        tlp.set_addr_be_data(address, bytes(length))
    else:
        tlp = judge(described, TlpType.MEM_READ_64 if wide else TlpType.MEM_READ)
        tlp.set_addr_be(address, length)
    tlp.at = TlpAt.TRANSLATED
    more = {"address": address, "length": length, "data": "00" * length, "translated": True}
    assert packed(described | more) == tlp.pack()


@thousands
@given(fields(tag=tags, translations=st.integers(1, 16), no_write=st.booleans()), spans())
def test_translation_requests(described: dict[str, Any], span: tuple[int, int]) -> None:
    address, _ = span
    tlp = judge(described, TlpType.MEM_READ_64 if address >= FOUR_GIB else TlpType.MEM_READ)
    tlp.set_addr_be(address - address % PAGE, 8 * described["translations"])
    tlp.at = TlpAt.TRANSLATE_REQ
    tlp.ph = int(described["no_write"])  # The lowest bits of the address field.
    assert packed(described | {"kind": "translation-request", "address": address}) == tlp.pack()


@thousands
@given(
    fields(target=function_ids, itag=st.integers(0, 31), **{"global": st.booleans()}),
    st.integers(0, 52),
    st.integers(0, 2**64 - 1),
)
def test_invalidate_requests(described: dict[str, Any], pages: int, address: int) -> None:
    size = PAGE << pages
    address -= address % size
    ones = (size >> 1) - PAGE if pages else 0
    data = address | ones | (pages > 0) << 11 | described["global"]
    described |= {"kind": "invalidate-request", "address": address}
    if size < 2**64:
        described["size"] = size
    tag, target = described["itag"], described["target"] << 48
    header = judge_message(described, TlpType.MSG_DATA_ID, MsgType.INVALIDATE_REQ, target, tag)
    assert packed(described) == header + data.to_bytes(8, "big")


@thousands
@given(fields(target=function_ids, count=st.integers(1, 8), itags=st.integers(0, 2**32 - 1)))
def test_invalidate_completions(described: dict[str, Any]) -> None:
    rest = described["target"] << 48 | described["count"] % 8 << 32 | described["itags"]
    header = judge_message(described, TlpType.MSG_ID, MsgType.INVALIDATE_CPL, rest)
    assert packed(described | {"kind": "invalidate-completion"}) == header


@thousands
@given(
    fields(
        address=st.integers(0, 2**64 - 1),
        group=st.integers(0, 511),
        last=st.booleans(),
        access=st.integers(0, 3),
    )
)
def test_page_requests(described: dict[str, Any]) -> None:
    page = described["address"] // PAGE * PAGE
    rest = page | described["group"] << 3 | described["last"] << 2 | described["access"]
    header = judge_message(described, TlpType.MSG_TO_RC, MsgType.PAGE_REQ, rest)
    assert packed(described | {"kind": "page-request"}) == header


@thousands
@given(
    fields(
        target=function_ids,
        group=st.integers(0, 511),
        response=st.sampled_from(sorted(PAGE_RESPONSES)),
    )
)
def test_page_responses(described: dict[str, Any]) -> None:
    code = PAGE_RESPONSES[described["response"]]
    rest = described["target"] << 48 | code << 44 | described["group"] << 32
    header = judge_message(described, TlpType.MSG_ID, MsgType.PRG_RESP, rest)
    assert packed(described | {"kind": "page-response"}) == header


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
        {"kind": "translation-request", "requester": 0, "address": 0, "translations": 17},
        {"kind": "invalidate-request", "target": 0, "itag": 32, "address": 0},
        {"kind": "invalidate-request", "target": 0, "itag": 0, "address": 4096, "size": 8192},
        {"kind": "invalidate-completion", "target": 0, "count": 0, "itags": 1},
        {"kind": "page-request", "address": 0, "group": 512, "access": 1},
        {"kind": "page-response", "target": 0, "group": 0, "response": "perhaps"},
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


def judge_message(
    described: dict[str, Any], kind: TlpType, code: MsgType, rest: int, tag: int = 0
) -> bytes:
    """The header of a message, whose last two doublewords are `rest`, without data.

    The independent packer knows types and codes of messages, but packs none. It has the common
    fields from the header of a memory request with as many doublewords, whose byte enables and
    address stand where a message has its code and what goes with it.
    """
    has_data = kind is TlpType.MSG_DATA_ID
    tlp = judge(described | {"tag": tag}, TlpType.MEM_WRITE_64 if has_data else TlpType.MEM_READ_64)
    tlp.first_be, tlp.last_be = code & 0xF, code >> 4
    tlp.address, tlp.ph = rest, rest & 3
    tlp.length = 2 if has_data else 0
    header = bytearray(tlp.pack_header())
    header[0] |= kind.value[1]
    return bytes(header)


def judge_completion(described: dict[str, Any], kind: TlpType) -> Tlp:
    tlp = judge(described, kind)
    tlp.completer_id = PcieId.from_int(described["completer"])
    tlp.status = STATUS[described["status"]]
    tlp.byte_count = described["byte_count"]
    tlp.lower_address = described["lower_address"]
    return tlp
