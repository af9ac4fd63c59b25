"""Adds workloads, incidents and expectations to a fabric that is built in code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self, Unpack

from peerlane._core import ScenarioError, advice
from peerlane.building.sections import Sections
from peerlane.dotted import join_path
from peerlane.fabric.keys import check_keys
from peerlane.fabric.settings import rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peerlane.fabric import typed_keys
    from peerlane.fabric.settings import Setting


class Workloads(Sections):
    """The methods of a fabric that add workloads; every method returns the fabric."""

    def flow(
        self,
        source: str,
        target: str | int,
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Flow],
    ) -> Self:
        """Adds a flow.

        Args:
            source: The node that sends requests.
            target: A device, a host's memory, or a bus address.
            id: The name of the flow in the results.
            settings: Parameters of the flow: `direction`, `size`, `count` or `duration`,
                `request_size`, `start`, `interval`, `offset`, `window`, `clock`; `requests` for
                recorded requests, each (time, offset, size) or (offset, size), whose numbers are
                nanoseconds and bytes; of a flow that a driver moves, `carries` and `after`; of a
                flow between `nic` devices, `primitive`, `outstanding`, `function`.
        """
        to = hex(target) if isinstance(target, int) else target
        return self._append("flows", {"id": id, "from": source, "to": to} | settings)

    def traffic(
        self,
        network: str,
        *,
        load: str | float,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        senders: str | None = None,
        receivers: str | None = None,
        **settings: Unpack[typed_keys.Traffic],
    ) -> Self:
        """Adds an open-loop workload: every node of a network sends messages at a fixed load.

        Args:
            network: The name of the network, or of any of its routers.
            load: The payload rate of each node, such as "1 GB/s".
            id: The name of the workload in the results.
            senders: The nodes that send: "hosts", or "routers" for the user logic of routers. In
                scenarios the key is `from`.
            receivers: The nodes that receive: "hosts" or "routers". In scenarios the key is `to`.
            settings: Other parameters: `duration`, `message`, `pattern`, `arrivals`, `start`,
                `hot_node`, `hot_share`.
        """
        sides = {"from": senders, "to": receivers}
        return self._append(
            "traffic", {"id": id, "network": network, "load": rate(load), **sides, **settings}
        )

    def set_traffic(self, id: str, **settings: Setting) -> Self:  # noqa: A002 - as above
        """Changes parameters of the traffic with this id; the value `None` removes a parameter.

        If `load` is a number, its unit is bytes a second.

        Raises:
            ScenarioError: The workload does not exist.
        """
        if settings.get("load") is not None:
            settings["load"] = rate(settings["load"])
        check_keys("traffic", settings)
        known = self._scenario.members("traffic")
        if id not in known:
            there = advice(id, known) if known else "there is none; write [[traffic]]"
            raise ScenarioError(f"there is no traffic {id!r}; {there}")
        return self._update(join_path(("traffic", id)), settings)

    def collective(
        self,
        network: str,
        operation: str,
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Collective],
    ) -> Self:
        """Adds a collective operation of all nodes of a ring, mesh or torus.

        Args:
            network: The name of the network.
            operation: "halo", an exchange with all neighbours, or "all-reduce".
            id: The name of the collective in the results.
            settings: Other parameters: `algorithm`, `size`, `iterations`, `start`.
        """
        return self._append(
            "collectives", {"id": id, "network": network, "operation": operation, **settings}
        )

    def schedule(
        self,
        operation: str,
        devices: Sequence[str],
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Schedule],
    ) -> Self:
        """Adds a collective operation of GPUs.

        Args:
            operation: "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast" or
                "steps", for the steps that `step` adds.
            devices: The GPUs in the order of their ranks.
            id: The name of the schedule in the results.
            settings: Other parameters: `algorithm`, `size`, `chunk`, `by`, `engine`, `island`,
                `start`.
        """
        written = {"id": id, "devices": list(devices), "operation": operation}
        return self._append("schedules", written | settings)

    def step(
        self,
        schedule: str,
        device: str,
        work: str,
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        after: Sequence[str] = (),
        **settings: Unpack[typed_keys.Step],
    ) -> Self:
        """Adds a step of a schedule whose operation is "steps".

        Args:
            schedule: The name of the schedule.
            device: The GPU that makes the step.
            work: "push", "pull", "reduce", "copy" or "compute".
            id: The name of the step.
            after: The steps that must have ended before this one begins.
            settings: Other parameters: `peer`, `size`, `offset`, `peer_offset`, `time`.
        """
        written = {"id": id, "schedule": schedule, "device": device, "work": work}
        return self._append("steps", written | {"after": list(after) or None} | settings)

    def buffer(self, name: str, host: str, **settings: Unpack[typed_keys.Buffer]) -> Self:
        """Adds a buffer in the memory of a host.

        Args:
            name: The name of the buffer.
            host: The host whose memory has the buffer.
            settings: Parameters of the buffer: `size`, `page`, `rights`.
        """
        check_keys("buffers", settings)
        return self._add("buffers", name, {"host": host, **settings})

    def accesses(
        self,
        by: str,
        buffer: str,
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Accesses],
    ) -> Self:
        """Adds accesses to a buffer, each of which begins after the previous one.

        Args:
            by: The node that makes the accesses: a coherent host, an `accelerator` or a
                `block-dma`.
            buffer: The buffer's name.
            id: The name of the accesses in the results.
            settings: Other parameters: `kind`, `size`, `count`, `warm_up`, `order`, `cores`,
                `first_core`, `start`, `interval`, `turnaround`, `driven`, `completion`,
                `warm_translations`.
        """
        return self._append("accesses", {"id": id, "by": by, "buffer": buffer, **settings})

    def locks(
        self,
        by: str,
        buffer: str,
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Locks],
    ) -> Self:
        """Adds requests for locks of a lock table, each of which begins after the previous one.

        Args:
            by: The coherent host or accelerator that makes the requests.
            buffer: The name of the buffer with the table.
            id: The name of the requests in the results.
            settings: Other parameters: `buckets`, `width`, `records`, `count`, `hold`, `interval`,
                `random_intervals`, `software`, `poll`, `cores`, `first_core`, `start`,
                `warm_translations`.
        """
        return self._append("locks", {"id": id, "by": by, "buffer": buffer, **settings})

    def transactions(
        self,
        by: str,
        buffer: str,
        locks: str,
        *,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Transactions],
    ) -> Self:
        """Adds transactions that update rows of a database, one after the other.

        Args:
            by: The coherent host or accelerator that makes the transactions.
            buffer: The name of the buffer with the rows.
            locks: The name of the buffer with the lock table.
            id: The name of the transactions in the results.
            settings: Other parameters: `rows`, `lock`, `contention`, `work`, and the keys of locks
                except `records` and `hold`.
        """
        entry = {"id": id, "by": by, "buffer": buffer, "locks": locks, **settings}
        return self._append("transactions", entry)

    def incident(
        self,
        what: str,
        node: str,
        *,
        at: str,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        **settings: Unpack[typed_keys.Incident],
    ) -> Self:
        """Adds an incident: an action of hardware or software on the fabric at one time of the run.

        Args:
            what: The kind of the incident, such as "function-level-reset".
            node: The node that the incident affects, by its link to the node above or by one of its
                functions.
            at: The time of the incident, counted from the time at which every link is up.
            id: The name of the incident.
            settings: The keys of the kind, such as `function`.
        """
        check_keys("incidents", settings)
        entry = {"id": id, "at": at, "what": what, "node": node, **settings}
        return self._append("incidents", entry)

    def expect(
        self,
        metric: str,
        *,
        at_least: str | float | None = None,
        at_most: str | float | None = None,
        id: str | None = None,  # noqa: A002 - the scenario's own word
        each: str | None = None,
    ) -> Self:
        """Expects a number of the result within bounds; if it is outside, the run counts as failed.

        Args:
            metric: The path of the number in the JSON of a result, such as
                "flows.up.bytes_per_second", "flows.up.latency_ns.p99" or
                "links.h0-s0.up.utilisation".
            at_least: The least permitted value, such as "3 GB/s"; a number has the unit of the
                metric.
            at_most: The greatest permitted value.
            id: The name of the expectation in `RunResult.expectations`.
            each: Repeats the expectation for each number of a range, such as "i = 0..7".
        """
        bounds = {"at_least": at_least, "at_most": at_most}
        return self._append("expect", {"id": id, "metric": metric, **bounds, "each": each})

    def measure(self, start: str, until: str) -> Self:
        """Sets the window in which rates are measured; times count from when every link is up."""
        return self._update("measure", {"from": start, "until": until})

    def steady(self, limit: str | None = None) -> Self:
        """Continues every workload until its rate in the steady state has been measured.

        Args:
            limit: The time at which the run ends in any case, counted from the time at which every
                link is up.
        """
        return self._update("measure", {"steady": True, "limit": limit})
