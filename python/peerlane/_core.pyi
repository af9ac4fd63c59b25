"""The compiled core: the simulator, and descriptions of its models, parameters and units."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypedDict, final, type_check_only

from peerlane.errors import PeerlaneError

__all__ = [
    "BUILD_PROFILE",
    "COMPENSATED_SHARE",
    "ENVELOPE_BYTES",
    "FIBRE_BLOCK_BITS",
    "TLP_FRAMING_BYTES",
    "DeviceModel",
    "HostThread",
    "Job",
    "ModelBench",
    "ModelError",
    "ModelShell",
    "Scenario",
    "ScenarioError",
    "Session",
    "Shell",
    "Simulation",
    "UnitError",
    "__version__",
    "advance",
    "advance_to",
    "advice",
    "afus",
    "begin_read",
    "begin_write",
    "begins_bitstream",
    "bench_access",
    "bench_run",
    "bench_scenario",
    "bench_shape",
    "bench_shapes",
    "bench_socket",
    "call_model",
    "cards",
    "catalogue",
    "fix",
    "frame_cycles",
    "histogram_buckets",
    "histogram_quantile",
    "is_key",
    "join_path",
    "link_bytes_per_second",
    "load_circuit",
    "load_image",
    "load_model",
    "nearest",
    "nics",
    "notice",
    "pack_tlp",
    "parameter_value",
    "pattern",
    "quantity",
    "read_bandwidth",
    "read_bitstream",
    "read_size",
    "read_value",
    "real_time",
    "register_model",
    "schema",
    "send_back",
    "split_path",
    "take_outcomes",
    "unit_size",
    "workload_lists",
    "write_bitstream",
    "write_header_bytes",
]

__version__: str
BUILD_PROFILE: str
COMPENSATED_SHARE: float
"""The share of a fibre's cycles that can carry data; clock compensation uses the other cycles."""
ENVELOPE_BYTES: int
"""The bytes of the header and CRC around a packet on a fibre."""
FIBRE_BLOCK_BITS: int
"""The bits of a block on one lane of a fibre."""
TLP_FRAMING_BYTES: int
"""The bytes of framing, sequence number and LCRC of a TLP."""

class UnitError(PeerlaneError, RuntimeError):
    """An accelerator in Python raised an exception, which is the cause; the run has ended."""

class ModelError(PeerlaneError, RuntimeError):
    """A device model failed, which ends the run; if Python raised an exception, it is the cause."""

class ScenarioError(PeerlaneError, ValueError):
    """A scenario cannot be built; the message has the form `FILE:LINE: problem; correction`."""

@final
class Scenario:
    """A scenario as written, whose keys are read and set by their paths.

    A path is the section, the name or id of an entry, and the key: "links.lanes",
    "flows.up.size", "devices.*.tags".
    """

    @staticmethod
    def parse(text: str, source: str = "<text>", models: list[DeviceModel] = ...) -> Scenario:
        """Parses a TOML text; `source` is the name of the scenario in messages."""

    @property
    def source(self) -> str:
        """The name of the scenario in messages."""

    def copy(self) -> Scenario:
        """Returns an independent copy of the scenario."""

    def __deepcopy__(self, _memo: object) -> Scenario: ...
    def __reduce__(self) -> tuple[Callable[..., Scenario], tuple[Any, ...]]: ...
    @staticmethod
    def restored(
        text: tuple[str, str], lines: list[int], places: list[int], members: list[str | None]
    ) -> Scenario:
        """Restores a pickled scenario from its TOML, its source, and its positions in its text."""

    def to_toml(self) -> str:
        """The scenario as text."""

    def get(self, path: str) -> Any:  # noqa: ANN401 - any value of TOML
        """The value that the scenario writes at `path`; the first of several values, or `None`.

        Raises:
            ScenarioError: The section or name does not exist, or no key can have this path. All
                methods with a path raise this error.
        """

    def set(self, path: str, value: object) -> None:
        """Sets the key at `path`; the value `None` removes the key.

        The method does not check that the key exists; the simulator checks it.
        """

    def update(self, settings: dict[str, Any]) -> None:
        """Sets keys by their paths; keys of a member of a repeated table (`each`) are set last."""

    def add(self, section: str, name: str, fields: dict[str, Any]) -> None:
        """Adds a table with a name to a section; fields that are `None` are left out."""

    def append(self, section: str, fields: dict[str, Any]) -> None:
        """Adds a table to a list; fields that are `None` are left out."""

    def remove(self, path: str) -> None:
        """Removes a section, the table of a name or id, or a key; other tables keep their ids."""

    def write_out(self) -> None:
        """Writes out each repeated table (`each`), so that every member has a table of its own."""

    def in_order(self, paths: list[str]) -> list[str]:
        """The paths in the order in which `update` sets their keys."""

    def covers(self, path: str, other: str) -> bool:
        """Whether setting `path` replaces everything that setting `other` has set."""

    def members(self, section: str) -> list[str]:
        """The identifiers of a section's tables: names, ids, or the nodes that a table joins."""

    def effective(self, path: str) -> tuple[Any, str, int | None]:
        """The value that a key has in a run, its origin, and the line that writes it.

        The origin is "written", "profile NAME" or "default".
        """

    def faults(self, settings: str | None, models: list[DeviceModel]) -> list[str]:
        """The messages of all errors of the scenario, except errors that result from others."""

    def tables(self) -> list[tuple[str, str, str | None]]:
        """All tables: each has a path, the section whose keys it has, and the model of a device."""

    def written(self) -> list[tuple[str, Any]]:
        """The path and the value of each key that the scenario writes."""

    def unwritten(self) -> list[tuple[str, str, str | None, str | None]]:
        """The keys that tables of the scenario do not write: a profile or a default has the value.

        Each entry has the path, the section whose keys the table has, the model if the key belongs
        to a model, and the built-in profile that has the value, or `None` if the default applies.
        """

    def lifts(
        self, path: str, kind: str, detail: str | None = None
    ) -> list[tuple[str, list[int], str | None, list[str]]]:
        """The keys of the table at `path` that can raise a limit, in the order to try them.

        Each entry has the key, the factors by which to multiply its value, its largest value, and
        further values to try after the factors, as text. If a buffer is too small for the round
        trip of its credits, the first further value is a size that is large enough.
        """

    def links_with_their_own(self, path: str) -> list[str]:
        """The links with a value of their own for a key, on which `[links]` has no effect."""

    def path_of_node(self, name: str) -> str | None:
        """The path of a node's table; in a network, of the table of all hosts or of all routers."""

    def path_of_link(self, link: str) -> str | None:
        """The path of a link's table; in a network, of the table of all links."""

    def path_of_fibre(self, fibre: str, router: str) -> str | None:
        """The path of the table with a fibre's keys; in a network, of the network's table."""

