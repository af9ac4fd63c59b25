"""Peerlane: a lab for PCIe-class fabrics of hosts, switches, GPUs, FPGAs and NICs.

Describe a fabric in a scenario file or in code, simulate it packet by packet with real bytes, and
measure it the way hardware papers do:

    >>> from peerlane import Fabric
    >>> fabric = Fabric("pair").links(generation=3, lanes=8)
    >>> fabric = fabric.host("h0").switch("s0", "h0").device("a", "s0")
    >>> fabric = fabric.device("b", "s0", bar="1 MiB")
    >>> result = fabric.flow("a", "b", size="1 MiB").run()
    >>> result.flows[0].intact
    True
"""

from __future__ import annotations

from importlib import import_module


def _stub() -> dict[str, str]:
    """Reads the module of each public name from the stub beside this file."""
    with open(f"{__file__}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib takes longer to load
        imports = [line.split() for line in stub if line.startswith("from ")]
    return {name: module for _, module, _, name, *_ in imports}


_MODULE_OF = _stub()

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'peerlane' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
