"""A compiler cache for the parts of Verilator that are the same in every bench.

Verilator's makefile puts OBJCACHE before the compiler's command line. Objects that depend on the
model are compiled as usual.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

STORE = Path(__file__).parent.parent.parent / "target" / "gateware" / "objects"


def main() -> None:
    """Compile, or take the object that the same command line gave before."""
    command = sys.argv[1:]
    sources = [word for word in command if word.endswith(".cpp")]
    if "-o" not in command or not any(Path(word).name.startswith("verilated") for word in sources):
        sys.exit(subprocess.run(command, check=False).returncode)
    target = Path(command[command.index("-o") + 1])
    text = "\0".join(command) + "".join(str(Path(word).stat().st_mtime_ns) for word in sources)
    stored = STORE / f"{hashlib.sha256(text.encode()).hexdigest()}.o"
    if not stored.exists():
        status = subprocess.run(command, check=False).returncode
        if status:
            sys.exit(status)
        STORE.mkdir(parents=True, exist_ok=True)
        new = stored.with_suffix(f".{os.getpid()}")
        shutil.copy(target, new)
        new.replace(stored)
    shutil.copy(stored, target)


if __name__ == "__main__":
    main()