@final
class Simulation:
    """One fabric, its workload, and the current simulated time."""

    def __new__(
        cls,
        text: str,
        source: str = "<text>",
        seed: int | None = None,
        models: list[DeviceModel] = ...,
    ) -> Self: ...
    @staticmethod
    def of(
        scenario: Scenario, settings: str | None, seed: int | None, models: list[DeviceModel]
    ) -> Simulation: ...
    def tree(self) -> str: ...
    def warnings(self) -> list[str]: ...
    def expectations(self) -> list[tuple[str, str, str | None, str | None, int]]: ...
    def is_random(self) -> bool: ...
    def measure_ns(self) -> tuple[float, float] | None: ...
    def capture(
        self,
        how: str,
        path: str,
        only: tuple[list[str], list[str], str | None, list[str], str | None],
    ) -> None: ...
    def capture_failure(self) -> None: ...
    def empty_captures(self) -> list[str]: ...
    def sample(self, interval: str) -> float: ...
    def watch_coherence(self, every: int) -> None: ...
    def watch_waits(self) -> None: ...
    def run(self, progress: Callable[[float], object] | None, threads: int | None) -> str: ...
    def threads(self) -> tuple[int, str | None, float]: ...
    def run_while(self, goes_on: Callable[[float], object]) -> bool: ...
    def run_until(self, time_ns: float) -> bool: ...
    def wires(self) -> str: ...
    def step(self) -> bool: ...
    @property
    def now_ns(self) -> float: ...
    def write(self, requester: str, address: int, data: bytes) -> None: ...
    def read(self, requester: str, address: int, length: int) -> bytes: ...
    def window(self, host: str, to: str) -> int: ...
    def memory(self, node: str, address: int, length: int) -> bytes: ...
    def fill(self, node: str, address: int, data: bytes) -> None: ...
    def allocate(self, host: str, size: int, alignment: int) -> int: ...
    def free(self, host: str, address: int, size: int) -> None: ...
    def interrupts(self, host: str) -> dict[int, int]: ...
    def vector(self, device: str, number: int, function: int) -> tuple[int, int, int, int]: ...
    def config_read(self, host: str, function: str, offset: int, size: int) -> int: ...
    def config_write(
        self, host: str, function: str, offset: int, value: int, size: int
    ) -> None: ...
    def lspci(self) -> str: ...
    def result(self) -> str: ...
    def noticeable_incidents(self) -> str: ...

@type_check_only
class Declaration(TypedDict):
    """The declaration of a device model in Python."""

    help: str
    vendor_id: int
    device_id: int
    revision_id: int
    class_code: int
    bars: list[tuple[int, int, bool]]
    vectors: int
    tags: int
    virtual_functions: int
    parameters: list[
        tuple[
            str,
            str,
            str | float,
            str,
            str,
            tuple[str | float, str | float] | None,
        ]
    ]

