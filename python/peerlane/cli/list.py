"""`peerlane list`: lists models, profiles, parameters, published systems and scenarios."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerlane.cli import completion, shipped
from peerlane.cli.console import emit
from peerlane.cli.options import JsonTo, loaded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Entry = dict[str, Any]


COLUMNS = {
    "models": ("name", "help"),
    "profiles": ("name", "help", "settings"),
    "parameters": ("key", "default", "unit", "where", "help", "source"),
    "systems": ("name", "title"),
    "scenarios": ("name", "title"),
    "recipes": ("name", "question", "command"),
}
"""The topics of the list, each with its columns; the first column is a name."""


def list_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TOPIC] [WORD]...",
            help="A topic (models, profiles, parameters, systems, scenarios, recipes), and words "
            "to find in names and descriptions; everything, if absent.",
            autocompletion=completion.listed,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[=FILE]",
            help="Only this device model, and the parameters that a device of it has; a model of "
            "one's own from FILE.py, FILE.py:CLASS or a library, which runs its code.",
            autocompletion=completion.models,
        ),
    ] = None,
    json_to: JsonTo = None,
) -> None:
    """List device models, profiles, every parameter with its unit and default, and systems.

    - `peerlane list parameters`: all parameters
    - `peerlane list tags`: entries with "tags" in their name or description
    - `peerlane list --model nic latency`: the parameters of a `nic` with "latency" in their name or
      description

    If the terminal is too short for the list, it is shown by `$PAGER`, or `less`.
    """
    from rich.console import Group

    from peerlane.cli import pager
    from peerlane.cli.tables.catalogue import catalogue as table_of

    if model is not None and "=" in model:
        with loaded([model]):
            known = _everything()
        model = model.partition("=")[0]
    else:
        known = _everything()
    wanted = list(words or ())
    chosen = known
    if wanted and wanted[0] in known:
        topic = wanted.pop(0)
        chosen = {topic: known[topic]}
    if model is not None:
        chosen = _of_model(chosen, model, known["models"])
    if wanted:
        found = {name: _having(entries, wanted) for name, entries in chosen.items()}
        chosen = {name: entries for name, entries in found.items() if entries}
        if not chosen:
            raise typer.BadParameter(_nothing(wanted, known))
    shown = Group(*[table_of(name, rows, *COLUMNS[name]) for name, rows in chosen.items()])
    emit(chosen, shown, json_to, show=pager.show)


def _everything() -> dict[str, list[Entry]]:
    from peerlane.models.registry import catalogue
    from peerlane.reproduction.catalogue import systems

    known = dict(catalogue())
    known["systems"] = [{"name": name, "title": title} for name, title in systems().items()]
    known["scenarios"] = [
        {"name": name, "title": shipped.title_of(name)} for name in shipped.names()
    ]
    recipes = (files("peerlane.cli") / "recipes.toml").read_text(encoding="utf-8")
    known["recipes"] = tomllib.loads(recipes)["recipe"]
    return known


def _of_model(chosen: dict[str, list[Entry]], name: str, models: list[Entry]) -> dict[str, Any]:
    """The model of this name, its own parameters, and then the parameters that all devices have.

    Raises:
        typer.BadParameter: The model does not exist.
    """
    from peerlane import _core

    names = [entry["name"] for entry in models]
    if name not in names:
        raise typer.BadParameter(
            f"there is no model {name!r}; {_core.advice(name, names)}", param_hint="--model"
        )
    of_devices = [one for one in _parameters(chosen) if "devices" in one["sections"]]
    own = [entry for entry in of_devices if entry["model"] == name]
    every = [entry for entry in of_devices if entry["model"] is None]
    found = {
        "models": [entry for entry in chosen.get("models", ()) if entry["name"] == name],
        "parameters": own + every,
    }
    return {topic: entries for topic, entries in found.items() if entries}


def _parameters(chosen: dict[str, list[Entry]]) -> list[Entry]:
    return chosen.get("parameters", [])


def _having(entries: Iterable[Entry], words: Sequence[str]) -> list[Entry]:
    """The entries that contain all words; entries with a word in their name come first."""
    sought = [word.casefold() for word in words]
    found = [
        entry
        for entry in entries
        if all(word in _text(entry) or _is_path(entry, word) for word in sought)
    ]
    return sorted(found, key=lambda entry: min(_distance(entry, word) for word in sought))


def _is_path(entry: Entry, word: str) -> bool:
    """Whether a word is the path of a parameter, such as "upstream.to" or "devices.a.tags"."""
    *tables, key = word.split(".")
    ends = {*tables[:1], *tables[-1:]}
    return key == entry.get("key") and bool(ends.intersection(entry["sections"]))


def _distance(entry: Entry, word: str) -> int:
    """The distance of a name from a word: 0 if equal, 1 if the name contains the word, else 2."""
    name = _name(entry).casefold()
    return 0 if name == word or _is_path(entry, word) else 1 if word in name else 2


def _name(entry: Entry) -> str:
    return str(entry.get("key") or entry.get("name"))


def _text(entry: Entry) -> str:
    return json.dumps(list(entry.values()), ensure_ascii=False).casefold()


def _nothing(words: Sequence[str], known: dict[str, list[Entry]]) -> str:
    from peerlane import _core

    names = sorted({_name(entry) for entries in known.values() for entry in entries})
    near = next(filter(None, (_core.nearest(word, names) for word in words)), None)
    meant = f"did you mean {near!r}?" if near else "write fewer words, or others"
    return f"nothing has {' and '.join(map(repr, words))} in its name or description; {meant}"
