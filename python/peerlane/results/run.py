"""The result of a run, all workloads and links together; field names are those of the JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from peerlane.results.collection import Collection
from peerlane.results.flows import FlowResult, Latency, LinkResult
from peerlane.results.networks import CollectiveResult, FibreResult, TrafficResult
from peerlane.results.sharing import (
    AccessResult,
    CacheResult,
    LockResult,
    LostLine,
    TransactionResult,
    TranslationResult,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_NOT_INTACT = "its bytes did not all arrive, once, as they were sent"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that the fabric answered with an error, such as an unsupported request."""

    where: str
    what: str
    count: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """Everything that one run measured.

    `incoherence` says which invariant of coherence did not hold first, if they were watched.
    `standing_packets` stood still in the end, with nothing left that could move them: a deadlock.
    """

    name: str
    seed: int
    simulated_ns: float
    flows: Collection[FlowResult]
    traffic: Collection[TrafficResult]
    collectives: Collection[CollectiveResult]
    accesses: Collection[AccessResult]
    locks: Collection[LockResult]
    transactions: Collection[TransactionResult]
    links: Collection[LinkResult]
    fibres: Collection[FibreResult]
    lost_lines: tuple[LostLine, ...]
    errors: Collection[Fault]
    incoherence: str | None
    standing_packets: int

    @classmethod
    def from_json(cls, text: str) -> RunResult:
        """Reads the JSON that the simulator writes."""
        document = json.loads(text)
        return cls(
            name=document["name"],
            seed=document["seed"],
            simulated_ns=document["simulated_ns"],
            flows=Collection(map(_flow, document["flows"])),
            traffic=Collection(map(_traffic, document["traffic"])),
            collectives=Collection(CollectiveResult(**one) for one in document["collectives"]),
            accesses=Collection(map(_accesses, document["accesses"])),
            locks=Collection(map(_locks, document["locks"])),
            transactions=Collection(map(_transactions, document["transactions"])),
            links=Collection(LinkResult(**link) for link in document["links"]),
            fibres=Collection(map(_fibre, document["fibres"])),
            lost_lines=tuple(LostLine(**line) for line in document["lost_lines"]),
            errors=Collection((Fault(**fault) for fault in document["errors"]), key="where"),
            incoherence=document["incoherence"],
            standing_packets=document["standing_packets"],
        )

    def to_json(self) -> dict[str, Any]:
        """The result as the command line writes it."""
        return {
            "name": self.name,
            "seed": self.seed,
            "simulated_ns": self.simulated_ns,
            "flows": [_directed(flow) for flow in self.flows],
            "traffic": [asdict(traffic) for traffic in self.traffic],
            "collectives": [asdict(one) for one in self.collectives],
            "accesses": [asdict(one) for one in self.accesses],
            "locks": [asdict(one) for one in self.locks],
            "transactions": [asdict(one) for one in self.transactions],
            "links": [asdict(link) for link in self.links],
            "fibres": [_directed(fibre) for fibre in self.fibres],
            "lost_lines": [asdict(line) for line in self.lost_lines],
            "errors": [asdict(fault) for fault in self.errors],
            "incoherence": self.incoherence,
            "standing_packets": self.standing_packets,
        }

    def to_pandas(self) -> DataFrame:
        """The flows, one line for each; the other collections have one of their own.

        Raises:
            ModuleNotFoundError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        return self.flows.to_pandas()

    @property
    def failures(self) -> list[str]:
        """Why this run did not do what was asked of it; empty when it did."""
        faults = [
            f"{e.where}: {e.what}" + f" ({e.count} times)" * (e.count > 1) for e in self.errors
        ]
        asked: list[tuple[str, FlowResult | TrafficResult | AccessResult]] = [
            *(("flow", flow) for flow in self.flows),
            *(("traffic", traffic) for traffic in self.traffic),
            *(("accesses", accesses) for accesses in self.accesses if not accesses.failed),
        ]
        missed = [
            f"{what} {one.id}: " + (_NOT_INTACT if one.completed else "did not complete")
            for what, one in asked
            if not (one.completed and one.intact)
        ]
        missed += [
            f"collective {one.id}: " + ("is not correct" if one.completed else "did not complete")
            for one in self.collectives
            if not one.correct
        ]
        missed += [
            f"accesses {one.id}: {one.failed} of {one.count} led nowhere, or were not allowed"
            for one in self.accesses
            if one.failed
        ]
        missed += [
            f"what {line.by} had written at {line.address:#x} of {line.host} is lost"
            for line in self.lost_lines
        ]
        missed += [
            f"locks {one.id}: {one.violations} times not one holder"
            if one.violations
            else f"locks {one.id}: did not complete"
            for one in self.locks
            if one.violations or not one.completed
        ]
        missed += [
            f"transactions {one.id}: "
            + ("the versions differ" if one.completed else "did not complete")
            for one in self.transactions
            if not one.intact
        ]
        if self.incoherence:
            missed.append(f"not coherent: {self.incoherence}")
        if self.standing_packets:
            missed.append(f"{self.standing_packets} packets stand still for ever: a deadlock")
        return faults + missed


def _flow(fields: dict[str, Any]) -> FlowResult:
    latency = fields["latency_ns"]
    rest = {k: v for k, v in fields.items() if k not in {"from", "to", "latency_ns"}}
    return FlowResult(
        source=fields["from"],
        target=fields["to"],
        latency_ns=latency and Latency(**latency),
        **rest,
    )


def _traffic(fields: dict[str, Any]) -> TrafficResult:
    latency, nodes = fields["latency_ns"], fields["node_bytes_per_second"]
    rest = {k: v for k, v in fields.items() if k not in {"latency_ns", "node_bytes_per_second"}}
    return TrafficResult(
        latency_ns=latency and Latency(**latency),
        node_bytes_per_second=nodes and tuple(nodes),
        **rest,
    )


def _accesses(fields: dict[str, Any]) -> AccessResult:
    latency, cache, translations = (
        fields.pop(key) for key in ("latency_ns", "cache", "translations")
    )
    return AccessResult(
        latency_ns=latency and Latency(**latency),
        histogram_ns=_histogram(fields.pop("histogram_ns")),
        cache=cache and CacheResult(**cache),
        translations=translations and TranslationResult(**translations),
        **fields,
    )


def _locks(fields: dict[str, Any]) -> LockResult:
    request, waiting = (fields.pop(key) for key in ("request_ns", "waiting_ns"))
    return LockResult(
        request_ns=request and Latency(**request),
        waiting_ns=waiting and Latency(**waiting),
        histogram_ns=_histogram(fields.pop("histogram_ns")),
        **fields,
    )


def _transactions(fields: dict[str, Any]) -> TransactionResult:
    latency = fields.pop("latency_ns")
    return TransactionResult(
        latency_ns=latency and Latency(**latency),
        histogram_ns=_histogram(fields.pop("histogram_ns")),
        **fields,
    )


def _histogram(steps: list[list[Any]]) -> tuple[tuple[float, int], ...]:
    return tuple((bound, count) for bound, count in steps)


def _fibre(fields: dict[str, Any]) -> FibreResult:
    rest = {k: v for k, v in fields.items() if k not in {"from", "to"}}
    return FibreResult(source=fields["from"], target=fields["to"], **rest)


def _directed(result: FlowResult | FibreResult) -> dict[str, Any]:
    fields = asdict(result)
    return {
        "id": fields.pop("id"),
        "from": fields.pop("source"),
        "to": fields.pop("target"),
        **fields,
    }
