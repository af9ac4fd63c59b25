"""An ordered collection of results that becomes a pandas frame when asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, overload

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pandas import DataFrame
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class By:
    """Annotates a collection in a document: `key` is the field by which its rows are found."""

    key: str

    def __get_pydantic_core_schema__(
        self, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _schema(source, handler, self.key)


class Collection(Sequence[Row], Generic[Row]):
    """Rows in the order the simulator reports them, found by position or by their `key` field."""

    def __init__(self, rows: Iterable[Row] = (), *, key: str = "id") -> None:
        self._rows = tuple(rows)
        self._key = key
        self._by_key: dict[object, Row] | None = None

    @overload
    def __getitem__(self, which: int | str) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> Collection[Row]: ...
    def __getitem__(self, which: int | str | slice) -> Row | Collection[Row]:
        if isinstance(which, slice):
            return Collection(self._rows[which], key=self._key)
        if isinstance(which, int):
            return self._rows[which]
        if self._by_key is None:
            self._by_key = {getattr(row, self._key): row for row in reversed(self._rows)}
        if which in self._by_key:
            return self._by_key[which]
        known = ", ".join(str(getattr(row, self._key)) for row in self._rows)
        raise KeyError(f"{which!r}; there are {known}" if known else f"{which!r}; there are none")

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and self._rows == other._rows

    def __hash__(self) -> int:
        return hash(self._rows)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _schema(source, handler, "id")

    def __repr__(self) -> str:
        return f"Collection({list(self._rows)!r})"

    def to_pandas(self) -> DataFrame:
        """One line for each row; nested fields are joined with an underscore.

        Raises:
            ModuleNotFoundError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        try:
            import pandas as pd  # noqa: PLC0415 - optional, and slow to load
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "to_pandas needs pandas: pip install 'peerlane[pandas]'", name="pandas"
            ) from error
        return pd.DataFrame([_flat(asdict(row)) for row in self._rows])


def _schema(collection: type, handler: GetCoreSchemaHandler, key: str) -> CoreSchema:
    """Reads a list of rows as a collection, and writes a collection as a list."""
    from pydantic_core import core_schema  # noqa: PLC0415 - comes with pydantic, at the first result

    (row,) = get_args(collection)
    rows = core_schema.list_schema(handler.generate_schema(row))
    return core_schema.no_info_after_validator_function(
        lambda found: Collection(found, key=key),
        rows,
        serialization=core_schema.wrap_serializer_function_ser_schema(
            lambda found, write: write(list(found)), schema=rows
        ),
    )


def _flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}_")
        else:
            flat[prefix + name] = value
    return flat
