"""Defines the parameters of device models, whose values scenarios set."""

from __future__ import annotations

from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, overload

from peerlane._core import parameter_value

Value = TypeVar("Value", int, float, bool, str)

Written = str | int | float | bool

UNITS = {"time": "ns", "bytes": "B", "bandwidth": "B/s", "frequency": "Hz"}
"""The unit in which a device has the value of a parameter, by the kind of the parameter."""

OWN = "_own"
"""The name of the attribute with the values that a program has set, in the form of scenarios."""

DECLARED = tuple[str, str, Written, str, str, tuple[Written, Written] | None]
"""A parameter in the form that the simulator reads: key, kind, default, help, source and limits."""


AUTHOR = "the model's author"
"""The source of a default for which no source is given."""


class About(TypedDict, total=False):
    """The arguments of `Parameter` except the default."""

    help: str
    source: str
    least: str
    most: str


class Parameter(Generic[Value]):
    """A parameter of a device model; it is an attribute of the model's class.

    A device has the value of the parameter in an attribute of the same name. `Parameter(32)` is a
    number, and `Parameter.time("1 us")` is a time, whose value in the device is in nanoseconds.

    Args:
        default: The value if a scenario sets no value; all values have the type of the default.
        help: The meaning of the parameter, in one or two sentences.
        source: The source of the default.
        least: The least permitted value; if it is given, `most` must be given, too.
        most: The greatest permitted value; if it is given, `least` must be given, too.

    Raises:
        ValueError: The default or a limit is not a value of a parameter.
    """

    def __init__(
        self,
        default: Value,
        *,
        help: str = "",  # noqa: A002 - as in `peerlane list`
        source: str = AUTHOR,
        least: Value | None = None,
        most: Value | None = None,
    ) -> None:
        self._declare(type(default).__name__, default, help, source, (least, most))

    @classmethod
    def time(cls, default: str, **about: Unpack[About]) -> Parameter[float]:
        """A time such as "150 ns"; its value in a device is in nanoseconds."""
        made: Parameter[float] = cls._of("time", default, **about)
        return made

    @classmethod
    def size(cls, default: str, **about: Unpack[About]) -> Parameter[int]:
        """A number of bytes such as "4 KiB"."""
        made: Parameter[int] = cls._of("bytes", default, **about)
        return made

    @classmethod
    def bandwidth(cls, default: str, **about: Unpack[About]) -> Parameter[int]:
        """A rate such as "2 GB/s"; its value in a device is in bytes per second."""
        made: Parameter[int] = cls._of("bandwidth", default, **about)
        return made

    @classmethod
    def frequency(cls, default: str, **about: Unpack[About]) -> Parameter[int]:
        """A frequency such as "250 MHz"; its value in a device is in cycles per second."""
        made: Parameter[int] = cls._of("frequency", default, **about)
        return made

    @classmethod
    def _of(  # noqa: PLR0913 - those of a parameter
        cls,
        kind: str,
        default: str,
        *,
        help: str = "",  # noqa: A002 - as above
        source: str = AUTHOR,
        least: str | None = None,
        most: str | None = None,
    ) -> Any:  # noqa: ANN401 - a parameter of the type that the kind has
        parameter = cls.__new__(cls)
        parameter._declare(kind, default, help, source, (least, most))  # noqa: SLF001 - of this class
        return parameter

    def _declare(
        self,
        kind: str,
        default: Written,
        help: str,  # noqa: A002 - as above
        source: str,
        limits: tuple[Written | None, Written | None],
    ) -> None:
        least, most = limits
        if (least is None) != (most is None):
            raise ValueError("a parameter has both limits or none; give least and most")
        self.key = ""
        self._kind = kind
        self._written = default
        self._default = parameter_value(kind, "default", default)
        self._help = help
        self._source = source
        self._limits = None if least is None or most is None else (least, most)

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = name

    @overload
    def __get__(self, device: None, owner: type) -> Self: ...
    @overload
    def __get__(self, device: object, owner: type) -> Value: ...
    def __get__(self, device: object | None, owner: type) -> Self | Value:
        if device is None:
            return self
        value: Value = device.__dict__.get(self.key, self._default)
        return value

    # The value of a quantity may be a text, such as "5 us".
    def __set__(self, device: object, value: Value | str) -> None:
        has: Any = parameter_value(self._kind, self.key, value)
        if self._limits is not None:
            least: Any
            most: Any
            least, most = (parameter_value(self._kind, self.key, one) for one in self._limits)
            if not least <= has <= most:
                right = f"write a value from {self._limits[0]} up to {self._limits[1]}"
                raise ValueError(f"the parameter {self.key}: {value} is out of range; {right}")
        device.__dict__[self.key] = has
        device.__dict__.setdefault(OWN, {})[self.key] = self._as_written(value)

    def _as_written(self, value: Written) -> Written:
        """Converts a value to the form of scenarios, in which a quantity has a unit."""
        if isinstance(value, str) or self._kind not in UNITS:
            return value
        digits = f"{value:.6f}".rstrip("0").rstrip(".") if self._kind == "time" else f"{value}"
        return f"{digits} {UNITS[self._kind]}"

    def declared(self, default: Written | None = None) -> DECLARED:
        """The parameter in the form that the simulator reads, with another default if given."""
        help_ = self._help or self.key.replace("_", " ").capitalize() + "."
        written = self._written if default is None else default
        return (self.key, self._kind, written, help_, self._source, self._limits)
