"""The command line in a terminal, and where there is none: progress, the pager, `peerlane top`."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from peerlane.cli import console
from peerlane.cli.console import progress

if TYPE_CHECKING:
    import pytest

    from conftest import Run, Write


def test_progress_is_a_line_every_few_seconds_where_nobody_sees_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "LINES", console.LINES._replace(first_s=0.02, every_s=0.02))
    with progress("running pair") as bar:
        time.sleep(0.1)
        bar("running pair", 0.4, 75)
        time.sleep(0.1)
        bar("running pair", 0.5)
        time.sleep(0.1)
    lines = capsys.readouterr().err.splitlines()
    assert "running pair: 0 %, 0 s so far" in lines
    assert "running pair: 40 %, 1 min 15 s left" in lines
    assert "running pair: 50 %, 0 s left" in lines


def test_the_time_left_follows_from_the_pace(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(console, "LINES", console.LINES._replace(first_s=0.02, every_s=0.02))
    monkeypatch.setattr(console, "_clock", lambda: now)
    with progress("work") as bar:
        now += 8.0
        bar("work", 0.4)
        now += 2.0
        time.sleep(0.1)
    assert set(capsys.readouterr().err.splitlines()) == {"work: 40 %, 10 s left"}


def test_short_work_shows_no_progress(peerlane: Run, scenario: Write) -> None:
    ran = peerlane("run", scenario())
    assert not re.search("running", ran.err)
