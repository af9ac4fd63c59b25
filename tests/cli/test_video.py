"""Video formats, and what of measured rates they take."""

from __future__ import annotations

import json

import pytest

from conftest import PAIR, Run, Write, beside, figure, of
from peerlane.cli import plan
from peerlane.planning.video import Chroma, Format, Video, use, videos
from peerlane.reproduction.machine import machine_of
from peerlane.systems.pac.frames import carry

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


def test_two_cards_do_what_one_cannot(
    peerlane: Run, scenario: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the rates of 32 MiB, which are those of 4 GiB as far as this matters."""
    monkeypatch.setattr(plan, "TRANSFER", 1 << 25)
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


@pytest.mark.parametrize(("cards", "in_turn", "late"), [(2, False, 2), (2, True, 2), (3, False, 0)])
def test_frames_of_8k_444_go_to_three_cards_and_back_in_time_but_not_to_two(
    cards: int, *, in_turn: bool, late: int
) -> None:
    fabric = machine_of("pac").fabric()
    for number in range(2, cards + 1):
        fabric.device(f"card{number}", "server", model="fpga-card", profile="pac", afu="dma_afu")
    # A quarter of the pixels at four times the rate: the same bandwidth.
    video = Video(Format.UHD_4K, Chroma.RGB_444, frames_per_second=240.0)
    carried = carry(fabric.simulation(), video, 2, in_turn=in_turn)
    assert carried.late == late
