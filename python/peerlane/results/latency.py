"""Defines latencies in results: quantiles, and the histogram from which they are calculated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from peerlane import _core
from peerlane.results.document import STRICT, Document

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, ValidationInfo
    from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of a histogram: the count of all latencies from `low_ns` to `high_ns`, inclusive.

    Both ends differ by less than one part in a thousand.
    """

    low_ns: float
    high_ns: float
    count: int


class _Whole:
    """Annotates the encoded text of a histogram; the text is decoded only to check a file."""

    @staticmethod
    def __get_pydantic_core_schema__(source: type, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema  # noqa: PLC0415 - comes with pydantic

        def check(text: str, info: ValidationInfo) -> str:
            if info.context == STRICT:
                try:
                    _core.histogram_buckets(text)
                except ValueError:
                    raise ValueError("it is no whole histogram") from None
            return text

        return core_schema.with_info_after_validator_function(check, handler(source))


@dataclass(frozen=True, slots=True)
class Latency(Document):
    """Quantiles over the requests, round trips or messages of a flow or workload, in nanoseconds.

    A latency begins when a request is made, so it includes the wait for the wire. It ends when the
    last byte has arrived: at the target for writes, and at the requester for reads and round trips.
    `p999` is the 99.9th percentile. `histogram_ps` has all latencies, in picoseconds with three
    digits, in the compressed V2 encoding of HdrHistogram and in base64; the tools of HdrHistogram
    can read this text. `min`, `max` and `mean` are exact.
    """

    min: float
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    mean: float
    histogram_ps: Annotated[str, _Whole]

    def quantile(self, share: float) -> float:
        """The latency in nanoseconds that is not exceeded by a `share` (0 to 1) of all latencies.

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
