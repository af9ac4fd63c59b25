"""Lists the kinds of documents that `--json` writes, with the dataclass of each kind."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from functools import cache
from importlib import import_module

from peerlane.results.document import Document


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a kind of document: the command that writes it, and its dataclass."""

    command: str
    where: str
    """The module and the name of the dataclass; the module is imported when it is first needed."""
    option: str = "--json"
    """The option of the command that writes the document."""

    def kind(self) -> type:
        """The dataclass of the whole document, including the fields that all documents have."""
        return _with_head(self.where)


FORMS = {
    "result": Form("peerlane run", "peerlane.results.run:RunResult"),
    "explanation": Form("peerlane explain", "peerlane.results.explanation:Explanation"),
    "advice": Form("peerlane advise", "peerlane.results.advice:Advice"),
    "points": Form("peerlane sweep --vary", "peerlane.varying.sweep:Sweep"),
    "sweep": Form("peerlane sweep", "peerlane.network.sweep:LoadSweep"),
    "repeat": Form("peerlane run --repeat", "peerlane.varying.repeat:Repeated"),
    "report": Form("peerlane reproduce", "peerlane.documents:Report"),
    "reports": Form("peerlane reproduce", "peerlane.documents:Reports"),
    "claims": Form("peerlane reproduce --claims", "peerlane.reproduction.claims:ClaimList"),
    "fabric": Form("peerlane show", "peerlane.fabric.tree:Tree"),
    "video": Form("peerlane plan video", "peerlane.planning.video:Uses"),
    "comparison": Form("peerlane compare", "peerlane.varying.comparison:Comparison"),
    "measured": Form("peerlane compare --measured", "peerlane.measured.beside:Beside"),
    "calibration": Form("peerlane calibrate", "peerlane.calibrating.calibration:Calibration"),
    "error-bars": Form("peerlane run --error-bars", "peerlane.results.error_bar:ErrorBars"),
    "shapes": Form(
        "peerlane bench shapes", "peerlane.benchmark.shapes.baseline:Shapes", option="--save"
    ),
}
"""The kinds of documents: `peerlane-KIND/1` is the `schema` of each."""

_HEAD = (
    ("schema", str, None),
    ("version", str | None, None),
    ("scenario_digest", str | None, None),
    ("command", tuple[str, ...] | None, None),
)
"""The first fields of every document, which `peerlane.cli.head` creates."""


@cache
def _with_head(where: str) -> type:
    module, _, name = where.partition(":")
    kind: type = getattr(import_module(module), name)
    known = kind.__dataclass_fields__  # type: ignore[attr-defined]
    head = [(key, of, field(default=usual)) for key, of, usual in _HEAD if key not in known]
    if not head:
        return kind
    bases = (kind,) if issubclass(kind, Document) else (kind, Document)
    return make_dataclass(kind.__name__, head, bases=bases, frozen=True, kw_only=True)
