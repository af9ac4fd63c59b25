"""Loads Python files of users, which have classes of device models or accelerators."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def load_file(path: Path, prefix: str) -> ModuleType:
    """Runs the code of a file, and returns its module, whose name begins with `prefix`.

    The code can import modules of the same folder; installed modules have priority.

    Raises:
        ValueError: The file is not a Python file, or its code has failed.
    """
    name = f"{prefix}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    beside = str(path.resolve().parent)
    if beside not in sys.path:
        sys.path.append(beside)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} cannot be loaded: {_line(path, error)}{why}") from error
    return module


def _line(path: Path, error: BaseException) -> str:
    """The line of the file at which an exception was raised, as text for a message; or no text."""
    walked = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in walked if frame.f_code.co_filename == str(path.absolute())]
    return f"line {lines[-1]}: " if lines else ""
