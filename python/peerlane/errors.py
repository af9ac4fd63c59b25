"""The base class of the exceptions of Peerlane."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from peerlane._core import ModelError, ScenarioError, UnitError

if TYPE_CHECKING:
    from collections.abc import Iterator


class PeerlaneError(Exception):
    """The base class of all exception classes that Peerlane defines.

    An exception class also derives from `ValueError` or `RuntimeError` if one of these fits.
    """

    __slots__ = ()


for _error in (ModelError, ScenarioError, UnitError):
    # The exceptions of the compiled core are defined before this class, so they are added to it
    # here.
    _error.__bases__ = (PeerlaneError, *_error.__bases__)


class RequestError(PeerlaneError):
    """A request of a device failed.

    `why` is "unsupported request", "completer abort", "completion timeout", "poisoned data",
    "atomic operations not enabled", or "reset" if the requester was reset. For a write that was
    dropped on its way, `why` can also be a word of `RunResult.errors`, such as "malformed TLP". The
    message also names the request.
    """

    def __init__(self, why: str, request: str = "") -> None:
        super().__init__(f"{why}: {request}" if request else why)
        self.why = why


class MissingPackageError(PeerlaneError, ModuleNotFoundError, RuntimeError):
    """An optional package is not installed; the message says how to install it."""


@contextmanager
def optional(what: str, extra: str, instead: str = "") -> Iterator[None]:
    """Imports optional packages.

    Args:
        what: The beginning of the message, which says what needs the packages.
        extra: The extra of Peerlane that installs them.
        instead: The end of the message, which names something that works without the packages.

    Raises:
        MissingPackageError: A package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{what}: pip install 'peerlane[{extra}]'" + (instead and f"; {instead}")
        raise MissingPackageError(message, name=error.name) from None
