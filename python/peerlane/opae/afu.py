"""Defines the base class of accelerators in Python, and loads accelerators from files.

A model in Rust is a hundred times as fast as one in Python. To write one, implement
`device::fpga_card::Afu`, which has the methods of `Afu`, and add a line to the list in
`crates/device/src/fpga_card/builtin.rs`.
"""

from __future__ import annotations

import inspect
from contextlib import suppress
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from peerlane import _core
from peerlane._core import UnitError
from peerlane.models.python_file import load_file

if TYPE_CHECKING:
    from types import ModuleType


class Shell(Protocol):
    """The interface of a card to its accelerator; valid during one call of the accelerator.

    Addresses of host memory are addresses that `fpgaGetIOAddress` returns. A request to the host
    has one to four cache lines of 64 bytes, begins at a multiple of 64 and stays within a page of 4
    KiB. Any other request raises `ValueError`. A request also raises `ValueError` if the card has
    no space for it.
    """

    @property
    def now_ns(self) -> float:
        """Simulated time, in nanoseconds."""

    @property
    def cycle_ns(self) -> float:
        """The length of a cycle of the accelerator's clock in ns; a cycle moves 64 bytes."""

    @property
    def can_read(self) -> bool:
        """Whether the card has space for one more read; if not, it calls `wake` later."""

    @property
    def can_write(self) -> bool:
        """Whether the card has space for a write or interrupt; if not, `wake` is called later."""

    def read(self, address: int, length: int, tag: int = 0) -> None:
        """Reads host memory; `read_done` receives the bytes. Reads may end in any order."""

    def write(self, address: int, data: bytes | bytearray, tag: int = 0) -> None:
        """Writes to host memory, after all earlier writes; `write_done` is called afterwards."""

    def interrupt(self, vector: int = 0) -> None:
        """Sends an interrupt, 0 to 3, after all earlier writes."""

    def wake_after(self, ns: float) -> None:
        """Requests a call of `wake` after a time; of several requests the earliest counts."""

    def memory_read(self, address: int, length: int) -> tuple[bytes, float]:
        """Reads at most 64 MiB of the card's memory; returns bytes and arrival time in ns."""

    def memory_write(self, address: int, data: bytes | bytearray) -> float:
        """Writes the card's memory; returns the simulated time at which the write ends, in ns."""


class Afu:
    """The base class of user-written accelerators (units), which override its methods.

    A unit must have `load` or `store`; it need not have `reset`, `write_done` and `wake`. If the
    host or the shell calls another method that is absent, the run ends with a `UnitError`. Each
    call happens at one point of simulated time. The card itself answers accesses to the first 40
    bytes of the registers, which are the header and the UUID.
    """

    uuid: str = ""
    """The UUID by which software finds the unit, such as "d8424dc4-a4a3-c413-f89e-433683f9040b"."""

    next_feature: int | None = None
    """The offset of the first feature in the registers, if the unit has a list of features."""

    def reset(self) -> None:
        """Returns the unit to its state after configuration; its earlier requests are cancelled."""

    def load(self, shell: Shell, offset: int, length: int) -> int:
        """Returns the bytes for a load of the host: `length` is 4 or 8, `offset` a multiple."""
        del shell
        _need(self, "load", f"the host loads {length} bytes at {offset:#x}")
        return 0

    def store(self, shell: Shell, offset: int, data: bytes) -> None:
        """Handles a store of the host: 4, 8 or 64 bytes at `offset`, a multiple of their number."""
        del shell
        _need(self, "store", f"the host stores {len(data)} bytes at {offset:#x}")

    def read_done(self, shell: Shell, tag: int, data: bytes | None) -> None:
        """Is called when the read with this tag has ended; `data` is `None` if the read failed."""
        del shell, data
        _need(self, "read_done", f"its read of host memory with tag {tag} has ended")

    def write_done(self, shell: Shell, tag: int) -> None:
        """Is called when the write with this tag has been sent."""

    def wake(self, shell: Shell) -> None:
        """Is called when the card has space for requests, or at the time given to `wake_after`."""


def split(model: str) -> tuple[str, str]:
    """Splits `FILE.py:CLASS` into the file and the class; the class is empty if none is named."""
    # The last colon separates the class, because paths of files may have colons, too.
    path, _, wanted = model.rpartition(":")
    return (path, wanted) if path.endswith(".py") else (model, "")


def place_of(model: str) -> str:
    """The name of a model in a bitstream: the absolute path of `FILE.py`, and the class.

    Raises:
        ValueError: The file does not exist.
    """
    path, wanted = split(model)
    _check_file(Path(path))
    return str(Path(path).resolve()) + (f":{wanted}" if wanted else "")


def load(place: str) -> Afu:
    """Creates an accelerator from `FILE.py`, or from `FILE.py:CLASS` if the file has several.

    Raises:
        ValueError: The file has no accelerator; the message has the reason.
    """
    name, wanted = split(place)
    found = _class(name, _module(Path(name)), wanted)
    try:
        unit = found()
    except (Exception, SystemExit) as error:
        made = f"{name}: {found.__name__}() cannot be made"
        raise ValueError(f"{made}: {type(error).__name__}: {error}") from error
    _check(name, unit)
    return unit


