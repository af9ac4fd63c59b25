"""The Python reference: every public name, in groups, from the docstrings."""

from __future__ import annotations

import inspect

import peerlane

SECTIONS = {
    "building": "Fabrics",
    "fabric": "Simulations",
    "results": "Results",
    "varying": "Sweeps of any keys",
    "figures": "Figures",
    "progress": "Progress",
    "network": "Networks under load",
    "programs": "Programs on simulated hosts",
    "ranks": "Parallel programs",
    "models": "Device models of one's own",
    "explaining": "Reasons of rates",
    "calibrating": "Keys fitted to measurements",
    "topology": "Drawings",
    "reproduction": "Published systems",
    "errors": "Errors",
    "_core": "Errors of the simulator",
}
"""The parts of the package, with the headings of what is public of them."""


PUBLIC: list[str] = vars(peerlane)["__all__"]


def markdown() -> str:
    """A section for each part of the package, with its public names."""
    names = [name for name in PUBLIC if not name.startswith("_")]
    parts = {name: getattr(peerlane, name).__module__.split(".")[1] for name in names}
    lines = []
    for part, heading in SECTIONS.items():
        lines += [f"## {heading}", "", "```{eval-rst}"]
        for name in (name for name in names if parts[name] == part):
            lines += _entry(name)
        lines += ["```", ""]
    forgotten = [name for name in names if parts[name] not in SECTIONS]
    assert not forgotten, f"no section has {', '.join(forgotten)}"
    return "\n".join(lines)


def _entry(name: str) -> list[str]:
    named = getattr(peerlane, name)
    if not inspect.isclass(named):
        return [f".. autofunction:: peerlane.{name}", ""]
    if issubclass(named, Exception):
        return [f".. autoexception:: peerlane.{name}", ""]
    entry = [f".. autoclass:: peerlane.{name}", "   :members:"]
    # Otherwise the methods of a base class without an entry would be missing.
    bases = [base for base in named.__mro__[1:] if base.__module__.startswith("peerlane.")]
    if any(base.__name__ not in PUBLIC for base in bases):
        entry.append("   :inherited-members:")
    return [*entry, ""]
