"""Measures a session: its times, its links, and the sources of the host's constants."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from peerlane.fabric.simulation import digest_of
from peerlane.fabric.variant import parsed
from peerlane.models.registry import catalogue
from peerlane.opae.card import places
from peerlane.reproduction.catalogue import folders, scenario_text
from peerlane.reproduction.expected import Expected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from peerlane.fabric.simulation import Simulation
    from peerlane.results.run import IncidentResult

COSTS = (
    "buffer_write_rate",
    "buffer_read_rate",
    "system_call",
    "page_pin",
    "clock_read",
    "poll",
    "interrupt_latency",
)
"""The keys of a host that determine the time of its programs."""


@dataclass(frozen=True, slots=True)
class Times:
    """The simulated time of a session, divided by its causes; the sum is the whole time."""

    link_ns: float
    """The time of accesses to registers, and of waits until a device writes to memory or signals an
    interrupt."""
    copies_ns: float
    """The time of copies to and from buffers."""
    system_calls_ns: float
    """The time of system calls, including the calls that pin and release buffers."""
    configuration_ns: float
    """The time of the configuration of slots."""
    program_ns: float
    """All other time: sleeping, reading clocks, polling."""


@dataclass(frozen=True, slots=True)
class LinkUse:
    """The measurements of one direction of a link during the session."""

    id: str
    direction: str
    payload_bytes: int
    busy_ns: float
    """The time in which the wire carried anything."""
    used: float | None
    """The share of the session's time in which the wire carried anything; `None` if the session
    took no time."""
    replays: int
    credit_stall_ns: float


@dataclass(frozen=True, slots=True)
class Constant:
    """The value of a host's key on which simulated times depend."""

    name: str
    value: str
    origin: str
    """The origin of the value: `calibrated` (fitted to measurements), `scenario` (set by the
    scenario) or `default`."""
    source: str
    """The source of the value; for a calibrated value, the rows to which it was fitted."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The measurements of a session."""

    host: str
    times: Times
    links: list[LinkUse]
    constants: list[Constant]
    incidents: list[IncidentResult]
    """The incidents that the simulation has logged: errors of functions and links, resets,
    removals."""
    incidents_left_out: int
    """The number of incidents for which the log had no space."""

    def to_json(self) -> dict[str, Any]:
        """The fields as a dictionary for JSON."""
        return asdict(self)


class Ledger:
    """Stores the counters before a session, and calculates its measurements at the end.

    Args:
        simulation: The simulation that the session uses.
        host: The host of the session; if absent, the first host with a card.
    """

    def __init__(self, simulation: Simulation, host: str | None) -> None:
        self._simulation = simulation
        cards = places(simulation)
        self.host = host or (cards[0].host if cards else "")
        self._before = simulation.wires().links

    def close(self, times: Mapping[str, float]) -> Evidence:
        """Ends the session's measurement; `times` has the simulated time of each cause."""
        link, copies = times["devices"], times["copies"]
        calls, configuration = times["system_calls"], times["configuration"]
        rest = times["all"] - link - copies - calls - configuration
        result = self._simulation.result()
        return Evidence(
            self.host,
            Times(link, copies, calls, configuration, max(rest, 0.0)),
            list(self._links(times["all"])),
            list(_constants(self._simulation, self.host)),
            list(result.incidents),
            result.incidents_left_out,
        )

    def _links(self, all_ns: float) -> Iterator[LinkUse]:
        for before, after in zip(self._before, self._simulation.wires().links, strict=True):
            busy = after.busy_ns - before.busy_ns
            yield LinkUse(
                after.id,
                after.direction,
                after.payload_bytes - before.payload_bytes,
                busy,
                busy / all_ns if all_ns else None,
                after.replays - before.replays,
                after.credit_stall_ns - before.credit_stall_ns,
            )


def _constants(simulation: Simulation, host: str) -> Iterator[Constant]:
    scenario = parsed(simulation.text, "<scenario>")
    table = scenario.path_of_node(host)
    costs = {f"{table}.{key}": key for key in COSTS}
    fitted = _calibrated(simulation.scenario_digest)
    for where, key in costs.items():
        value, origin, _ = scenario.effective(where)
        if origin == "default":
            yield Constant(key, str(value), origin, _source(key))
        elif where in fitted:
            yield Constant(key, str(value), "calibrated", fitted[where])
        else:
            yield Constant(key, str(value), "scenario", where)
    for where in sorted(fitted.keys() - costs.keys()):
        yield Constant(where, str(scenario.get(where)), "calibrated", fitted[where])


def _source(key: str) -> str:
    """The source of the default value of a host's key."""
    rows = catalogue()["parameters"]
    of_hosts = (row for row in rows if row["key"] == key and "hosts" in row["sections"])
    return str(next(of_hosts)["source"])


def _calibrated(digest: str) -> dict[str, str]:
    """The fitted keys of a published system, with the rows to which they were fitted."""
    for folder in folders():
        if digest_of(scenario_text(folder.name)) == digest:
            return {
                where: f"{entry.meaning}; fitted to {', '.join(entry.origin)}"
                for entry in Expected.load(folder).calibration
                for where in entry.where
            }
    return {}