@final
class DeviceModel:
    """A device model from outside, with the name that scenarios use for it."""

    def __new__(
        cls,
        name: str,
        declaration: Declaration,
        maker: Callable[[str, dict[str, Any]], object],
    ) -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def help(self) -> str: ...
    def bench(self, values: Mapping[str, str | float]) -> ModelBench: ...

@final
class ModelBench:
    """A device on a test bench, without a fabric."""

    @property
    def now_ns(self) -> float: ...
    def reset(self) -> None: ...
    def write(self, bar: int, offset: int, data: bytes) -> None: ...
    def read(self, bar: int, offset: int, length: int) -> bytes: ...
    def take(self) -> tuple[str, int, int, int, int, bytes, str] | None: ...
    def complete(self, tag: int, data: bytes) -> None: ...
    def fail(self, tag: int, why: str) -> None: ...
    def pass_time(self) -> bool: ...

@final
class ModelShell:
    """The interface of the core to a device model in Python, while the model is called."""

    @property
    def now_fs(self) -> int: ...
    def read(self, tag: int, address: int, length: int, function: int) -> None: ...
    def write(self, tag: int | None, address: int, data: bytes, function: int) -> None: ...
    def atomic(
        self, tag: int, operation: str, address: int, operands: bytes, function: int
    ) -> None: ...
    def interrupt(self, vector: int, function: int) -> None: ...
    def vectors(self) -> int: ...
    def report(self, severity: str, function: int) -> None: ...
    def wake_after(self, timer: int, ns: float, function: int) -> None: ...
    def answer(self, ticket: int, length: int, value: object, function: int) -> None: ...
    def answer_malformed(
        self, ticket: int, length: int, value: object, defect: str, function: int
    ) -> None: ...
    def ending(self, function: int, end: Callable[[int], object]) -> None: ...

@final
class HostThread:
    """A thread of a host that Python controls."""

    def __new__(cls, simulation: Simulation, host: str) -> Self: ...
    def begin_load(self, address: int, length: int) -> None: ...
    def load_failure(self, address: int) -> str | None: ...
    def begin_store(self, address: int, data: bytes) -> None: ...
    def begin_work(self, ns: float) -> None: ...
    def begin_interrupt(self, message: int) -> None: ...
    def begin_written(self, address: int) -> None: ...
    def withdraw(self) -> None: ...
    def take(self) -> bytes | None: ...
    def costs(self) -> list[tuple[str, float]]: ...

@final
class Job:
    """The ranks of a job, on the hosts of a simulation."""

    def __new__(
        cls,
        simulation: Simulation,
        nics: list[str],
        parameters: list[tuple[str, str | float]],
    ) -> Self: ...
    def send(self, rank: int, to: int, tag: int, data: bytes) -> int: ...
    def begin_send(self, rank: int, to: int, tag: int, data: bytes) -> int: ...
    def receive(self, rank: int, source: int | None, tag: int | None, room: int) -> int: ...
    def begin_receive(self, rank: int, source: int | None, tag: int | None, room: int) -> int: ...
    def send_receive(
        self,
        rank: int,
        message: tuple[int, int, bytes],
        answer: tuple[int | None, int | None, int],
    ) -> int: ...
    def end(self, rank: int, number: int) -> int: ...
    def barrier(self, rank: int) -> int: ...
    def broadcast(self, rank: int, root: int, length: int, data: bytes) -> int: ...
    def all_reduce(self, rank: int, number: str, operator: str, data: bytes) -> int: ...
    def allocate(self, rank: int, size: int) -> int: ...
    def put(self, rank: int, window: int, offset: int, data: bytes) -> int: ...
    def get(self, rank: int, window: int, offset: int, length: int) -> int: ...
    def compute(self, rank: int, span: str | float) -> int: ...
    def leave(self, rank: int) -> None: ...
    def advance(self) -> list[tuple[int, int, int, int, bytes]]: ...
    def window_size(self, window: int) -> int: ...
    def store(self, window: int, offset: int, data: bytes) -> None: ...
    def load(self, window: int, offset: int, length: int) -> bytes: ...
    def faults(self) -> list[tuple[str, int]]: ...

@final
class Session:
    """A host of a simulation that runs real programs, and the socket to which they connect."""

    def __new__(
        cls,
        simulation: Simulation,
        host: str | None,
        socket: str,
        times: tuple[int, int],
        loader: Callable[[str], object],
        wall: bool = False,
    ) -> Self: ...
    def serve(self) -> tuple[list[int], BaseException | None]: ...
    def end(self) -> None: ...
    def finish(self, simulation: Simulation) -> list[tuple[str, float]]: ...

