"""Calculates the bandwidth of video formats, and their shares of measured rates."""

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
    """The sampling of colour: YCbCr with a quarter, a half or all of the colour samples."""

    YUV_420 = "420"
    YUV_422 = "422"
    RGB_444 = "444"

    @property
    def half_samples(self) -> int:
        """The number of samples for two pixels: brightness and colour."""
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
    """A stream of frames, in which samples are packed without gaps.

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
        """The size of a frame in whole bytes."""
        width, height = self.format.pixels
        bits = width * height * self.chroma.half_samples * self.depth
        return -(-bits // 16)

    @property
    def frame_mib(self) -> float:
        """The size of a frame in units of 2^20 bytes, which the published source calls MByte."""
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
    """A video, and the share that it needs of each measured rate: in percent, by the rate's name.

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
    """Video formats, and the measured rates with which they are compared."""

    rates_bytes_per_second: dict[str, float]
    videos: tuple[Use, ...]


def videos(
    formats: Iterable[Format],
    chromas: Iterable[Chroma],
    depths: Iterable[int],
    frame_rates: Iterable[float],
) -> Iterator[Video]:
    """Yields all combinations of the arguments; the frame rate changes fastest."""
    for form, chroma, depth, rate in product(formats, chromas, depths, frame_rates):
        yield Video(form, chroma, depth, rate)


def use(video: Video, rates: Mapping[str, float]) -> Use:
    """The share of each rate in `rates` (in bytes per second, by name) that `video` needs."""
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
