"""TLP headers and DLLPs, read from their bytes."""

from __future__ import annotations

from dataclasses import dataclass

FRAMING = 8
"""Bytes that the link adds to a TLP (4.2.1.2, 4.2.2.3.1): framing, sequence number, LCRC."""

SEQUENCES = 4096

PASID = 0x91
"""Fmt and Type of a PASID prefix, an End-End prefix (2.2.10.2)."""

INTERRUPTS = 0xFEE0_0000
"""The addresses of interrupts in the hosts, which firmware writes to Message Address."""

POSTED, NON_POSTED, COMPLETION = 0, 1, 2
"""The types of flow-control credits, in the order of their codes (3.5.1)."""


@dataclass(frozen=True)
class Tlp:
    """The fields of a header (2.2.1)."""

    raw: bytes
    fmt: int
    type: int
    traffic_class: int
    attributes: int
    """Attr[2:0]: ID-based ordering, relaxed ordering, no snoop."""
    dwords: int
    """The field Length, 1 to 1024."""
    prefix: bytes = b""
    """The PASID prefix before the header (2.2.10.2, 6.20.2)."""

    @classmethod
    def parse(cls, raw: bytes) -> Tlp:
        prefix, raw = (raw[:4], raw[4:]) if raw[0] == PASID else (b"", raw)
        length = (raw[2] & 3) << 8 | raw[3]
        return cls(
            raw=raw,
            fmt=raw[0] >> 5,
            type=raw[0] & 0x1F,
            traffic_class=raw[1] >> 4 & 7,
            attributes=(raw[1] >> 2 & 1) << 2 | raw[2] >> 4 & 3,
            dwords=length or 1024,
            prefix=prefix,
        )

    @property
    def has_data(self) -> bool:
        return bool(self.fmt & 2)

    @property
    def payload(self) -> int:
        """Bytes of data, in whole dwords."""
        return 4 * self.dwords if self.has_data else 0

    @property
    def size(self) -> int:
        """Bytes on the wire, with an ECRC if TD is set."""
        header = len(self.prefix) + len(self.raw)
        return header + self.payload + 4 * (self.raw[2] >> 7) + FRAMING

    @property
    def pasid(self) -> int | None:
        """The number in the PASID prefix, if there is one."""
        return int.from_bytes(self.prefix, "big") & 0xFFFFF if self.prefix else None

    @property
    def permissions(self) -> int:
        """Bits of the PASID prefix: 1 for Execute Requested, 2 for Privileged Mode Requested."""
        return self.prefix[1] >> 6 if self.prefix else 0

    @property
    def is_translated(self) -> bool:
        """Whether the address of a memory request is translated (10.2.1)."""
        return self.is_memory and self.raw[2] >> 2 & 3 == 2

    @property
    def is_memory(self) -> bool:
        return self.type == 0

    @property
    def is_completion(self) -> bool:
        return self.type in (0b01010, 0b01011)

    @property
    def is_message(self) -> bool:
        return self.type & 0b11000 == 0b10000

    @property
    def is_refusal_of_l1(self) -> bool:
        """Whether it is PM_Active_State_Nak, which ends at its receiver (2.2.8.2)."""
        return self.type == 0b10100 and self.raw[7] == 0x14

    @property
    def is_atomic(self) -> bool:
        return self.type in (0b01100, 0b01101, 0b01110)

    @property
    def is_configuration(self) -> bool:
        return self.type in (0b00100, 0b00101)

    @property
    def is_interrupt(self) -> bool:
        """Whether it is a message signalled interrupt to the processors of its host."""
        return self.is_memory and self.has_data and INTERRUPTS <= self.address < INTERRUPTS + 2**20

    @property
    def is_known(self) -> bool:
        """Whether PCI Express Base defines the packet."""
        return True

    @property
    def credit(self) -> int:
        """The type of credit that it consumes (2.6.1, table 2-36)."""
        if self.is_completion:
            return COMPLETION
        return POSTED if self.is_message or (self.is_memory and self.has_data) else NON_POSTED

    @property
    def data_credits(self) -> int:
        return -(-self.payload // 16)

    @property
    def requester(self) -> int:
        at = 8 if self.is_completion else 4
        return int.from_bytes(self.raw[at : at + 2], "big")

    @property
    def completer(self) -> int:
        return int.from_bytes(self.raw[4:6], "big")

    @property
    def tag(self) -> int:
        """With the bits T9 and T8 of 10-bit tags."""
        low = self.raw[10] if self.is_completion else self.raw[6]
        return (self.raw[1] >> 7) << 9 | (self.raw[1] >> 3 & 1) << 8 | low

    @property
    def transaction(self) -> tuple[int, int]:
        return self.requester, self.tag

    @property
    def status(self) -> int:
        return self.raw[6] >> 5

    @property
    def byte_count(self) -> int:
        return ((self.raw[6] & 0xF) << 8 | self.raw[7]) or 4096

    @property
    def lower_address(self) -> int:
        return self.raw[11] & 0x7F

    @property
    def address(self) -> int:
        """The address of the first dword of a memory or atomic request."""
        return int.from_bytes(self.raw[8:], "big") & ~3

    @property
    def first_enabled(self) -> int:
        """Bytes in front of the first enabled byte (2.2.5, 2.3.1.1)."""
        first = self.raw[7] & 0xF
        return 0 if first == 0 else (first & -first).bit_length() - 1

    @property
    def asked(self) -> tuple[int, int]:
        """The address of the first byte that completions return, and how many (2.2.9, 2.3.1.1)."""
        if self.is_atomic:
            operands = 2 if self.type == 0b01110 else 1
            return 0, self.payload // operands
        if not self.is_memory:
            return 0, 4
        first, last = self.raw[7] & 0xF, self.raw[7] >> 4
        if first == 0:
            return self.address, 1
        end = last if self.dwords > 1 else first
        behind = 4 - end.bit_length()
        lead = self.first_enabled
        return self.address + lead, 4 * self.dwords - lead - behind


@dataclass(frozen=True)
class Foreign(Tlp):
    """A packet that PCI Express Base does not define, on the same link."""

    credit_type: int = POSTED
    payload_bytes: int = 0

    @property
    def payload(self) -> int:
        return self.payload_bytes

    @property
    def size(self) -> int:
        return len(self.raw) + self.payload_bytes + FRAMING

    @property
    def credit(self) -> int:
        return self.credit_type

    @property
    def is_known(self) -> bool:
        return False


@dataclass(frozen=True)
class Dllp:
    """The fields of a DLLP (3.5.1)."""

    kind: str
    sequence: int = 0
    credit: int = 0
    channel: int = 0
    headers: int = 0
    data: int = 0
    header_scale: int = 0
    data_scale: int = 0

    @classmethod
    def parse(cls, raw: bytes) -> Dllp:
        word = int.from_bytes(raw[:4], "big")
        if raw[0] in (0x00, 0x10):
            return cls("Ack" if raw[0] == 0 else "Nak", sequence=word & 0xFFF)
        power = {0x23: "PM_Active_State_Request_L1", 0x24: "PM_Request_Ack"}.get(raw[0])
        if power is not None:
            return cls(power)
        stage = {0x40: "InitFC1", 0x80: "UpdateFC", 0xC0: "InitFC2"}.get(raw[0] & 0xC8)
        if stage is None or raw[0] >> 4 & 3 == 3:
            return cls("other")
        return cls(
            stage,
            credit=raw[0] >> 4 & 3,
            channel=raw[0] & 7,
            headers=word >> 14 & 0xFF,
            data=word & 0xFFF,
            header_scale=word >> 22 & 3,
            data_scale=word >> 12 & 3,
        )

    @property
    def is_credit(self) -> bool:
        return self.kind in ("InitFC1", "InitFC2", "UpdateFC")
