"""Reads the output of `lspci -vvv` into the functions of a machine.

Unknown lines are skipped, because every version of lspci prints lines of its own. But the structure
is checked: a listing that was cut, filtered or made without root would result in another machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from textwrap import dedent
from typing import TYPE_CHECKING

from peerlane.importing.listing import (
    COMMAND,
    GENERATIONS,
    Buses,
    Express,
    Function,
    Kind,
    Link,
    Listing,
    ListingError,
    Memory,
    Slot,
    Virtual,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


HEAD = """\
# As listed: the tree, the width of each link as it was trained (LnkSta) and its speed ({speed}),
# max payload sizes (DevCap, DevCtl), max read request sizes, tags, the attributes that requests may
# have, ACS services, ASPM, error messages, ECRC, virtual functions, the largest memory region of
# each device as its BAR, the read completion boundary, NUMA nodes as sockets; with `-nn` also
# vendor, device and class of each function.
#
# A listing does not tell, so it is as `peerlane list parameters` says: buffers, latencies, when
# links acknowledge and return credit, the size and rate of memory, what a device does.
#
"""
"""Comments on what a scenario has from a listing."""


def parse(content: bytes, source: str) -> Listing:
    """Reads the output of lspci; messages call it `source`.

    Raises:
        ListingError: The text is not a complete listing of `lspci -vvv`.
    """
    text = _unquoted(_text(content, source))
    records = list(_records(text, source))
    if not any(record.find("Control:") for record in records):
        raise records[0].error(_without_registers(text, records))
    functions = sorted((_function(record) for record in records), key=lambda one: one.slot)
    for one, other in pairwise(functions):
        if one.slot == other.slot:
            later = max(one.line, other.line)
            raise ListingError(
                f"{source}:{later}: {one.slot} is also on line {min(one.line, other.line)}; "
                "write one listing of one machine"
            )
    return Listing(source, tuple(functions))


def _without_registers(text: str, records: list[_Record]) -> str:
    """The message for a listing without registers: the reason, and the command to use instead."""
    if _BYTES.search(text):
        return (
            "this listing has the bytes of configuration spaces, as of -x to -xxxx, and not what "
            f"they mean; write the output of `{COMMAND}`, or of `lspci -F FILE -vvv` with FILE for "
            "this listing"
        )
    if any(record.find("Flags:") for record in records):
        how = "this listing was made with -v, without -vvv, and has no registers"
    else:
        how = "no function of this listing has registers, so it was made without -vvv, or is cut"
    return f"{how}; write the whole output of `{COMMAND}`"


_BEGINS = re.compile(r"[\w ]+:")
"""The beginning of a register or of a capability."""


@dataclass(slots=True)
class _Record:
    """The lines of one function; `ended` is true if no further lines can belong to it."""

    source: str
    line: int
    slot: Slot
    what: str
    details: list[tuple[int, str]] = field(default_factory=list)
    ended: bool = False

    def header(self) -> list[str]:
        """The lines before the capabilities, which can have a Status and Regions of their own."""
        texts = (text for _, text in self.details)
        return list(takewhile(lambda text: not text.startswith("Capabilities:"), texts))

    def find(self, start: str) -> str | None:
        return next((text for text in self.header() if text.startswith(start)), None)

    def register(self, name: str) -> str:
        """A register of an extended capability with its continuation lines; empty if missing."""
        texts = [text for _, text in self.details]
        start = next((n for n, text in enumerate(texts) if text.startswith(name)), len(texts))
        further = takewhile(lambda text: not _BEGINS.match(text), texts[start + 1 :])
        return " ".join((*texts[start : start + 1], *further))

    def error(self, message: str, line: int | None = None) -> ListingError:
        return ListingError(f"{self.source}:{line or self.line}: {message}")

    def cut(self, missing: str) -> ListingError:
        """An error with the number of the last line of the record."""
        line = self.details[-1][0] if self.details else self.line
        message = f"the record of {self.slot} is cut: {missing}; "
        return self.error(f"{message}write the whole output of `{COMMAND}`", line)


def _text(content: bytes, source: str) -> str:
    is_space = len(content) in _CONFIGURATION_SPACES and content[_HEADER_TYPE] & 0x7F <= 1
    if is_space and b"\0" in content:
        raise ListingError(
            f"{source}: this is the configuration space of one function in binary, as of "
            f"/sys/bus/pci/devices/*/config; write the output of `{COMMAND}`, which has all "
            "functions of the machine"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # An incomplete character at the end means that the file was cut, which the records report.
        if error.end < len(content) or error.reason != "unexpected end of data":
            raise _not_text(source, error.start) from None
        text = content[: error.start].decode("utf-8-sig")
    if "\0" in text:
        raise _not_text(source, text.index("\0"))
    if not text.strip():
        raise ListingError(f"{source}: the file is empty; write the output of `{COMMAND}`")
    return text


def _unquoted(text: str) -> str:
    """The text without quotation marks and without common indentation."""
    if all(line.startswith(">") for line in text.splitlines() if line.strip()):
        text = re.sub(r"^> ?", "", text, flags=re.MULTILINE)
    return dedent(text) if text[:1].isspace() else text


_CONFIGURATION_SPACES = (64, 256, 4096)
"""The bytes of a configuration space that a user or the superuser can read: the possible sizes."""
_HEADER_TYPE = 0x0E


def _not_text(source: str, byte: int) -> ListingError:
    return ListingError(
        f"{source}: not a text file (byte {byte}); write the output of `{COMMAND}` in UTF-8"
    )


_HEAD = re.compile(
    r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([01][0-9a-f])\.([0-7]) ([^\"]+?: .+)", re.IGNORECASE
)
_BYTES = re.compile(r"^[0-9a-f]{2,3}:(?: [0-9a-f]{2}){1,16}\s*$", re.MULTILINE)
"""The hexadecimal bytes that the option -x adds."""

_NOISE = re.compile(rf"pcilib: |.*\blspci\b|{_BYTES.pattern}")
"""Lines to skip: warnings, the command in a copy of a terminal, the bytes of -x."""

AROUND = re.compile(
    r"(?:\[.*\]|[\w.-]+@\S+(?: \S+)?|\S*)[#$%](?: .*)?$"
    r"|(?:`{3,}|~{3,})\s*[\w-]*\s*$"
    r"|</?(?:pre|code|details|summary)\b"
)
"""Prompts of a shell, fences of Markdown and tags of HTML; each of them ends a record."""

_LAST_LINE = re.compile(r"Kernel (driver in use|modules): \S")
"""The last line of a record; it also ends the record, because pasted text may lose its empty
line."""


def _records(text: str, source: str) -> Iterator[_Record]:
    """The records, without the last line if it is cut, because its values may be incomplete."""
    *lines, cut = text.split("\n")
    heads = (number for number, line in enumerate(lines, 1) if _HEAD.fullmatch(line.rstrip()))
    last_head = max(heads, default=0)
    record: _Record | None = None
    for number, line in enumerate(lines, 1):
        detail = line.strip()
        head = _HEAD.fullmatch(line.rstrip())
        if head is not None:
            if record is not None:
                record.ended = True
                yield record
            record = _Record(source, number, _slot(head), head[5])
        elif not detail or AROUND.match(line):
            if record is not None:
                record.ended = True
        elif line[0].isspace() and record is not None and not record.ended:
            record.details.append((number, detail))
        elif not (_NOISE.match(line) or _is_outside(line, record, is_last=number > last_head)):
            raise _unknown(source, number, record)
    is_around = AROUND.match(cut) is not None
    if cut and not (cut[0].isspace() or is_around or _NOISE.match(cut)):
        raise _unknown(source, len(lines) + 1, record)
    if record is None:
        raise _unknown(source, 1, record)
    last = cut.strip() or (record.details[-1][1] if record.details else "")
    record.ended |= is_around or _LAST_LINE.match(last) is not None
    yield record


def _is_outside(line: str, record: _Record | None, *, is_last: bool) -> bool:
    """Whether a line is text before the first function, or after the last one.

    A damaged first line of a function is also a line of this kind, but not the details after it.
    """
    return not line[0].isspace() and (record is None or (record.ended and is_last))


def _unknown(source: str, number: int, record: _Record | None) -> ListingError:
    what = "no function begins here" if record is None else "neither a function nor a detail of one"
    return ListingError(
        f"{source}:{number}: this is not a line of lspci, {what}; "
        f"write the whole output of `{COMMAND}`"
    )


def _slot(head: re.Match[str]) -> Slot:
    domain, bus, device = (int(digits or "0", 16) for digits in head.group(1, 2, 3))
    return Slot(domain, bus, device, int(head[4]), text=head[0].split(" ")[0])


_BUSES = re.compile(r"Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})")
_SERVICE = re.compile(r"\s(\w+)\+")
_PCI_BRIDGE = re.compile(r"PCI bridge|0604\b")
_HOST_BRIDGE = re.compile(r"Host bridge|0600\b")


def _function(record: _Record) -> Function:
    if record.find("!!! Unknown header type"):
        return Function(record.line, record.slot, record.what, readable=False)
    control, status = record.find("Control:"), record.find("Status:")
    if control is None or status is None:
        raise record.cut("it has no Control and Status registers")
    capabilities = [text for _, text in record.details if text.startswith("Capabilities:")]
    if any("access denied" in text for text in capabilities):
        raise record.error(
            f"the capabilities of {record.slot} are hidden from this user; "
            f"write the output of `{COMMAND}`, as root"
        )
    buses = _BUSES.match(record.find("Bus:") or "")
    express = _express(record)
    if buses is None and _HOST_BRIDGE.match(record.what):
        express = None  # some call their port to the chipset a root port
    is_bridge = express.kind.is_bridge if express else _PCI_BRIDGE.match(record.what)
    if buses is None and is_bridge:
        raise record.cut('it is a bridge without a line "Bus: primary="')
    if not record.ended:
        raise record.cut("no empty line ends it")
    return Function(
        record.line,
        record.slot,
        record.what,
        buses=buses and Buses(int(buses[1], 16), int(buses[2], 16)),
        express=express,
        memory=tuple(_memory(record)),
        memory_enabled="Mem-" not in control,
        bus_master="BusMaster-" not in control,
        services=_services(record),
        numa_node=_numa_node(record),
        virtual=_virtual(record),
        containment=_containment(record),
        translates="Enable+" in record.register("ATSCtl:"),
        generates_ecrc="ECRCGenEn+" in record.register("AERCap:"),
        masked=tuple(_masked(record)),
    )


def _masked(record: _Record) -> Iterator[str]:
    """The masked errors that are not masked after reset (PCIe Base 7.8.4.3, 7.8.4.6)."""
    for register, after_reset in (("UEMsk:", _MASKED), ("CEMsk:", _MASKED_CORRECTABLE)):
        found = set(_SERVICE.findall(record.register(register)))
        yield from (f"{register} {error}" for error in sorted(found - after_reset))


_MASKED = {"UncorrIntErr", "PoisonTLPBlocked"}
_MASKED_CORRECTABLE = {"AdvNonFatalErr", "NonFatalErr", "CorrIntErr", "HeaderOF"}


def _services(record: _Record) -> frozenset[str] | None:
    """The services that ACS Control enables."""
    control = record.register("ACSCtl:")
    return frozenset(_SERVICE.findall(control)) if control else None


def _numa_node(record: _Record) -> int | None:
    found = re.match(r"NUMA node: (\d{1,5})$", record.find("NUMA node:") or "")
    return int(found[1]) if found else None


def _virtual(record: _Record) -> Virtual | None:
    """The virtual functions of the SR-IOV capability, if they are enabled."""
    if "Enable+" not in record.register("IOVCtl:"):
        return None
    count = re.search(r"Number of VFs: (\d{1,5})", record.register("Initial VFs:"))
    place = re.match(r"VF offset: (\d{1,5}), stride: (\d{1,5})", record.register("VF offset:"))
    if count is None or place is None or not int(count[1]):
        return None
    return Virtual(int(count[1]), int(place[1]), int(place[2]))


def _containment(record: _Record) -> str | None:
    """The errors that trigger Downstream Port Containment (PCIe Base 7.9.14.3)."""
    trigger = re.search(r"Trigger:([12])", record.register("DpcCtl:"))
    return {"1": "fatal", "2": "non-fatal"}[trigger[1]] if trigger else None


_REGION = re.compile(
    r"Region ([0-5]): (?:\[\w+\] )?Memory at (?:([0-9a-f]+)|<\w+>).*\((32|64)-bit, "
)
_SIZE = re.compile(r"\[size=(\d{1,4})([KMGT]?)\]")
_SCALE = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def _memory(record: _Record) -> Iterator[Memory]:
    for text in record.header():
        if region := _REGION.match(text):
            size = _SIZE.search(text)
            count = int(size[1]) << _SCALE[size[2]] if size else None
            low = region[2] is not None and int(region[2], 16) < 1 << 32
            yield Memory(int(region[1]), 32 if low else int(region[3]), count)


_EXPRESS = re.compile(r"Capabilities: \[[0-9a-f]+\] Express (?:\(v\d+\) )?([^,(]+)")
_REGISTER = re.compile(r"(\w+):\s*(.*)")
_PAYLOAD = re.compile(r"MaxPayload (\d{1,5}) bytes")
_READ_REQUEST = re.compile(r"MaxReadReq (\d{1,5}) bytes")
_LINK = re.compile(r"Speed (?:([\d.]+) ?GT/s|unknown)(?: \(\w+\))?, Width x(\d{1,3})")
_BOUNDARY = re.compile(r"RCB (64|128) bytes")
_SIZES = (128, 256, 512, 1024, 2048, 4096)


def _express(record: _Record) -> Express | None:
    kind, registers = _registers(record)
    if kind is None:
        return None

    def value(register: str, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.search(registers.get(register, ""))
        if found is None:
            name = pattern.pattern.split(" ")[0]
            raise record.cut(f"its Express capability has no {register} with {name}")
        return found

    def size(register: str, pattern: re.Pattern[str]) -> int:
        count = int(value(register, pattern)[1])
        if count not in _SIZES:
            known = ", ".join(map(str, _SIZES))
            message = f"{register} of {record.slot} has a size of {count} bytes; there are {known}"
            raise record.error(message)
        return count

    boundary = _BOUNDARY.search(registers.get("LnkCtl", ""))
    return Express(
        kind,
        max_payload_supported=size("DevCap", _PAYLOAD),
        max_payload=size("DevCtl", _PAYLOAD),
        max_read_request=size("DevCtl", _READ_REQUEST),
        tags=_tags(registers),
        capable=_link(value("LnkCap", _LINK)) if kind.has_link else None,
        trained=_link(value("LnkSta", _LINK)) if kind.has_link else None,
        active="DLActive+" in registers.get("LnkSta", ""),
        read_completion_boundary=int(boundary[1]) if boundary else None,
        relaxed_ordering="RlxdOrd-" not in registers.get("DevCtl", ""),
        no_snoop="NoSnoop-" not in registers.get("DevCtl", ""),
        id_ordering="IDOReq+" in _control2(registers),
        id_ordering_completion="IDOCompl+" in _control2(registers),
        reports_errors=_REPORTS.search(registers.get("DevCtl", "")) is not None,
        power=dict(_power(registers)) if kind.has_link else {},
    )


_REPORTS = re.compile(r"(?:CorrErr|NonFatalErr|FatalErr|UnsupReq|Correctable|Fatal|Unsupported)\+")
"""An enabled error message, in the words of lspci 3.6 and later, and of earlier versions."""


def _control2(registers: dict[str, str]) -> str:
    """Device Control 2; lspci's lines after AtomicOpsCtl: are read as a part of AtomicOpsCtl."""
    return registers.get("DevCtl2", "") + registers.get("AtomicOpsCtl", "")


