"""Builds fabrics in code, with the same meaning as in scenario files.

A `Fabric` holds a scenario in TOML, which the parser of scenario files reads. So a name, a unit or
a default has the same meaning in code and in files.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from peerlane._core import Scenario, ScenarioError, advice
from peerlane.building.sections import stated
from peerlane.building.workloads import Workloads
from peerlane.dotted import join_path, split_path
from peerlane.explaining.explain import explain
from peerlane.fabric.filter import EVERYTHING, Filter
from peerlane.fabric.keys import check_keys
from peerlane.fabric.settings import attached, split, with_unit
from peerlane.fabric.simulation import Simulation, already_warned, read_scenario
from peerlane.fabric.variant import parsed
from peerlane.models.loading import Library, refuse_file, refuse_many, settings_of, with_model
from peerlane.models.registry import registered_models
from peerlane.results import markup
from peerlane.results.workload import LISTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor
    from os import PathLike

    from networkx import Graph

    from peerlane.fabric import typed_keys
    from peerlane.fabric.settings import Setting
    from peerlane.fabric.simulation import Capture
    from peerlane.fabric.tree import Tree
    from peerlane.models.device import Device
    from peerlane.progress import Progress
    from peerlane.results.explanation import Explanation
    from peerlane.results.run import RunResult
    from peerlane.varying.sweep import Sweep

_NODES = ("hosts", "io_ports", "switches", "devices")
_TABLES = (
    *("profiles", "hosts", "switches", "devices", "io_ports"),
    *("controllers", "cables", "networks", "fibres", "buffers", "incidents"),
)
"""The sections whose tables have names or join two nodes, and the section of incidents."""
_CHANGED = (*_NODES, "controllers", "networks")
"""The sections in which `Fabric.set` changes tables."""


class Fabric(Workloads):
    """Hosts, switches, devices, networks of routers, the links between them, and the flows to run.

    Every method that adds something returns the fabric, so that calls can be chained. A method that
    raises an exception leaves the fabric unchanged. `peerlane list parameters` names every
    parameter of each kind of node. A size is a text with a unit, or a number of bytes. A rate is a
    text with a unit, or a number of bytes a second. All other quantities are texts with a unit.

    With `each="i = 0..511"` a call adds a node or workload for each number, which replaces `{i}`:
    `fabric.device("ep{i}", "sw{i / 64}", each="i = 0..511")`.

    Args:
        name: The name of the fabric in results and messages.
        seed: The seed of all random streams; the same seed gives the same trace.
    """

    def __init__(self, name: str = "fabric", *, seed: int | None = None) -> None:
        super().__init__(Scenario.parse("", f"<{name}>"))
        self._scenario.update({"name": name, "seed": seed})
        self._models: dict[str, type[Device] | Device | Library] = {}

    def __repr__(self) -> str:
        counts = ((kind, len(self._scenario.members(kind))) for kind in (*_TABLES, *LISTS))
        parts = ", ".join(f"{kind} {count}" for kind, count in counts if count)
        return f"<Fabric {self._scenario.get('name') or 'fabric'}: {parts or 'nothing yet'}>"

    @classmethod
    def from_toml(cls, text: str, *, source: str = "<text>") -> Self:
        """Creates the fabric that a scenario's text describes.

        Args:
            text: The scenario, as TOML.
            source: The name of the scenario in messages, usually its file name.

        Raises:
            ScenarioError: The text is not TOML.
        """
        fabric = cls()
        fabric._scenario = parsed(text, source)
        return fabric

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Creates the fabric that a scenario file describes.

        Raises:
            OSError: The file cannot be read.
            ScenarioError: The file is empty, is not text, or is not TOML.
        """
        return cls.from_toml(read_scenario(path), source=str(path))

    @classmethod
    def from_networkx(cls, graph: Graph[Any], *, name: str | None = None) -> Self:
        """Creates a fabric from a graph of networkx, for example from `Tree.to_networkx`.

        The attribute `kind` of a node is "host", "switch", "device" or "controller". The attribute
        `kind` of an edge is "link" (the default) between a node and a node below it, "fibre"
        between routers, "cable" between controllers, or "port" between a `nic` and its controller.
        All other attributes are settings of the node, or of the link, fibre or cable. Of a graph
        from `Tree.to_networkx` only kinds, models, and widths and generations of links are used;
        enumeration determines all other attributes.

        Args:
            graph: The graph; directions of its edges have no meaning.
            name: The name of the fabric; by default the graph's name.

        Raises:
            ScenarioError: A node is below no host, links close a circle, or a kind or a key is
                unknown.
        """
        from peerlane.building.graph import add_graph  # noqa: PLC0415 - for graphs alone

        fabric = cls(name or graph.name or "fabric")
        add_graph(fabric, graph)
        return fabric

    def copy(self) -> Self:
        """Returns an independent copy of the fabric."""
        # The copy shares the mapping of models, which no method changes.
        return deepcopy(self, {id(self._models): self._models})

    def links(self, **settings: Unpack[typed_keys.Links]) -> Self:
        """Sets keys of all links; a link with a value of its own for a key keeps that value."""
        check_keys("links", settings)
        return self._update("links", {k: v for k, v in settings.items() if v is not None})

    def profile(
        self, name: str, *, base: str | None = None, **settings: Unpack[typed_keys.Profile]
    ) -> Self:
        """Adds a named set of port parameters, on top of the profile `base`."""
        check_keys("profiles", settings)
        return self._add("profiles", name, {"base": base} | settings)

    def host(self, name: str, **settings: Unpack[typed_keys.Host]) -> Self:
        """Adds a host: a root complex and its memory.

        Raises:
            ScenarioError: The fabric already has a host of this name, a setting is not a text, a
                number or a boolean, or no scenario has a key of this name. All methods that add
                something raise this error.
            TypeError: The name is not text.
        """
        check_keys("hosts", settings)
        return self._add("hosts", name, settings)

    def switch(self, name: str, to: str, **settings: Unpack[typed_keys.Switch]) -> Self:
        """Adds a switch below `to`, a host or another switch.

        Args:
            name: The name of the new switch.
            to: The node above.
            settings: Parameters of the switch, and of its link to the node above: `generation`,
                `lanes`, `port` and all other keys of `[links]`.
        """
        check_keys("switches", settings)
        return self._add("switches", name, attached(to, settings))

    if TYPE_CHECKING:
        device: typed_keys.AddDevice[Self]
    else:

        def device(
            self,
            name: str,
            to: str,
            *,
            model: str | type[Device] | Device | Library | None = None,
            **settings: Setting,
        ) -> Self:
            """Adds a device below `to`.

            Args:
                name: The name of the new device.
                to: The node above.
                model: The name of a built-in model, or a model that you write: a class derived from
                    `peerlane.Device`, an object of such a class, which is then the device in each
                    simulation of the fabric, or a `peerlane.Library`.
                settings: Parameters of the link, as for `switch`, of the device, and of its model.

            Raises:
                ScenarioError: As for `host`.
                TypeError: `model` is no model, or the name of a file.
                ValueError: The class of the model is wrong, or the object is already another
                    device.
            """
            if model is None or isinstance(model, str):
                refuse_file(model)
                check_keys("devices", settings)
                return self._add("devices", name, {"model": model} | attached(to, settings))
            known = self._models
            known_as, models = with_model(known, model)
            if not isinstance(model, type | Library):
                settings = {**settings_of(model), **settings}
            with registered_models(models):
                check_keys("devices", settings)
            self._add("devices", name, {"model": known_as} | attached(to, settings))
            self._models = models
            return self

    def controller(self, name: str, **settings: Unpack[typed_keys.Controller]) -> Self:
        """Adds the crossbar that the `nic` devices of several hosts share."""
        check_keys("controllers", settings)
        return self._add("controllers", name, settings)

    def io_port(
        self, name: str, owners: Sequence[str], **settings: Unpack[typed_keys.IoPort]
    ) -> Self:
        """Adds an I/O port of a controller; its endpoint is a device that is added with `to=name`.

        Args:
            name: The name of the port.
            owners: The hosts that own the functions of the endpoint: the host of the physical
                function, and then the hosts of the virtual functions.
            settings: Parameters of the port: `controller`, `processor`, `loads`, `tags` and others.
        """
        if isinstance(owners, str):
            raise TypeError(f"owners are a list of names; write [{owners!r}]")
        check_keys("io_ports", settings)
        return self._add("io_ports", name, settings | {"owners": list(owners)})

    def cable(self, a: str, b: str, **settings: Unpack[typed_keys.Cable]) -> Self:
        """Joins two controllers by a link; its `settings` are `generation`, `lanes` and others."""
        return self._append("cables", {"from": a, "to": b} | settings)

    def network(
        self,
        name: str,
        *,
        shape: str | None = None,
        size: str | int | Sequence[int] | None = None,
        hosts: Mapping[str, Setting] | None = None,
        routers: Mapping[str, Setting] | None = None,
        **settings: Unpack[typed_keys.Network],
    ) -> Self:
        """Adds a ring, mesh or torus: a host and a router below it for each node, and the fibres.

        The routers are called `NAME-X-Y`, by their coordinates, and their hosts `NAME-X-Y-host`.

        Args:
            name: The name of the network.
            shape: "ring", "mesh" or "torus".
            size: The number of nodes along each of one to three dimensions, such as "8x8" or `(8,
                8)`.
            hosts: Parameters of every host.
            routers: Parameters of every router, and of the link from each router to its host, as
                for `switch`.
            settings: Parameters of the network (`routing`, `dateline`), and of every fibre
                (`length`, `fibre_bit_error_rate`, `severed_at`).
        """
        check_keys("networks", settings)
        check_keys("hosts", hosts or ())
        check_keys("devices", routers or ())
        if isinstance(size, Sequence) and not isinstance(size, str):
            size = "x".join(map(str, size))
        fields: dict[str, Any] = {"shape": shape, "size": size} | settings
        if hosts is not None:
            fields["hosts"] = stated("hosts", hosts)
        if routers is not None:
            link, own = split(stated("devices", routers))
            fields["routers"] = ({"upstream": link} if link else {}) | own
        return self._add("networks", name, fields)

    def fibre(
        self,
        a: str,
        b: str,
        *,
        from_port: int | None = None,
        to_port: int | None = None,
        **settings: Unpack[typed_keys.Fibre],
    ) -> Self:
        """Joins two routers by a fibre, or sets parameters of one fibre of a network.

        Args:
            a: A router: a device with the model "router", or a router of a network.
            b: The other router.
            from_port: The optical port of `a`; by default the next free port.
            to_port: The optical port of `b`; by default the next free port.
            settings: Parameters of the fibre: `length`, `fibre_bit_error_rate`, `severed_at`.
        """
        ports = {"from_port": from_port, "to_port": to_port}
        return self._append("fibres", {"from": a, "to": b} | ports | settings)

    def set(self, name: str, **settings: Setting) -> Self:
        """Changes parameters of a host, switch, device, controller or network.

        The value `None` removes a parameter.

        Raises:
            ScenarioError: The node does not exist, or a setting belongs to the link above the node,
                and the node has no such link.
        """
        check_keys("nodes", settings)
        scenario = self._scenario.copy()
        if not any(name in scenario.members(kind) for kind in _CHANGED):
            scenario.write_out()  # the node may be a member of a repeated table
        known = {one: kind for kind in _CHANGED for one in scenario.members(kind)}
        if name not in known:
            there = advice(name, list(known)) if known else "there is none yet"
            raise ScenarioError(f"there is no node, controller or network {name!r}; {there}")
        table = join_path((known[name], name))
        settings = stated(known[name], settings)
        link, own = split(settings) if known[name] in _NODES else ({}, settings)
        if link and scenario.get(f"{table}.upstream") is None:
            raise ScenarioError(f"{name!r} has no link above it; set the link of a node below it")
        scenario.update({f"{table}.{key}": value for key, value in own.items()})
        scenario.update({f"{table}.upstream.{key}": value for key, value in link.items()})
        self._scenario = scenario
        return self

    def override(self, path: str, value: Setting) -> Self:
        """Changes the key at `path`, such as "links.lanes", "flows.up.size" or "devices.*.tags".

        A path is a section, the name or id of an entry (`*` for every one), and the key. The value
        `None` removes the key.

        Raises:
            ScenarioError: The section, name or id does not exist.
        """
        self._scenario.set(path, _stated_at(path, value))
        return self

    def without_flows(self) -> Self:
        """Removes all workloads, and the expectations of the run."""
        for work in (*LISTS, "expect"):
            self._scenario.remove(work)
        return self

    def without_nodes(self) -> Self:
        """Removes all nodes and the links between them; profiles and keys of all links stay."""
        for kind in (*_NODES, "controllers", "networks", "cables", "fibres", "incidents"):
            self._scenario.remove(kind)
        return self

    def to_toml(self) -> str:
        """The scenario as text."""
        return self._scenario.to_toml()

    def simulation(self, *, seed: int | None = None) -> Simulation:
        """Creates a simulation of the fabric, which is enumerated and ready to run.

        Raises:
            ScenarioError: The fabric cannot be built. The message names the wrong key, with its
                line if it is from a file.
        """
        return Simulation(self._simulated(), seed=seed, models=self._models)

    def _simulated(self) -> Scenario:
        """The scenario from which a simulation is created."""
        return self._scenario.copy()

    def tree(self) -> Tree:
        """The nodes and links of the fabric after enumeration."""
        return self.simulation().tree()

    def run(  # noqa: PLR0913 - each says one thing of a run
        self,
        *,
        seed: int | None = None,
        trace: str | PathLike[str] | None = None,
        perfetto: str | PathLike[str] | None = None,
        vcd: str | PathLike[str] | None = None,
        pcap: str | PathLike[str] | None = None,
        only: Filter = EVERYTHING,
        watch_waits: bool = False,
        progress: Callable[[float], object] | None = None,
        threads: int | Literal["auto"] | None = None,
    ) -> RunResult:
        """Runs all flows, traffic and collectives to their end.

        Args:
            seed: The seed of the run, instead of the fabric's seed.
            trace: A file for the packet trace; `Simulation.capture` describes all captures.
            perfetto: A file for a timeline.
            vcd: A file for the activity of links.
            pcap: A file for a capture in pcapng.
            only: A filter for the packets that are captured.
            watch_waits: Whether to find out what flows wait for: `RunResult.explain`.
            progress: A function that is called from time to time with the share of the run that is
                done, 0 to 1.
            threads: The number of threads of the run, or "auto", as for `Simulation.run`.

        Raises:
            OSError: The file of a capture could not be written completely.
            ValueError: `only` is no valid filter, or is given without a capture; `threads` is less
                than 1.
        """
        simulation = self.simulation(seed=seed)
        captures: dict[Capture, str | PathLike[str] | None] = {
            "trace": trace,
            "perfetto": perfetto,
            "vcd": vcd,
            "pcap": pcap,
        }
        files = {form: path for form, path in captures.items() if path is not None}
        if only and not files:
            raise ValueError("only filters a capture; give trace, perfetto, vcd or pcap, too")
        for form, path in files.items():
            simulation.capture(form, path, only=only)
        if watch_waits:
            simulation.watch_waits()
        return simulation.run(progress, threads=threads)

    def sweep(  # noqa: PLR0913 - each says one thing of a sweep
        self,
        vary: Mapping[str, str | Iterable[Setting]],
        metrics: str | Iterable[str] = (),
        *,
        sample: str | None = None,
        seed: int | None = None,
        repeat: int = 1,
        scheduler: str | None = None,
        executor: Executor | None = None,
        out: str | PathLike[str] | None = None,
        resume: bool = False,
        progress: Callable[[Progress], object] | None = None,
    ) -> Sweep:
        """Runs the fabric for every combination of values of some keys, on all processors.

        A point (one combination of values) that fails is in the table with its reason, and does not
        end the sweep.

        Args:
            vary: The values of each key, by its path as for `override`: a list, or a text such as
                "8..256*2", "64 B..4 KiB*2" or "3,4,5".
            metrics: Paths in the JSON of results, such as "flows.up.bytes_per_second"; the rates of
                all workloads, if there are none.
            sample: "random:N" or "lhs:N": N random points instead of every combination.
            seed: The seed of the random points, and of all random streams of each run, instead of
                the fabric's seed.
            repeat: The number of runs of each combination, with consecutive seeds.
            scheduler: The address of a Dask scheduler, whose workers run the points.
            executor: The executor of the runs, such as `ProcessPoolExecutor()` or
                `Client.get_executor()` of Dask.
            out: A file for the table, whose name ends with .csv or .parquet. During the sweep, a
                journal in the same folder has the points that are done.
            resume: Whether to continue an interrupted sweep from its journal.
            progress: A function that is called after each point with the share of the sweep that is
                done.

        Raises:
            ScenarioError: The fabric cannot be built, or does not have one of the keys.
            ValueError: `vary`, `metrics`, `sample` or `out` is wrong.
            ClusterError: The cluster cannot do the work.
        """
        from peerlane.varying.sweep import sweep_points  # noqa: PLC0415 - for sweeps alone

        refuse_many(self._models)
        varied = {
            path: values if isinstance(values, str) else [_stated_at(path, one) for one in values]
            for path, values in vary.items()
        }
        with registered_models(self._models):
            return sweep_points(
                self.to_toml(),
                varied,
                [metrics] if isinstance(metrics, str) else metrics,
                source=f"<{self._scenario.get('name') or 'fabric'}>",
                sample=sample,
                seed=seed,
                repeat=repeat,
                scheduler=scheduler,
                executor=executor,
                out=out,
                resume=resume,
                progress=progress,
            )

    def explain(
        self,
        flow: str | None = None,
        *,
        what_if: bool = True,
        seed: int | None = None,
        executor: Executor | None = None,
    ) -> Explanation:
        """Runs the fabric, finds what its flows and schedules wait for, and changes that help.

        Args:
            flow: The id of the flow or schedule to explain; by default all of them.
            what_if: Whether to run again with the limit of each bottleneck raised.
            seed: The seed of the run, instead of the fabric's seed.
            executor: The executor of the runs, such as `ProcessPoolExecutor()` or
                `Client.get_executor()` of Dask.

        Raises:
            ScenarioError: The fabric cannot be built, has no flows and no schedules, or none with
                this id.
        """
        if what_if:
            refuse_many(self._models)
        with registered_models(self._models):
            text = self.to_toml()
            return explain(text, flow=flow, what_if=what_if, seed=seed, executor=executor)

    def _repr_html_(self) -> str:
        """The topology as HTML for a notebook; if the fabric cannot be built, the error."""
        from peerlane.topology import draw  # noqa: PLC0415 - for notebooks alone

        try:
            with already_warned():
                return draw(self)._repr_html_()
        except ScenarioError as error:
            return markup.page(markup.line(str(error), "wrong"))


def _stated_at(path: str, value: Setting) -> Setting:
    """The value of the key at a path, in which a plain number has a unit."""
    parts = split_path(path)
    found: Setting = with_unit(parts[0], parts[-1], value)
    return found
