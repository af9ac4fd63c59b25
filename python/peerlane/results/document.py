"""The JSON of the simulator, read into dataclasses and written from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from pydantic import ConfigDict, TypeAdapter

T = TypeVar("T")

FORMS: dict[str, type] = {}
"""The dataclasses of documents by the name of their form, each added where it is defined."""


def renamed(**names: str) -> ConfigDict:
    """The configuration of a dataclass whose `names` have other keys in the JSON."""
    return {"extra": "forbid", "alias_generator": lambda name: names.get(name, name)}


class Document:
    """A dataclass with a place in the JSON of the simulator; unknown keys are refused there."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}


def decode(kind: type[T], text: str) -> T:
    """Reads a document of the given kind."""
    document: T = _adapter(kind).validate_json(text)
    return document


def check(kind: type, text: str) -> str | None:
    """The first place where a text does not fit its form, and the reason; `None` if it fits."""
    from pydantic import ValidationError  # noqa: PLC0415 - as below

    try:
        _adapter(kind).validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg'].lower()}" if place else first["msg"].lower()
    return None


def encode(document: object) -> dict[str, Any]:
    """The fields of a document, by their keys in the JSON."""
    fields: dict[str, Any] = _adapter(type(document)).dump_python(document, by_alias=True)
    return fields


def schema_of(kind: type) -> dict[str, Any]:
    """The JSON schema of the documents of a kind."""
    return _adapter(kind).json_schema(by_alias=True, mode="validation")


_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load, and needed at the first result

    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
