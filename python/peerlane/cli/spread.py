"""Defines the options of commands as fields of dataclasses, whose `__post_init__` checks them."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """Replaces each parameter of the function that is a dataclass by the fields of the dataclass.

    The library typer makes an argument or option of each field. When the function is called, the
    values of the fields become dataclasses again.
    """
    kinds = get_type_hints(function, include_extras=True)
    del kinds["return"]
    parameters = [
        flat
        for one in signature(function).parameters.values()
        for flat in _flat(kinds[one.name], one.name, one.default)
    ]

    def call(**given: Any) -> None:  # noqa: ANN401 - the values of all options
        made = {name: _made(kind, name, given) for name, kind in kinds.items()}
        function(**made)

    call.__doc__ = function.__doc__
    call.__name__ = function.__name__
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def given(options: object) -> Iterator[str]:
    """The names of the options of a dataclass whose values differ from the defaults."""
    hints = get_type_hints(type(options), include_extras=True)
    for field in fields(options):  # type: ignore[arg-type]
        value = getattr(options, field.name)
        if is_dataclass(value):
            yield from given(value)
        elif field.default is not MISSING and value not in (field.default, []):
            yield _option(hints[field.name], field.name)


def _flat(kind: Any, name: str, default: Any) -> Iterator[Parameter]:  # noqa: ANN401 - any annotation
    if not is_dataclass(kind):
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        return
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        own = Parameter.empty if field.default is MISSING else field.default
        yield from _flat(hints[field.name], field.name, own)


def _made(kind: Any, name: str, values: dict[str, Any]) -> Any:  # noqa: ANN401 - any annotation
    if not is_dataclass(kind):
        return values[name]
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{one.name: _made(hints[one.name], one.name, values) for one in fields(kind)})  # type: ignore[operator]


def _option(kind: Any, name: str) -> str:  # noqa: ANN401 - any annotation
    """The name of a field's option: given to `typer.Option`, or made by typer of the field."""
    infos = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    written = next((one.default for one in infos if isinstance(one, OptionInfo)), ...)
    return f"--{name.replace('_', '-')}" if written is ... else str(written).partition("/")[0]
