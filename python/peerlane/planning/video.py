"""Video formats: their bandwidth, as shares of measured rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING

from peerlane.results.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MIB = 1 << 20


class Format(StrEnum):
    """The pixels of a frame."""

    HD_720P = "720p"
    HD_1080P = "1080p"
    UHD_4K = "4k"
    DCI_4K = "dci-4k"
    UHD_8K = "8k"

    @property
    def pixels(self) -> tuple[int, int]:
        """Width and height (SMPTE ST 296, ST 274, ST 2036-1; DCI specification)."""
        return _PIXELS[self]


class Chroma(StrEnum):
    """The sampling of colour: YCbCr with a quarter or half of the colour samples, or all."""

    YUV_420 = "420"
    YUV_422 = "422"
    RGB_444 = "444"

    @property
    def half_samples(self) -> int:
        """The number of samples in two pixels."""
        return _HALF_SAMPLES[self]


_PIXELS = {
    Format.HD_720P: (1280, 720),
    Format.HD_1080P: (1920, 1080),
    Format.UHD_4K: (3840, 2160),
    Format.DCI_4K: (4096, 2160),
    Format.UHD_8K: (7680, 4320),
}
_HALF_SAMPLES = {Chroma.YUV_420: 3, Chroma.YUV_422: 4, Chroma.RGB_444: 6}


@dataclass(frozen=True, slots=True)
class Video:
    """A stream of frames with their samples packed without gaps.

    Args:
        format: The pixels of a frame.
        chroma: The sampling of colour.
        depth: The bits of a sample.
        frames_per_second: The number of frames in a second.
    """

    format: Format
    chroma: Chroma
    depth: int = 10
    frames_per_second: float = 60.0

    @property
    def frame_bytes(self) -> int:
        """The bytes of a frame, a whole number."""
        width, height = self.format.pixels
        bits = width * height * self.chroma.half_samples * self.depth
        return -(-bits // 16)

    @property
    def frame_mib(self) -> float:
        """The size of a frame in units of 2^20 bytes, which the source calls MByte."""
        return self.frame_bytes / MIB

    @property
    def bytes_per_second(self) -> float:
        """The bandwidth that the video needs."""
        return self.frame_bytes * self.frames_per_second

    @property
    def mib_per_second(self) -> float:
        """The bandwidth that the video needs, in units of 2^20 bytes."""
        return self.bytes_per_second / MIB


@dataclass(frozen=True, slots=True)
class Use(Document):
    """A video, and the shares of measured rates that it needs, in percent by the name of the rate.

    A video `fits` if it needs no more than the slowest rate. `needed_times` is the number of
    measured fabrics that the video needs: 2 means two cards instead of one.
    """

    format: str
    chroma: str
    depth: int
    frames_per_second: float
    frame_bytes: int
    bytes_per_second: float
    percent: dict[str, float]
    fits: bool
    needed_times: int


@dataclass(frozen=True, slots=True)
class Uses(Document):
    """Video formats, and the rates that carry them."""

    rates_bytes_per_second: dict[str, float]
    videos: tuple[Use, ...]


def videos(
    formats: Iterable[Format],
    chromas: Iterable[Chroma],
    depths: Iterable[int],
    frame_rates: Iterable[float],
) -> Iterator[Video]:
    """All combinations; the frame rate changes fastest."""
    for form, chroma, depth, rate in product(formats, chromas, depths, frame_rates):
        yield Video(form, chroma, depth, rate)


def use(video: Video, rates: Mapping[str, float]) -> Use:
    """The shares that `video` needs of `rates`, which are in bytes per second, by name."""
    needed = video.bytes_per_second
    percent = {name: 100 * needed / rate for name, rate in rates.items()}
    most = max(percent.values())
    return Use(
        format=video.format,
        chroma=video.chroma,
        depth=video.depth,
        frames_per_second=video.frames_per_second,
        frame_bytes=video.frame_bytes,
        bytes_per_second=needed,
        percent=percent,
        fits=most <= 100.0,  # noqa: PLR2004 - percent
        needed_times=math.ceil(most / 100.0),
    )
