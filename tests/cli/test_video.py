"""Video formats, and what of measured rates they take."""

from __future__ import annotations

import json

import pytest

from conftest import PAIR, Run, Write, beside, figure, of
from peerlane.planning.video import Chroma, Format, Video, use, videos

PAIR_OF_CARDS = beside(__file__, "pair_of_cards.toml")


def test_a_frame_is_its_samples_without_gaps() -> None:
    assert Video(Format.UHD_8K, Chroma.RGB_444).frame_bytes == 7680 * 4320 * 3 * 10 // 8
    assert Video(Format.HD_720P, Chroma.YUV_420, depth=8).frame_bytes == 1280 * 720 * 3 // 2
    assert Video(Format.DCI_4K, Chroma.YUV_422, 10, 24).bytes_per_second == 4096 * 2160 * 2.5 * 24


def test_a_video_fits_if_the_slowest_rate_is_enough_for_it() -> None:
    video = Video(Format.HD_1080P, Chroma.YUV_422)
    needed = video.bytes_per_second
    assert use(video, {"a": needed, "b": 2 * needed}).fits
    tight = use(video, {"a": 0.99 * needed, "b": 9 * needed})
    assert (tight.fits, tight.needed_times) == (False, 2)


def test_all_combinations_are_there_once() -> None:
    found = list(videos(Format, Chroma, (8, 10), (24, 60)))
    assert len(set(found)) == len(found) == 5 * 3 * 2 * 2


@of("pac")
@pytest.mark.parametrize("name", ["table2", "frame", "usage"])
def test_the_published_tables_of_video_come_out_to_the_printed_digits(name: str) -> None:
    rows = figure("pac", name).rows
    assert len(rows) == 15
    assert [row.id for row in rows if row.simulated != row.expected.published] == []


def test_two_cards_do_what_one_cannot(peerlane: Run, scenario: Write) -> None:
    asked = ("--format", "8k", "--chroma", "444", "--json", "-")
    one = json.loads(peerlane("plan", "video", *asked).out)
    two = json.loads(peerlane("plan", "video", scenario(text=PAIR_OF_CARDS), *asked).out)
    (video,), (with_two,) = one["videos"], two["videos"]
    assert (video["fits"], video["needed_times"], with_two["fits"]) == (False, 2, True)
    assert max(video["percent"].values()) > 115


def test_a_fabric_without_cards_is_measured_by_its_flows(peerlane: Run, scenario: Write) -> None:
    document = json.loads(peerlane("plan", "video", scenario(), "--json", "-").out)
    assert document["rates_bytes_per_second"].keys() == {"a-to-b"}
    assert len(document["videos"]) == 15


def test_a_fabric_without_any_rate_and_wrong_formats_are_refused(
    peerlane: Run, scenario: Write
) -> None:
    nothing = scenario((PAIR[PAIR.index("[[flows]]") :], ""))
    peerlane("plan", "video", nothing).refuses("no flow has a rate", status=1)
    peerlane("plan", "video", "--format", "16k").refuses("16k")
    peerlane("plan", "video", "--depth", "0").refuses("--depth")
