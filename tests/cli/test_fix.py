"""`peerlane fix` renames the keys of scenarios that older versions called otherwise."""

from __future__ import annotations

import io
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from conftest import beside

if TYPE_CHECKING:
    from conftest import Run

OLD = beside(__file__, "old_keys.toml")

NEW = beside(__file__, "new_keys.toml")


def written(text: str, name: str = "old.toml") -> Path:
    path = Path(name)
    path.write_bytes(text.encode())
    return path


def test_keys_are_renamed_and_all_else_stays(peerlane: Run) -> None:
    path = written(OLD)
    path.chmod(0o640)
    fixed = peerlane("fix", path)
    assert (fixed.status, fixed.out) == (0, "")
    assert path.read_text() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert 'old.toml:6: lbads = 12 is now block_size = "4 KiB"' in fixed.err
    assert len(fixed.err.splitlines()) == 6
    assert [one.name for one in Path().iterdir()] == ["old.toml"]
    again = peerlane("fix", path)
    assert (again.status, again.out, again.err) == (0, "", "")
    assert peerlane("check", path).status == 0


def test_the_ends_of_lines_stay(peerlane: Run) -> None:
    path = written(OLD.replace("\n", "\r\n"))
    assert peerlane("fix", path).status == 0
    assert path.read_bytes() == NEW.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("option", ["--check", "--diff"])
def test_a_check_writes_nothing(peerlane: Run, option: str) -> None:
    path = written(OLD)
    checked = peerlane("fix", option, path)
    assert checked.status == 1
    assert path.read_text() == OLD
    assert "old.toml:5: " in checked.err
    assert ('+block_size = "4 KiB"\n' in checked.out) == (option == "--diff")
    clean = peerlane("fix", option, written(NEW))
    assert (clean.status, clean.out, clean.err) == (0, "", "")


def test_what_has_another_meaning_is_left_to_the_user(peerlane: Run) -> None:
    device = '[hosts.h]\n[devices.d]\nupstream = "h"\nmodel = "nvme-drive"\n'
    path = written(device + 'channel_bandwidth = "1 GB/s"\nlbads = 9\nblock_size = "512 B"\n')
    fixed = peerlane("fix", path)
    assert fixed.status == 1
    assert "old.toml:5: channel_bandwidth is media_bandwidth now: " in fixed.err
    assert "old.toml:6: lbads is block_size now: block_size is written, too" in fixed.err
    assert 'channel_bandwidth = "1 GB/s"\nlbads = 9\n' in path.read_text()
    peerlane("run", path).refuses(':5: unknown key "channel_bandwidth"', '"media_bandwidth" now')


def test_the_message_about_an_old_name_names_the_new_one_and_the_command(peerlane: Run) -> None:
    peerlane("run", written(OLD)).refuses('write model = "nvme"', "peerlane fix FILE")


def test_standard_input_is_printed(peerlane: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(OLD.encode())))
    fixed = peerlane("fix", "-")
    assert (fixed.status, fixed.out) == (0, NEW)
    assert "standard input:6: " in fixed.err


def test_a_link_stays_a_link(peerlane: Run) -> None:
    path = written(OLD)
    Path("link.toml").symlink_to(path)
    assert peerlane("fix", "link.toml").status == 0
    assert Path("link.toml").is_symlink()
    assert path.read_text() == NEW


@pytest.mark.parametrize("wrong", ["[hosts", "\0\xff", ""])
def test_a_file_that_is_no_scenario_is_refused_and_others_are_fixed(
    peerlane: Run, wrong: str
) -> None:
    other, path = written(wrong, "wrong.toml"), written(OLD)
    fixed = peerlane("fix", other, "missing.toml", path)
    assert fixed.status == 2
    assert "error: wrong.toml:" in fixed.err
    assert "error: missing.toml: no such file or directory" in fixed.err
    assert other.read_text() == wrong
    assert path.read_text() == NEW


def test_a_write_that_fails_loses_nothing(peerlane: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = written(OLD)
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        fixed = peerlane("fix", path)
    assert fixed.status == 1
    assert "error: old.toml: no space left on device" in fixed.err
    assert path.read_text() == OLD
    assert [one.name for one in Path().iterdir()] == ["old.toml"]


def test_what_is_no_file_is_not_replaced(peerlane: Run) -> None:
    Path("folder").mkdir()
    peerlane("fix", "folder").refuses("folder: is a directory")
