"""Runs pieces of work on a Dask cluster: `pip install 'peerlane[dask]'`."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from peerlane._core import __version__
from peerlane.errors import PeerlaneError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from distributed import Client, Future

    Watch = Callable[[float], object]

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")

ANSWER_S = 5.0
"""The seconds within which a scheduler must answer."""
WORKERS_S = 10.0
"""The seconds within which a scheduler without workers must get one."""
_MOST_AT_ONCE = 512
"""The largest number of results that are fetched together."""


class ClusterError(PeerlaneError, RuntimeError):
    """A cluster cannot do the work; the message has the correction."""


class Cluster:
    """The workers of a Dask scheduler, which must all have this version of Peerlane.

    Args:
        address: The address of the scheduler, such as "tcp://10.0.0.1:8786".

    Raises:
        ClusterError: Dask is not installed here, the scheduler does not answer, or its workers have
            no Peerlane or another version of it.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = _connected(address)
        try:
            self.count = self._able_workers()
        except BaseException:
            self.close()
            raise

    def each(
        self,
        work: Callable[[S, T, Watch | None], R],
        shared: S,
        pieces: Sequence[T],
        lost: Callable[[S, T, str], R],
    ) -> Iterator[tuple[int, R]]:
        """Does all pieces of work, as described for `peerlane.varying.crew.Crew.each`.

        If the worker of a piece dies, another worker does the piece.

        Raises:
            ClusterError: The scheduler is gone, or it has had no workers for `WORKERS_S`.
        """
        # The shared value is a task of its own, which the scheduler can repeat if its worker dies.
        common = self._client.submit(_same, shared, pure=False)
        futures = self._client.map(_do, pieces, work=work, shared=common, pure=False)
        waiting = {future.key: (number, future) for number, future in enumerate(futures)}
        del futures  # Dask frees a future and its result if nothing refers to it
        done: SimpleQueue[Future] = SimpleQueue()
        try:
            for _, future in waiting.values():
                future.add_done_callback(done.put)
            while waiting:
                for future, result, reason in self._fetched(self._next(done), done):
                    number, _ = waiting.pop(future.key)
                    if reason is None:
                        yield number, result
                    else:
                        yield number, lost(shared, pieces[number], reason)
        finally:
            with suppress(Exception):
                self._client.cancel([common, *(future for _, future in waiting.values())])

    def close(self) -> None:
        """Disconnects from the cluster, which then discards work that is not done."""
        with suppress(Exception):
            self._client.close(timeout=2)

    def _able_workers(self) -> int:
        """Checks the versions of all workers; returns how many pieces they can do at once."""
        from distributed import TimeoutError as NoWorkersError  # noqa: PLC0415 - optional

        try:
            self._client.wait_for_workers(1, timeout=WORKERS_S)
        except (NoWorkersError, TimeoutError):
            raise ClusterError(self._without_workers()) from None
        self._check_versions(self._client.run(_version, on_error="return"))
        return sum(self._client.nthreads().values()) or 1

    @staticmethod
    def _check_versions(answers: Mapping[str, str | BaseException]) -> None:
        for worker, answer in answers.items():
            if isinstance(answer, BaseException):
                raise ClusterError(
                    f"the worker at {worker} cannot use Peerlane ({answer});"
                    f" install peerlane {__version__} there"
                )
            if answer != __version__:
                raise ClusterError(
                    f"the worker at {worker} has peerlane {answer}; install {__version__}, as here"
                )

    def _next(self, done: SimpleQueue[Future]) -> list[Future]:
        """Waits for futures that are done; returns at least one."""
        quiet = 0.0
        while True:
            try:
                found = [done.get(timeout=_PATIENCE_S)]
                break
            except Empty:
                quiet = 0.0 if self._has_workers() else quiet + _PATIENCE_S
            if quiet >= WORKERS_S:
                raise ClusterError(self._without_workers())
        while len(found) < _MOST_AT_ONCE:
            try:
                found.append(done.get_nowait())
            except Empty:
                break
        return found

    def _has_workers(self) -> bool:
        """Whether the scheduler has any worker at this time.

        Raises:
            ClusterError: The scheduler is gone.
        """
        if self._client.status != "running":
            raise ClusterError(self._gone())
        return bool(self._client.nthreads())

    def _gone(self) -> str:
        return f"the Dask scheduler at {self._address} is gone; start it again"

    def _without_workers(self) -> str:
        return (
            f"the Dask scheduler at {self._address} has no workers; start one with"
            f" `dask worker {self._address}`"
        )

    def _fetched(
        self, futures: list[Future], done: SimpleQueue[Future]
    ) -> Iterator[tuple[Future, Any, str | None]]:
        """The results of futures that are done, or the reasons why there are no results.

        If a worker died before its result was fetched, the future runs again, and is put into
        `done` again when it has ended.
        """
        good, failed = [], []
        for future in futures:
            match future.status:
                case "finished":
                    good.append(future)
                case "error" | "cancelled":
                    failed.append(future)
                case _:
                    future.add_done_callback(done.put)
        try:
            results = self._client.gather(good)
        except OSError:
            raise ClusterError(self._gone()) from None
        yield from ((f, r, None) for f, r in zip(good, results, strict=True))
        yield from ((future, None, _reason(future)) for future in failed)


_PATIENCE_S = 1.0
"""The seconds without a result after which the state of the cluster is checked."""


def _connected(address: str) -> Client:
    try:
        from distributed import Client  # noqa: PLC0415 - optional, and slow to load
    except ModuleNotFoundError:
        raise ClusterError(
            "a cluster needs Dask here and on its workers: pip install 'peerlane[dask]'"
        ) from None
    for name in [
        name for name in logging.root.manager.loggerDict if name.startswith("distributed")
    ]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # this module reports errors

    def connect() -> Client:
        return Client(address, timeout=ANSWER_S, set_as_default=False, name="peerlane")

    try:
        _look_for(address)
        return _within(2 * ANSWER_S, connect)
    except (OSError, ValueError):
        raise ClusterError(
            f"no Dask scheduler answers at {address} within {ANSWER_S:g} s; start one with"
            " `dask scheduler`, and write the address that it prints, such as tcp://HOST:8786"
        ) from None


def _look_for(address: str) -> None:
    """Fails at once if no server listens, because a client would retry in the background for long.

    Raises:
        OSError: No server listens at the address.
        ValueError: The text is no address.
    """
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    if place.hostname is None or place.port is None:
        raise ValueError(address)
    socket.create_connection((place.hostname, place.port), timeout=ANSWER_S).close()


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Calls a function that may never return, such as a handshake with a wrong server.

    Raises:
        TimeoutError: The call takes longer than `seconds`.
    """
    done: SimpleQueue[T | Exception] = SimpleQueue()

    def serve() -> None:
        try:
            done.put(call())
        except Exception as error:  # noqa: BLE001 - passed on
            done.put(error)

    Thread(target=serve, daemon=True).start()
    try:
        result = done.get(timeout=seconds)
    except Empty:
        raise TimeoutError from None
    if isinstance(result, Exception):
        raise result
    return result


def _reason(future: Future) -> str:
    if future.status == "cancelled":
        return "the cluster dropped this point"
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        return "the workers that ran this point died; look at their memory and logs"
    return f"the worker failed: {type(error).__name__}: {error}"


def _same(value: T) -> T:
    return value


def _do(piece: T, work: Callable[[S, T, Watch | None], R], shared: S) -> R:
    return work(shared, piece, None)


def _version() -> str:
    return __version__