def _class(name: str, module: ModuleType, wanted: str) -> type[Afu]:
    """The unit in a file: the class `wanted`, if given, or the only unit that the file defines."""
    known = {
        own: found
        for own, found in inspect.getmembers(module, inspect.isclass)
        if issubclass(found, Afu) and found is not Afu
    }
    if wanted in known:
        return known[wanted]
    if wanted and known:
        raise ValueError(f"{name} has no unit {wanted!r}; {_core.advice(wanted, list(known))}")
    defined = [found for found in known.values() if found.__module__ == module.__name__]
    if len({*defined}) == 1:
        return defined[0]
    has = "several classes" if defined else "no class"
    if not defined and known:
        right = f"write {name}:{next(iter(known))} for the one that it imports"
    else:
        right = f"write {name}:CLASS" if defined else "write one"
    raise ValueError(f"{name} has {has} derived from peerlane.opae.Afu; {right}")


CALLS = {
    "reset": (),
    "load": ("shell", "offset", "length"),
    "store": ("shell", "offset", "data"),
    "read_done": ("shell", "tag", "data"),
    "write_done": ("shell", "tag"),
    "wake": ("shell",),
}
"""The methods of a unit, with the names of their arguments."""


LIKENESS = 0.8
"""Two names are similar if their ratio by `difflib` is above this: `lod` and `load` (0.86), but not
`wake_up` and `wake` (0.80)."""


def _definition(method: str) -> str:
    """The first line of a method's definition, as advice in messages."""
    return f"def {method}({', '.join(('self', *CALLS[method]))})"


def _has(unit: Afu, method: str) -> bool:
    """Whether a unit overrides a method."""
    return getattr(type(unit), method) is not getattr(Afu, method) or method in vars(unit)


def _need(unit: Afu, method: str, why: str) -> None:
    """Ends the run, because the host or the card calls a method that the unit does not override.

    Raises:
        UnitError: The unit does not have the method.
    """
    if not _has(unit, method):
        own = type(unit).__name__
        raise UnitError(
            f"the accelerator {own} has no {method}, and {why}; add {_definition(method)}"
        )


def _check(file: str, unit: Afu) -> None:
    """Refuses a unit without a UUID or registers, or with a method that a card cannot call."""
    own = type(unit).__name__
    try:
        UUID(unit.uuid)
    except (AttributeError, TypeError, ValueError):
        is_object = isinstance(unit.uuid, UUID)
        why = "which is no text" if is_object else "which is no UUID"
        example = unit.uuid if is_object else "d8424dc4-a4a3-c413-f89e-433683f9040b"
        raise ValueError(
            f'{file}: {own}.uuid is {unit.uuid!r}, {why}; write uuid = "{example}"'
        ) from None
    for method, arguments in CALLS.items():
        found = getattr(unit, method, None)
        right = _definition(method)
        if not callable(found):
            wrong = f"{file}: {own}.{method} is no method; write {right}"
            raise ValueError(wrong)  # noqa: TRY004 - the file is wrong
        try:
            inspect.signature(found).bind(*arguments)
        except TypeError as error:
            raise ValueError(
                f"{file}: {own}.{method} cannot be called as a card does ({error}); write {right}"
            ) from None
        if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
            raise ValueError(
                f"{file}: {own}.{method} is async, and a card does not wait; write {right}"
            )
        if inspect.isgeneratorfunction(found):
            raise ValueError(
                f"{file}: {own}.{method} has a yield, so that a card's call would execute nothing "
                f"of it; write {right} without yield"
            )
    for method in CALLS:
        if not _has(unit, method) and (near := _misspelt(unit, method)):
            right = _definition(method)
            raise ValueError(
                f"{file}: {own} has no {method}, and a card does not call {own}.{near}; "
                f"write {right}"
            )
    if not (_has(unit, "load") or _has(unit, "store")):
        right = f"{_definition('load')}, or {_definition('store')}"
        raise ValueError(
            f"{file}: {own} has no load and no store, so programs cannot use it; write {right}"
        )


def _misspelt(unit: Afu, method: str) -> str | None:
    """A method of the unit that has the arguments of `method` and a similar name; or `None`."""
    for name in dir(type(unit)):
        if hasattr(Afu, name) or not _is_near(name, method):
            continue
        found = getattr(unit, name)
        if callable(found):
            with suppress(TypeError):
                inspect.signature(found).bind(*CALLS[method])
                return name
    return None


def _is_near(name: str, method: str) -> bool:
    """Whether two names differ only by case, `_`, `on_`, or a missing or exchanged letter."""
    one, other = (word.lower().removeprefix("on_").replace("_", "") for word in (name, method))
    likeness = SequenceMatcher(None, one, other).ratio()
    return one[:1] == other[:1] and (likeness > LIKENESS or sorted(one) == sorted(other))


def _check_file(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"there is no file {path}; name FILE.py or FILE.py:CLASS")
    if path.suffix != ".py":
        raise ValueError(f"{path} is not a Python file; name FILE.py or FILE.py:CLASS")
    with path.open("rb") as file:
        if _core.begins_bitstream(file.read(64)):
            raise ValueError(f"{path} is a bitstream and no Python file; name it FILE.gbs")


def _module(path: Path) -> ModuleType:
    _check_file(path)
    return load_file(path, "peerlane_afu")
