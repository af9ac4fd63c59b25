"""Writes all files that are made from code or runs anew: `make generate` runs it."""

from __future__ import annotations

from house import test_digests
from house.test_generated import MADE

if __name__ == "__main__":
    for file, make in (MADE | {test_digests.DIGESTS: test_digests.made}).items():
        file.write_text(make(), encoding="utf-8")
