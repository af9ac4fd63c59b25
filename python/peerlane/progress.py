"""Defines the progress of long work, which all functions with an argument `progress` report."""

from __future__ import annotations

from typing import Self


class Progress(float):
    """The share of the work that is done, 0 to 1.

    `now` names the present part of the work, or is empty; `remaining_s` is the time left in
    seconds, or `None` if it is not known. A run of a single simulation reports a plain `float`.
    """

    now: str
    remaining_s: float | None

    def __new__(cls, share: float, now: str = "", remaining_s: float | None = None) -> Self:
        """Creates the share with the present part of the work and the time left."""
        made = super().__new__(cls, share)
        made.now, made.remaining_s = now, remaining_s
        return made

    @classmethod
    def of(cls, done: int, total: int, what: str) -> Progress:
        """The progress after `done` of `total` pieces of work, called `what`, such as "points"."""
        return cls(done / total, f"{done:,} of {total:,} {what}")