def _tags(registers: dict[str, str]) -> int:
    """The number of tags that a requester may use (PCIe Base 2.2.6.2)."""
    if "10BitTagReq+" in _control2(registers):
        return 768
    return 256 if "ExtTag+" in registers.get("DevCtl", "") else 32


_ENABLED = re.compile(r"ASPM ((?:L0s|L1)(?: L1)?) Enabled")
_EXITS = {
    "L0s": re.compile(r"L0s? <(\d{1,4})(ns|us)"),
    "L1": re.compile(r"L1 <(\d{1,4})(ns|us)"),
}
_UNLIMITED_NS = {"L0s": 4_000, "L1": 64_000}
"""Lower bounds of the exit latencies that lspci calls unlimited (PCIe Base 7.5.3.6)."""


def _power(registers: dict[str, str]) -> Iterator[tuple[str, int]]:
    """The enabled states of ASPM, with their exit latencies in nanoseconds."""
    enabled = _ENABLED.search(registers.get("LnkCtl", ""))
    for state in enabled[1].split() if enabled else ():
        exit_latency = _EXITS[state].search(registers.get("LnkCap", ""))
        if exit_latency is None:
            yield state, _UNLIMITED_NS[state]
        else:
            yield state, int(exit_latency[1]) * (1000 if exit_latency[2] == "us" else 1)


def _registers(record: _Record) -> tuple[Kind | None, dict[str, str]]:
    """The type of the Express capability, and its registers with their continuation lines."""
    kind: Kind | None = None
    registers: dict[str, str] = {}
    inside, name = False, ""
    for number, text in record.details:
        if text.startswith("Capabilities:"):
            found = _EXPRESS.match(text)
            inside = found is not None
            if found:
                kind = _kind(record, number, found[1])
        elif inside:
            register = _REGISTER.match(text)
            name, rest = (register[1], register[2]) if register else (name, text)
            registers[name] = f"{registers.get(name, '')} {rest}"
    return kind, registers


def _kind(record: _Record, number: int, text: str) -> Kind:
    name = text.strip()
    for kind in Kind:
        if kind == name:
            return kind
    known = ", ".join(Kind)
    raise record.error(
        f"{name!r} is not a type of PCI Express function; the types are {known}", number
    )


def _link(found: re.Match[str]) -> Link:
    return Link(GENERATIONS.get(found[1] or ""), int(found[2]))
