"""Reads the JSON of the simulator into dataclasses, and writes dataclasses as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from peerlane.results.brief import Brief

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import ConfigDict, TypeAdapter
    from pydantic_core import ErrorDetails

T = TypeVar("T")


def renamed(**names: str) -> ConfigDict:
    """The configuration of a dataclass whose fields in `names` have other keys in the JSON."""
    return {"extra": "forbid", "alias_generator": lambda name: names.get(name, name)}


def keys_of(kind: type) -> Callable[[str], str]:
    """A function from the names of a dataclass's fields to their keys in the JSON."""
    found: Callable[[str], str] = getattr(kind, "__pydantic_config__", {}).get(
        "alias_generator", str
    )
    return found


class Document(Brief):
    """A dataclass that can be a part of the JSON of the simulator; unknown keys are refused."""

    __slots__ = ()
    __pydantic_config__: ClassVar[ConfigDict] = {"extra": "forbid"}


def decode(kind: type[T], text: str) -> T:
    """Reads a document of the given kind."""
    document: T = _adapter(kind).validate_json(text)
    return document


def decode_strictly(kind: type[T], text: str) -> T:
    """Reads a document that may be damaged: each value has the type of its field.

    Raises:
        ValueError: The text does not have the form of the kind; the message has the place of the
            first error, and the reason.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - as below

    try:
        document: T = _adapter(kind).validate_json(text, strict=True, context=STRICT)
    except ValidationError as error:
        raise ValueError(_told(error.errors(include_url=False, include_input=False))) from None
    return document


def check(kind: type, text: str, *, is_of_other_version: bool) -> None:
    """Checks a document with the rules of `decode_strictly`.

    In a document of another version of Peerlane, fields may be missing or unknown.

    Raises:
        ValueError: The text does not have the form of the kind.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - as below

    try:
        _adapter(kind).validate_json(text, strict=True, context=STRICT)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        ignored = _OF_VERSIONS if is_of_other_version else ()
        if found := [one for one in found if one["type"] not in ignored]:
            raise ValueError(_told(found)) from None


def _told(errors: Sequence[ErrorDetails]) -> str:
    """The first of several errors in words, and the number of the other errors."""
    first, *others = errors
    place = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    said = said if said != first["msg"] else said[:1].lower() + said[1:]
    more = f" (and {len(others)} more)" if others else ""
    return f"{place}: {said}{more}" if place else f"{said}{more}"


STRICT = {"strict": True}
"""The context of validation with which encoded texts in a document, as histograms, are checked."""

_OF_VERSIONS = ("missing", "extra_forbidden", "unexpected_keyword_argument")
"""The kinds of errors that are accepted in documents of other versions of Peerlane."""


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
