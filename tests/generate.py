"""Writes all files that are made from code or runs anew: `make generate` runs it.

With words, such as `published.md`, it writes the files whose paths have one of them.
"""

from __future__ import annotations

import sys

from house import test_digests
from house.test_generated import MADE

if __name__ == "__main__":
    for file, make in (MADE | {test_digests.DIGESTS: test_digests.made}).items():
        if not sys.argv[1:] or any(word in str(file) for word in sys.argv[1:]):
            file.write_text(make(), encoding="utf-8")
