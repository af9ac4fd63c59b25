"""Latencies: quantiles, and the histogram that they are of."""

from __future__ import annotations

from dataclasses import dataclass

from peerlane import _core
from peerlane.results.document import Document


@dataclass(frozen=True, slots=True)
class Bucket:
    """Latencies of a histogram that it does not tell apart.

    They are from `low_ns` to `high_ns`, both included, which are less than one part in a thousand
    apart.
    """

    low_ns: float
    high_ns: float
    count: int


@dataclass(frozen=True, slots=True)
class Latency(Document):
    """Quantiles over the requests, round trips or messages of a flow or workload, in nanoseconds.

    A latency begins when a request is made, so it includes the wait for the wire, and ends with the
    last byte: at the target for writes, at the requester for reads and round trips. `p999` is the
    99.9th percentile. `histogram_ps` has all latencies, in picoseconds with three digits: the
    compressed V2 encoding of HdrHistogram, as base64, which the tools of HdrHistogram read, too.
    `min`, `max` and `mean` are exact.
    """

    min: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    mean: float
    histogram_ps: str

    def quantile(self, share: float) -> float:
        """The latency in nanoseconds that `share` (0 to 1) of all latencies do not exceed.

        Raises:
            ValueError: `share` is not from 0 to 1.
        """
        found = _core.histogram_quantile(self.histogram_ps, share) / 1e3
        return min(max(found, self.min), self.max)

    @property
    def histogram(self) -> tuple[Bucket, ...]:
        """The buckets that are not empty, from the least latency to the greatest."""
        found = _core.histogram_buckets(self.histogram_ps)
        return tuple(Bucket(low / 1e3, high / 1e3, count) for low, high, count in found)
