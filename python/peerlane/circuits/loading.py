"""Makes the circuits of libraries known to this process."""

from __future__ import annotations

from pathlib import Path

from peerlane import _core


def load(path: str | Path, name: str | None = None) -> str:
    """Loads a library, so that a scenario of this process can name its circuit.

    A device of the scenario names the circuit by `circuit = "NAME"`. The code of the library runs
    in this process.

    Args:
        path: The library, as `peerlane circuit build` or `build` has made it.
        name: Name of the circuit in scenarios; by default the name of the file, without "lib" at
            its begin. A circuit that was loaded by this name before is replaced.

    Returns:
        The name.

    Raises:
        ValueError: The file is not a library of circuits for this version; the message has the
            reason.
    """
    path = Path(path)
    name = path.stem.removeprefix("lib") if name is None else name
    try:
        _core.load_circuit(name, str(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return name
