"""Listings of different kinds of machines, in the format of `lspci -vvv`."""

from __future__ import annotations

from dataclasses import dataclass

SPEEDS = ("2.5", "5", "8", "16", "32")


@dataclass(frozen=True)
class Record:
    """A function with a link, or with none where it has no `kind`."""

    slot: str
    what: str
    kind: str = ""
    buses: tuple[int, int, int] | None = None
    lanes: int = 16
    trained: int = 4
    capable: int = 4
    node: int | None = None
    control: str = "RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+"
    control2: str = "IDOReq- IDOCompl-"
    power: str = "Disabled"
    errors: str = "CorrErr+ NonFatalErr+ FatalErr+ UnsupReq-"
    more: tuple[str, ...] = ()

    def text(self) -> str:
        """The record as lspci prints it."""
        lines = [
            f"{self.slot} {self.what}",
            "\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- DisINTx-",
            "\tStatus: Cap+ 66MHz- UDF- FastB2B- ParErr- DEVSEL=fast >TAbort- <TAbort- INTx-",
            "\tLatency: 0",
        ]
        if self.node is not None:
            lines.append(f"\tNUMA node: {self.node}")
        if self.buses:
            primary, secondary, last = self.buses
            lines.append(
                f"\tBus: primary={primary:02x}, secondary={secondary:02x}, "
                f"subordinate={last:02x}, sec-latency=0"
            )
        if self.kind:
            lines += [
                "\tCapabilities: [50] MSI: Enable- Count=1/1 Maskable- 64bit+",
                "\t\tAddress: 0000000000000000  Data: 0000",
                f"\tCapabilities: [70] Express (v2) {self.kind}, MSI 00",
                "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0, Latency L0s <4us, L1 <64us",
                "\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ FLReset+ SlotPowerLimit 75.000W",
                f"\t\tDevCtl:\t{self.errors}",
                f"\t\t\t{self.control}",
                "\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes",
                "\t\tDevSta:\tCorrErr- NonFatalErr- FatalErr- UnsupReq- AuxPwr- TransPend-",
                (
                    f"\t\tLnkCap:\tPort #0, Speed {SPEEDS[self.capable - 1]}GT/s, "
                    f"Width x{self.lanes}, ASPM L0s L1, Exit Latency L0s <512ns, L1 <16us"
                ),
                "\t\t\tClockPM- Surprise- LLActRep- BwNot- ASPMOptComp+",
                f"\t\tLnkCtl:\tASPM {self.power}; RCB 64 bytes, Disabled- CommClk+",
                (
                    f"\t\tLnkSta:\tSpeed {SPEEDS[self.trained - 1]}GT/s (downgraded), "
                    f"Width x{self.lanes} (ok)"
                ),
                "\t\t\tTrErr- Train- SlotClk+ DLActive+ BWMgmt- ABWMgmt-",
                "\t\tDevCtl2: Completion Timeout: 50us to 50ms, TimeoutDis-",
                "\t\t\t AtomicOpsCtl: ReqEn-",
                f"\t\t\t {self.control2} LTR-",
            ]
        return "\n".join((*lines, *(f"\t{line}" for line in self.more), "", ""))


def domain(prefix: str, node: int | None, what: str, *, root: str = "Root Port") -> list[Record]:
    """A domain that has one root port with a device below it."""
    bridge = Record(f"{prefix}:00:00.0", f"PCI bridge: {root}", "Root Port", (0, 1, 1), node=node)
    return [bridge, Record(f"{prefix}:01:00.0", what, "Endpoint", node=node)]


def server(*below: Record) -> list[Record]:
    """A machine of two sockets with one device at each, and further functions below the first."""
    return [
        Record("00:00.0", "Host bridge: Vendor Root Complex", node=0),
        Record("00:01.0", "PCI bridge: Vendor Root Port", "Root Port", (0, 1, 1), node=0),
        Record("01:00.0", "Ethernet controller: Vendor NIC", "Endpoint", node=0),
        *below,
        Record("80:00.0", "Host bridge: Vendor Root Complex", node=1),
        Record("80:01.0", "PCI bridge: Vendor Root Port", "Root Port", (0x80, 0x81, 0x81), node=1),
        Record("81:00.0", "3D controller: Vendor GPU", "Endpoint", node=1),
    ]


def listing(records: list[Record]) -> str:
    """What lspci prints of a machine."""
    return "".join(record.text() + "\n" for record in records).replace("\n\n\n", "\n\n")
