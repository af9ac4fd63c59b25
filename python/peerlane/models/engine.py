"""Runs the engines of device models: coroutines that wait for answers, timers and each other."""

from __future__ import annotations

from inspect import isroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from peerlane.errors import RequestError
from peerlane.programs.place import name, place

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine, Generator

    from peerlane._core import ModelShell

Result = TypeVar("Result")

_Waited = "int | Task[Any] | Signal"
"""The object that a coroutine waits for: an answer with a tag, the end of a task, or a signal."""


class Task(Generic[Result]):
    """A running engine: `await` waits for its end, and returns its value."""

    def __init__(self, coroutine: Coroutine[Any, Any, Result], function: int) -> None:
        self.coroutine = coroutine
        self.function = function
        self.waiters: list[Task[Any]] = []
        self.is_done = False
        self._value: Result | None = None

    def __await__(self) -> Generator[Task[Result], None, Result]:
        if not self.is_done:
            yield self
        return self._value  # type: ignore[return-value]

    def end(self, value: Result) -> None:
        """Stores the value of the engine, which has ended."""
        self.is_done = True
        self._value = value


class Signal:
    """An event for which engines can wait, and which another part of the device sets."""

    def __init__(self, tasks: Tasks) -> None:
        self.waiters: list[Task[Any]] = []
        self._tasks = tasks

    def __await__(self) -> Generator[Signal, None, None]:
        yield self

    def set(self) -> None:
        """Resumes all engines that wait for the signal."""
        self._tasks.go_on_all(self)


class Answer(Generic[Result]):
    """An awaitable that ends when the simulator answers the request or the timer with its tag."""

    def __init__(self, tag: int) -> None:
        self._tag = tag

    def __await__(self) -> Generator[int, Result, Result]:
        return (yield self._tag)


class Tasks:
    """All engines of a device."""

    def __init__(self) -> None:
        self._by_tag: dict[int, Task[Any]] = {}
        self._running: dict[Task[Any], None] = {}
        self._tags = 0
        self._ending: int | None = None
        self._ended: object = None
        """The coroutine of the engine that ended last."""
        self.function = 0

    def tag(self) -> int:
        """A tag that the device has not used yet."""
        self._tags += 1
        return self._tags

    def start(self, work: Awaitable[Result], given: str = "start was given") -> Task[Result]:
        """Starts an engine, which runs until it waits. `given` names its origin in messages.

        An engine that is being ended cannot start another engine.

        Raises:
            TypeError: `work` is not a coroutine.
        """
        if not hasattr(work, "send"):
            given_work: object = work
            is_method = isroutine(given_work)
            own = str(getattr(work, "__name__", "")) if is_method else "copy"
            shown = f"the method {own}" if is_method else repr(work)
            right = f"it must be the call of an async method, such as self.{own}()"
            raise TypeError(f"{given} {shown}; {right}")
        task: Task[Result] = Task(work, self.function)  # type: ignore[arg-type]
        if self._is_ending(task):
            task.coroutine.close()
            return task
        self._running[task] = None
        self._go_on(task, None)
        return task

    def answer(self, tag: int, outcome: bytes | str | tuple[()]) -> None:
        """Resumes the engine that waits for the request or the timer with this tag."""
        task = self._by_tag.pop(tag, None)
        if task is None:
            return
        if isinstance(outcome, str):
            self._go_on(task, None, RequestError(outcome))
        else:
            self._go_on(task, outcome)

    def go_on_all(self, waited: Task[Any] | Signal, value: object = None) -> None:
        """Resumes the engines that wait for the task or signal `waited`."""
        waiters, waited.waiters = waited.waiters, []
        for task in waiters:
            if task in self._running:
                self._go_on(task, value)

    def activity(self) -> list[str]:
        """The running engines, each with the line at which it waits; or why none runs."""
        if self._running:
            running = [task.coroutine for task in self._running]
            lines = [f"its engine {name(one)} waits at {place(one)}" for one in running]
            more = len(lines) - MOST_SHOWN
            return lines if more <= 0 else [*lines[:MOST_SHOWN], f"{more} more engines wait"]
        if self._ended is None:
            return ["none of its engines was started"]
        return [f"none of its engines runs; the last one, {name(self._ended)}, has ended"]

    def close(self, function: int) -> None:
        """Ends the engines of a function without resuming them; function 0 means all functions."""
        ended = [task for task in self._running if function in (0, task.function)]
        for task in ended:
            del self._running[task]
        self._by_tag = {tag: task for tag, task in self._by_tag.items() if task in self._running}
        self._ending = function
        try:
            for task in ended:
                self._end(task)
        finally:
            self._ending = None

    def _is_ending(self, task: Task[Any]) -> bool:
        return self._ending is not None and self._ending in (0, task.function)

    def _end(self, task: Task[Any]) -> None:
        """Ends an engine at its present `await`, and at each `await` of its `finally` blocks."""
        outer, self.function = self.function, task.function
        try:
            for _ in range(MOST_WAITS):
                task.coroutine.throw(GeneratorExit)
        except (GeneratorExit, StopIteration):
            return
        finally:
            self.function = outer
        frame = getattr(task.coroutine, "cr_frame", None)
        where = f" at line {frame.f_lineno}" if frame is not None else ""
        right = "let GeneratorExit pass, and write `except Exception` in place of a bare `except`"
        own = getattr(task.coroutine, "__qualname__", repr(task.coroutine))
        raise RuntimeError(f"the engine {own} goes on{where} after its end; {right}")

    def _go_on(self, task: Task[Any], value: object, error: Exception | None = None) -> None:
        outer, self.function = self.function, task.function
        try:
            waited = task.coroutine.throw(error) if error else task.coroutine.send(value)
        except StopIteration as end:
            self._running.pop(task, None)
            self._ended = task.coroutine
            task.end(end.value)
            self.go_on_all(task)
        except BaseException:
            self._running.pop(task, None)
            raise
        else:
            if isinstance(waited, int):
                self._by_tag[waited] = task
            elif isinstance(waited, Task | Signal):
                waited.waiters.append(task)
            else:
                right = "await calls of the device alone, such as self.sleep(ns)"
                # The error is raised at the `await`, so that its traceback ends at the user's line.
                self._go_on(task, None, TypeError(f"an engine waits for {waited!r}; {right}"))
        finally:
            self.function = outer


MOST_SHOWN = 4
"""The most engines of a device that a message names."""

MOST_WAITS = 100
"""The most times that an engine may wait again while it is being ended."""


class NoShell:
    """Stands for the shell of a device that is not in a simulation; each use raises an error."""

    def __getattr__(self, name: str) -> ModelShell:
        raise RuntimeError("the device is in no simulation and on no bench yet; use on_reset")