@final
class Shell:
    """The interface of the card to an accelerator, during one call."""

    @property
    def now_ns(self) -> float: ...
    @property
    def cycle_ns(self) -> float: ...
    @property
    def can_read(self) -> bool: ...
    @property
    def can_write(self) -> bool: ...
    def read(self, address: int, length: int, tag: int = 0) -> None: ...
    def write(self, address: int, data: bytes | bytearray, tag: int = 0) -> None: ...
    def interrupt(self, vector: int = 0) -> None: ...
    def wake_after(self, ns: float) -> None: ...
    def memory_read(self, address: int, length: int) -> tuple[bytes, float]: ...
    def memory_write(self, address: int, data: bytes | bytearray) -> float: ...

def afus() -> list[tuple[str, str]]: ...
def cards(simulation: Simulation) -> str: ...
def register_model(name: str) -> DeviceModel: ...
def load_model(name: str, path: str) -> DeviceModel: ...
def load_circuit(name: str, path: str) -> None: ...
def parameter_value(kind: str, key: str, value: object) -> str | int | float | bool: ...
def load_image(
    simulation: Simulation,
    card: str,
    bitstream: bytes,
    loader: Callable[[str], object],
    slot: int = 0,
) -> None: ...
def write_bitstream(name: str, uuid: str, model: str | None = None) -> bytes: ...
def begins_bitstream(start: bytes) -> bool: ...
def read_bitstream(bitstream: bytes) -> tuple[str, str, str | None]: ...
def nics(simulation: Simulation) -> list[str]: ...
def advance(simulation: Simulation, threads: list[HostThread]) -> int | None: ...
def advance_to(
    simulation: Simulation, threads: list[HostThread], until_ns: float | None
) -> bool: ...
def begin_read(simulation: Simulation, requester: str, address: int, length: int) -> int: ...
def begin_write(simulation: Simulation, requester: str, address: int, data: bytes) -> int: ...
def take_outcomes(
    simulation: Simulation,
) -> list[tuple[int, float, bytes, Exception | None]]: ...
def call_model(simulation: Simulation, device: str, timer: int) -> None: ...
def notice() -> None: ...
def catalogue(models: list[DeviceModel] = ...) -> str: ...
def schema(models: list[DeviceModel] = ...) -> str:
    """The JSON Schema of scenarios."""

def fix(text: str, source: str) -> tuple[str, list[tuple[int, str]], list[tuple[int, str]]]:
    """Renames the old keys of a scenario; returns the new text, and the changes with their lines.

    The first list has the changes that were made, the second the changes that the user has to make.

    Raises:
        ScenarioError: The text is not TOML.
    """

def is_key(path: str) -> bool:
    """Whether a path has the form of a path of scenarios, which paths of results do not have."""

def split_path(path: str) -> tuple[str, ...]:
    """Splits a path into its parts; a part that contains a dot is in quotes.

    Raises:
        ScenarioError: The text is not a path.
    """

def join_path(parts: Sequence[str]) -> str:
    """Joins parts to a path."""

def read_value(text: str) -> Any:  # noqa: ANN401 - any value of TOML
    """Reads a value in TOML; any other text is a string, so that "200 MHz" needs no quotes."""

def workload_lists() -> list[tuple[str, str]]: ...
def nearest(written: str, known: list[str]) -> str | None: ...
def advice(written: str, known: list[str]) -> str: ...
def bench_scenario(kind: str, count: int, amount: int) -> str: ...
def bench_run(text: str, models: list[DeviceModel] = ...) -> str: ...
def bench_shape(name: str, divisor: int) -> str: ...
def bench_shapes() -> list[tuple[str, str]]: ...
def bench_access(
    kind: str, count: int, place: int, function: int = 0, handle: int = 0
) -> list[int]: ...
def bench_socket(path: str, count: int) -> list[int]: ...
def send_back(path: str) -> None: ...
def real_time() -> int: ...
def pack_tlp(description: str) -> bytes: ...
def histogram_buckets(text: str) -> list[tuple[int, int, int]]: ...
def histogram_quantile(text: str, share: float) -> int: ...
def pattern(number: int, offset: int, length: int) -> bytes: ...
def write_header_bytes(address: int) -> int: ...
def link_bytes_per_second(gigatransfers: float, lanes: int) -> float: ...
def frame_cycles(length: int, lanes: int) -> int: ...
def quantity(text: str) -> tuple[str, str] | None:
    """The number and the unit of a text such as "166 ns"; `None` if the text is no quantity."""

def unit_size(unit: str) -> tuple[str, int, int]:
    """The kind of a unit, and its size in the base unit of the kind: numerator and denominator."""

def read_size(text: str) -> int: ...
def read_bandwidth(text: str) -> int: ...
