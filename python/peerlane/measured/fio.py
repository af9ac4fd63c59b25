"""Reads the JSON of fio (`fio --output-format=json`): rate and latencies by job and direction."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from peerlane.measured.row import LATENCY, PERCENTILES, RATE, Row
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE = re.compile(r"(\d+)\s*([kmg]?)i?b?", re.IGNORECASE)


def rows(document: Mapping[str, Any], source: str) -> list[Row]:
    """The rows of all jobs that moved data.

    Raises:
        FileError: A job does not have the form of fio.
    """
    jobs = document["jobs"]
    if not isinstance(jobs, list):
        raise FileError(f"{source}: jobs: fio writes a list; write the file again with fio")
    found: list[Row] = []
    for number, job in enumerate(jobs, 1):
        try:
            found += _job(job, document.get("global options", {}))
        except (KeyError, TypeError, AttributeError, ValueError):
            raise FileError(
                f"{source}: jobs: job {number} is not as fio 3 writes it, with jobname, read and"
                " write, and bw_bytes in each; write the file again with fio 3"
            ) from None
    return found


def _job(job: Mapping[str, Any], common: Mapping[str, Any]) -> Iterator[Row]:
    options = {**common, **job.get("job options", {})}
    ways = [one for one in ("read", "write") if job[one]["bw_bytes"]]
    for way in ways:
        part = job[way]
        sized = _SIZE.fullmatch(str(options.get("bs", "")))
        row = partial(
            Row,
            str(job["jobname"]) + (f" {way}" if len(ways) > 1 else ""),
            size=int(sized[1]) * _UNITS[sized[2].lower()] if sized else None,
            direction=way,
            labels={key: str(options[key]) for key in ("rw", "iodepth") if key in options},
        )
        yield row(RATE, float(part["bw_bytes"]))
        # fio's lat is the time from submission to completion. If there is no lat, clat is used,
        # which begins in the kernel.
        times: list[Mapping[str, Any]] = [part.get(one, {}) for one in ("lat_ns", "clat_ns")]
        total = next((one for one in times if one.get("mean")), {})
        for name in ("mean", "min", "max"):
            if name in total:
                yield row(f"{LATENCY}.{name}", float(total[name]))
        shares: Mapping[str, Any] = next(
            (one["percentile"] for one in times if "percentile" in one), {}
        )
        for share, value in dict(shares).items():
            if known := PERCENTILES.get(f"{float(share):g}"):
                yield row(f"{LATENCY}.{known}", float(value))
