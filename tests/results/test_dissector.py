"""The dissector for Wireshark on packets that are drawn: its fields are those that were packed.

Packets of the simulator come from its own packer; those that it does not make, such as I/O
requests, from the packer of cocotbext-pcie.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from peerlane import _core

pytest.importorskip("cocotbext.pcie", reason="the independent packer is not installed")

from cocotbext.pcie.core.tlp import CplStatus, Tlp, TlpAttr, TlpTc, TlpType
from cocotbext.pcie.core.utils import PcieId

from results.tshark import Frame, frames, needs_tshark, tshark, write

if TYPE_CHECKING:
    from pathlib import Path

TLP, DLLP = 1, 2
PAGE = 4096
FOUR_GIB = 1 << 32

Packet = tuple[int, bytes, Frame]
"""Kind of record, its bytes, and the fields that the dissector should find."""

few = settings(
    max_examples=4,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
MANY = 60
"""Packets of a capture: tshark starts slowly, and reads fast."""

function_ids = st.integers(0, 0xFFFF)
tags = st.integers(0, 0x3FF)
STATUSES = {
    "successful": 0,
    "unsupported-request": 1,
    "configuration-retry": 2,
    "completer-abort": 4,
}
CLASSES = ["posted", "non-posted", "completion"]


def function_id(number: int) -> str:
    return f"{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"


def packed(description: dict[str, Any]) -> bytes:
    return bytes(_core.pack_tlp(json.dumps(description)))


def framed(sequence: int, tlp: bytes) -> bytes:
    """Sequence number, TLP and LCRC; the LCRC is the CRC-32 of Ethernet."""
    data = sequence.to_bytes(2, "big") + tlp
    return data + zlib.crc32(data).to_bytes(4, "little")


def bits(description: dict[str, Any]) -> Frame:
    """The fields of every TLP."""
    flags = {"ro": "relaxed_ordering", "ido": "id_ordering", "ns": "no_snoop", "ep": "poisoned"}
    found = {f"tlp.{field}": str(int(description[key])) for field, key in flags.items()}
    return found | {"tlp.tc": str(description["traffic_class"])}


@st.composite
def commons(draw: st.DrawFn) -> dict[str, Any]:
    keys = ("relaxed_ordering", "id_ordering", "no_snoop", "poisoned")
    flags = {key: draw(st.booleans()) for key in keys}
    return flags | {"requester": draw(function_ids), "traffic_class": draw(st.integers(0, 7))}


@st.composite
def spans(draw: st.DrawFn) -> tuple[int, int]:
    """A byte address, of 32 or 64 bits, and a length that stays in its 4 KiB page."""
    page = draw(st.one_of(st.integers(0, FOUR_GIB // PAGE - 1), st.integers(0, 2**52 - 1)))
    offset = draw(st.integers(0, PAGE - 1))
    room = PAGE - offset
    length = draw(st.one_of(st.integers(1, min(room, 16)), st.integers(1, room)))
    return page * PAGE + offset, length


def tlp(draw: st.DrawFn, description: dict[str, Any], name: str, fields: Frame) -> Packet:
    sequence = draw(st.integers(0, 4095))
    content = packed(description)
    expected = bits(description) | {"tlp.name": name, "tlp.sequence": str(sequence)}
    expected["tlp.lcrc_status"] = "1"
    return TLP, framed(sequence, content), expected | fields


@st.composite
def memory_requests(draw: st.DrawFn) -> Packet:
    (address, length), is_write = draw(spans()), draw(st.booleans())
    description = draw(commons()) | {"address": address, "translated": draw(st.booleans())}
    fields = {
        "tlp.address": f"0x{address:016x}",
        "tlp.bytes": str(length),
        "tlp.at": "2" if description["translated"] else "0",
        "tlp.requester": function_id(description["requester"]),
        "tlp.class": "posted" if is_write else "non-posted",
    }
    if is_write:
        description |= {"kind": "memory-write", "data": "5a" * length}
        return tlp(draw, description, "MWr", fields)
    description |= {"kind": "memory-read", "length": length, "tag": draw(tags)}
    return tlp(draw, description, "MRd", fields | {"tlp.tag": str(description["tag"])})


@st.composite
def atomics(draw: st.DrawFn) -> Packet:
    kind, name, operands = draw(
        st.sampled_from(
            [
                ("fetch-add", "FetchAdd", 1),
                ("swap", "Swap", 1),
                ("compare-and-swap", "CAS", 2),
            ]
        )
    )
    width = min(draw(st.sampled_from([4, 8, 16])), 8 * operands)
    address = 16 * draw(st.one_of(st.integers(0, 2**28 - 1), st.integers(0, 2**60 - 1)))
    description = draw(commons()) | {"kind": kind, "address": address, "tag": draw(tags)}
    description["data"] = "a5" * width * operands
    fields = {
        "tlp.address": f"0x{address:016x}",
        "tlp.bytes": str(width),
        "tlp.tag": str(description["tag"]),
        "tlp.class": "non-posted",
    }
    return tlp(draw, description, name, fields)


@st.composite
def completions(draw: st.DrawFn) -> Packet:
    dwords = draw(st.one_of(st.just(0), st.integers(1, 32)))
    status = "successful" if dwords else draw(st.sampled_from(sorted(STATUSES)))
    lower_address = draw(st.integers(0, 0x7F))
    carried = max(1, 4 * dwords - (lower_address & 3))
    description = draw(commons()) | {
        "kind": "completion",
        "completer": draw(function_ids),
        "tag": draw(tags),
        "status": status,
        "byte_count": draw(st.integers(carried, PAGE)),
        "lower_address": lower_address,
    }
    if dwords:
        description["data"] = "00112233" * dwords
    fields = {
        "tlp.completer": function_id(description["completer"]),
        "tlp.requester": function_id(description["requester"]),
        "tlp.tag": str(description["tag"]),
        "tlp.status": str(STATUSES[status]),
        "tlp.byte_count": str(description["byte_count"]),
        "tlp.lower_address": f"0x{lower_address:02x}",
        "tlp.length": str(dwords),
        "tlp.class": "completion",
    }
    return tlp(draw, description, "CplD" if dwords else "Cpl", fields)


@st.composite
def configuration_requests(draw: st.DrawFn) -> Packet:
    number, is_write = draw(st.integers(0, 1)), draw(st.booleans())
    target, register = draw(function_ids), draw(st.integers(0, 1023))
    description = draw(commons()) | {
        "kind": "config-write" if is_write else "config-read",
        "tag": draw(tags),
        "target": target,
        "type": number,
        "register": register,
        "byte_enables": draw(st.integers(1, 15)),
    }
    if is_write:
        description["data"] = "01020304"
    fields = {
        "tlp.target": function_id(target),
        "tlp.register": f"0x{4 * register:04x}",
        "tlp.first_be": f"0x{description['byte_enables']:02x}",
        "tlp.class": "non-posted",
    }
    return tlp(draw, description, f"Cfg{'Wr' if is_write else 'Rd'}{number}", fields)


@st.composite
def translations(draw: st.DrawFn) -> Packet:
    """The messages of address translation, and its requests."""
    kind = draw(st.sampled_from(["request", "invalidate", "invalidated", "page", "response"]))
    target, common = draw(function_ids), draw(commons())
    address = draw(st.integers(0, 2**52 - 1)) * PAGE
    group, itag = draw(st.integers(0, 511)), draw(st.integers(0, 31))
    at_target = {"tlp.target": function_id(target), "tlp.class": "posted"}
    if kind == "request":
        count, no_write = draw(st.integers(1, 16)), draw(st.booleans())
        more = {"kind": "translation-request", "address": address, "translations": count}
        more["no_write"] = no_write
        fields = {"tlp.at": "1", "tlp.bytes": str(8 * count)}
        fields["tlp.address"] = f"0x{address:016x}"
        return tlp(draw, common | more, "MRd", fields)
    if kind == "invalidate":
        more = {"kind": "invalidate-request", "target": target, "itag": itag}
        more |= {"address": address, "size": PAGE, "global": False}
        fields = at_target | {"ats.itag": str(itag), "ats.entry": f"0x{address:016x}"}
        return tlp(draw, common | more, "InvReq", fields)
    if kind == "invalidated":
        count, itags = draw(st.integers(1, 8)), draw(st.integers(0, 2**32 - 1))
        more = {"kind": "invalidate-completion", "target": target, "count": count, "itags": itags}
        fields = at_target | {"ats.count": str(count), "ats.itags": f"0x{itags:08x}"}
        return tlp(draw, common | more, "InvCpl", fields)
    if kind == "page":
        access, is_last = draw(st.integers(0, 3)), draw(st.booleans())
        more = {"kind": "page-request", "address": address, "group": group, "last": is_last}
        fields = {"tlp.address": f"0x{address:016x}", "ats.group": str(group)}
        fields |= {"ats.last": str(int(is_last)), "ats.read": str(access & 1)}
        fields["ats.write"] = str(access >> 1)
        return tlp(draw, common | more | {"access": access}, "PageReq", fields)
    response, code = draw(
        st.sampled_from([("success", 0), ("invalid-request", 1), ("failure", 15)])
    )
    more = {"kind": "page-response", "target": target, "group": group, "response": response}
    fields = at_target | {"ats.group": str(group), "ats.response": str(code)}
    return tlp(draw, common | more, "PrgRsp", fields)


@st.composite
def dllps(draw: st.DrawFn) -> Packet:
    name = draw(st.sampled_from(["Ack", "Nak", "InitFC1", "InitFC2", "UpdateFC", "Feature"]))
    fields = {"dllp.name": name, "dllp.crc_status": "1"}
    if name in {"Ack", "Nak"}:
        sequence = draw(st.integers(0, 4095))
        description = {"kind": name.lower(), "sequence": sequence}
        return DLLP, packed(description), fields | {"dllp.sequence": str(sequence)}
    if name == "Feature":
        known, is_scaled = draw(st.booleans()), draw(st.booleans())
        description = {"kind": "feature", "acknowledges": known, "scaled_flow_control": is_scaled}
        fields |= {"dllp.feature_ack": str(int(known)), "dllp.scaled_fc": str(int(is_scaled))}
        return DLLP, packed(description), fields
    number, channel = draw(st.integers(0, 2)), draw(st.integers(0, 7))
    headers, data = draw(st.integers(0, 255)), draw(st.integers(0, 4095))
    scale = draw(st.one_of(st.none(), st.tuples(*[st.sampled_from([1, 4, 16])] * 2)))
    kind = {"InitFC1": "init-fc1", "InitFC2": "init-fc2", "UpdateFC": "update-fc"}[name]
    description = {"kind": kind, "channel": channel, "class": CLASSES[number]}
    description |= {"headers": headers, "data": data, "scale": scale}
    factors = scale or (1, 1)
    fields |= {
        "dllp.vc": str(channel),
        "dllp.class": str(number),
        "dllp.hdr_fc": str(headers),
        "dllp.data_fc": str(data),
        "dllp.hdr_credits": str(headers * factors[0]),
        "dllp.data_credits": str(data * factors[1]),
    }
    for one, value, factor in zip(("hdr", "data"), (headers, data), scale or (0, 0), strict=True):
        fields[f"dllp.{one}_scale"] = str({0: 0, 1: 1, 4: 2, 16: 3}[factor])
        if name != "UpdateFC" and value == 0:
            fields[f"dllp.infinite_{one}"] = "1"
    return DLLP, packed(description), fields


kinds = [
    memory_requests(),
    atomics(),
    completions(),
    configuration_requests(),
    translations(),
    dllps(),
]


@needs_tshark
@few
@given(packets=st.lists(st.one_of(kinds), min_size=MANY, max_size=MANY))
def test_drawn_packets_have_their_fields(packets: list[Packet], tmp_path: Path) -> None:
    judge(packets, tmp_path)


def judge(packets: list[Packet], folder: Path) -> None:
    """Compares the fields of each packet with those that it should have."""
    capture = folder / "drawn.pcapng"
    write(capture, ((kind, data) for kind, data, _ in packets))
    names = sorted({name for *_, fields in packets for name in fields})
    found = frames(capture, names)
    assert len(found) == len(packets)
    for (_, data, expected), frame in zip(packets, found, strict=True):
        assert {name: frame.get(name) for name in expected} == expected, data.hex()


@st.composite
def other_packets(draw: st.DrawFn) -> Packet:
    """A packet that the simulator does not make, by the independent packer."""
    name, packet, number = draw(
        st.sampled_from(
            [
                ("IORd", TlpType.IO_READ, 0x02),
                ("IOWr", TlpType.IO_WRITE, 0x02),
                ("MRdLk", TlpType.MEM_READ_LOCKED, 0x01),
                ("MRdLk", TlpType.MEM_READ_LOCKED_64, 0x01),
                ("CplLk", TlpType.CPL_LOCKED, 0x0B),
                ("CplDLk", TlpType.CPL_LOCKED_DATA, 0x0B),
            ]
        )
    )
    tlp = Tlp()
    tlp.fmt_type = packet
    tlp.requester_id = PcieId.from_int(draw(function_ids))
    tlp.tag, tlp.tc = draw(tags), TlpTc(draw(st.integers(0, 7)))
    tlp.attr = TlpAttr(draw(st.integers(0, 7)))
    tlp.ep, tlp.td = draw(st.booleans()), draw(st.booleans())
    tlp.length = draw(st.integers(1, 8)) if name in {"MRdLk", "CplDLk"} else 1
    fields = {
        "tlp.name": name,
        "tlp.type": f"0x{number:02x}",
        "tlp.tc": str(int(tlp.tc)),
        "tlp.ep": str(int(tlp.ep)),
        "tlp.td": str(int(tlp.td)),
        "tlp.ro": str(int(TlpAttr.RO in tlp.attr)),
        "tlp.ido": str(int(TlpAttr.IDO in tlp.attr)),
        "tlp.ns": str(int(TlpAttr.NS in tlp.attr)),
        "tlp.requester": function_id(int(tlp.requester_id)),
        "tlp.tag": str(tlp.tag),
        "tlp.lcrc_status": "1",
    }
    if name.startswith("Cpl"):
        tlp.completer_id = PcieId.from_int(draw(function_ids))
        tlp.status, tlp.byte_count = CplStatus.SC, 4 * tlp.length
        tlp.lower_address, tlp.bcm = 4 * draw(st.integers(0, 31)), draw(st.booleans())
        fields |= {
            "tlp.completer": function_id(int(tlp.completer_id)),
            "tlp.byte_count": str(tlp.byte_count),
            "tlp.lower_address": f"0x{tlp.lower_address:02x}",
            "tlp.bcm": str(int(tlp.bcm)),
        }
    else:
        top = 2**64 if packet is TlpType.MEM_READ_LOCKED_64 else 2**32
        tlp.address = draw(st.integers(0, top // PAGE - 1)) * PAGE
        tlp.first_be, tlp.last_be = 15, 15 if tlp.length > 1 else 0
        fields |= {
            "tlp.address": f"0x{tlp.address:016x}",
            "tlp.bytes": str(4 * tlp.length),
            "tlp.class": "non-posted",
        }
    if tlp.has_data():
        tlp.data = bytearray(range(4 * tlp.length))
        fields["tlp.payload"] = tlp.data.hex()
    content = bytes(tlp.pack())
    if tlp.td:
        content += bytes([1, 2, 3, 4])
        fields["tlp.ecrc"] = "0x01020304"
    prefix = draw(st.sampled_from([None, (0x91, "tlp.pasid"), (0x90, "tlp.prefix_data")]))
    if prefix:
        number, permissions = draw(st.integers(0, 2**20 - 1)), draw(st.integers(0, 3))
        word, field = permissions << 22 | number, prefix[1]
        content = bytes([prefix[0]]) + word.to_bytes(3, "big") + content
        if field == "tlp.pasid":
            fields[field] = str(number)
            fields["tlp.pasid_execute"] = str(permissions & 1)
            fields["tlp.pasid_privileged"] = str(permissions >> 1)
        else:
            fields[field] = f"{word:06x}"
        fields["tlp.prefix"] = f"0x{prefix[0] & 31:02x}"
    return TLP, framed(7, content), fields


@needs_tshark
@few
@given(data=st.data())
def test_packets_that_the_simulator_does_not_make_have_their_fields(
    data: st.DataObject, tmp_path: Path
) -> None:
    drawn = data.draw(st.lists(other_packets(), min_size=MANY, max_size=MANY))
    judge(drawn, tmp_path)


MESSAGES = [
    (0x34, 0x20, "Assert_INTA"),
    (0x34, 0x27, "Deassert_INTD"),
    (0x30, 0x30, "ERR_COR"),
    (0x30, 0x33, "ERR_FATAL"),
    (0x30, 0x18, "PM_PME"),
    (0x33, 0x19, "PME_Turn_Off"),
    (0x74, 0x50, "Set_Slot_Power_Limit"),
    (0x32, 0x7E, "Vendor_Defined_0"),
]
"""Format and type, message code (PCIe Base table F-1), name."""


@needs_tshark
def test_messages_and_power_management_are_named(tmp_path: Path) -> None:
    packets: list[Packet] = []
    for kind, code, name in MESSAGES:
        data = bytes(4) if kind & 0x40 else b""
        header = bytes([kind, 0, 0, len(data) // 4, 1, 0, 0, code, 2, 8, 0x12, 0x34]) + bytes(4)
        fields = {"tlp.name": name, "tlp.message": f"0x{code:02x}", "tlp.requester": "01:00.0"}
        fields["tlp.routing"] = str(kind & 7)
        if kind & 7 == 2:
            fields |= {"tlp.target": "02:01.0", "tlp.vendor": "0x1234"}
        packets.append((TLP, framed(1, header + data), fields))
    for code, name in [(0x20, "PM_Enter_L1"), (0x24, "PM_Request_Ack"), (0x31, "NOP")]:
        fields = {"dllp.name": name, "dllp.type": f"0x{code:02x}", "dllp.crc_status": "0"}
        packets.append((DLLP, bytes([code, 0, 0, 0, 0, 0]), fields))
    judge(packets, tmp_path)


@needs_tshark
def test_what_is_wrong_is_told(tmp_path: Path) -> None:
    read = {"kind": "memory-read", "requester": 0, "address": 64, "length": 4}
    write_ = {"kind": "memory-write", "requester": 0, "address": 64, "data": "00" * 8}
    poisoned = packed(write_ | {"poisoned": True})
    failed = {"kind": "completion", "requester": 0, "completer": 0, "byte_count": 4}
    failed |= {"status": "completer-abort", "lower_address": 0}
    cases = {
        "bad_lcrc": (TLP, framed(1, packed(read))[:-1] + b"\0"),
        "bad_crc": (DLLP, packed({"kind": "ack", "sequence": 1})[:-1] + b"\0"),
        "poisoned": (TLP, framed(1, poisoned)),
        "malformed": (TLP, framed(1, packed(write_)[:-4])),
        "failed": (TLP, framed(1, packed(failed))),
        "nak": (DLLP, packed({"kind": "nak", "sequence": 1})),
        "unknown": (TLP, framed(1, bytes([0x1F]) + bytes(11))),
    }
    write(tmp_path / "wrong.pcapng", [*cases.values(), (TLP, framed(2, packed(read)))])
    found = frames(tmp_path / "wrong.pcapng", [f"expert.{name}" for name in cases])
    told = [[name.removeprefix("expert.") for name in frame] for frame in found]
    assert told == [[name] for name in cases] + [[]]


@st.composite
def broken(draw: st.DrawFn) -> tuple[int, bytes]:
    """A packet that is cut off and has wrong bytes, or any bytes."""
    kind, data, _ = draw(st.one_of(kinds))
    data = data[: draw(st.integers(0, len(data)))]
    if data and draw(st.booleans()):
        place = draw(st.integers(0, min(len(data) - 1, 30)))
        data = data[:place] + draw(st.binary(min_size=1, max_size=4)) + data[place + 1 :]
    return draw(st.sampled_from([kind, 3, 4, 5, 6, 7])), data


@needs_tshark
@few
@given(records=st.lists(broken(), min_size=MANY, max_size=MANY))
def test_no_bytes_break_the_dissector(
    records: list[tuple[int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    capture = tmp_path_factory.mktemp("broken") / "any.pcapng"
    write(capture, records)
    text = tshark(capture, "-V")
    assert text.count("Pseudo-header") == len(records)
    assert "Lua Error" not in text
