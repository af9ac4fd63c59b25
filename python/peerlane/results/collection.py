"""Defines `Collection`: an ordered list of results that can be converted to a pandas frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_args, overload

from peerlane.errors import optional
from peerlane.results.document import keys_of
from peerlane.results.markup import page, table_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pandas import DataFrame
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")


MOST_KEYS = 6
"""The largest number of keys of rows that the `repr` of a collection shows."""


@dataclass(frozen=True, slots=True)
class By:
    """Annotates a collection in a dataclass; `keys` are the fields by which a row is found."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)

    def __get_pydantic_core_schema__(
        self, source: type, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return _schema(source, handler, self.keys)


class Collection(Sequence[Row], Generic[Row]):
    """Rows in the order of the simulator; a row is found by its position or by its `key` fields.

    If the key has several fields, such as the name and the direction of a link, the index has a
    value for each field, as in `links["h0-s0", "up"]`. The last fields may be left out if only one
    row has the values of the first fields.
    """

    def __init__(self, rows: Iterable[Row] = (), *, key: str | tuple[str, ...] = "id") -> None:
        self._rows = tuple(rows)
        self._key = (key,) if isinstance(key, str) else key
        self._by_key: dict[tuple[object, ...], list[Row]] | None = None

    @overload
    def __getitem__(self, which: int | str | tuple[str | int, ...]) -> Row: ...
    @overload
    def __getitem__(self, which: slice) -> Collection[Row]: ...
    def __getitem__(
        self, which: int | str | tuple[str | int, ...] | slice
    ) -> Row | Collection[Row]:
        """The row at a position or with a key; for a slice, a collection of rows.

        Raises:
            IndexError: There is no row at this position.
            KeyError: No row has this key, or several rows have it.
        """
        if isinstance(which, slice):
            return Collection(self._rows[which], key=self._key)
        if isinstance(which, int):
            return self._rows[which]
        found = self._rows_by_key().get(which if isinstance(which, tuple) else (which,), [])
        if len(found) == 1:
            return found[0]
        offered = ", ".join(self._written(row) for row in found or self._rows)
        if found:
            raise KeyError(f"{which!r} is the key of {len(found)} rows; write one of {offered}")
        raise KeyError(f"{which!r}; there are {offered or 'none'}")

    def _rows_by_key(self) -> dict[tuple[object, ...], list[Row]]:
        """For each key, and for each beginning of a key with several fields, the rows with it."""
        if self._by_key is None:
            found: dict[tuple[object, ...], list[Row]] = {}
            for row in self._rows:
                values = tuple(getattr(row, field) for field in self._key)
                for length in range(1, len(values) + 1):
                    found.setdefault(values[:length], []).append(row)
            self._by_key = found  # assigned when complete, because several threads may read it
        return self._by_key

    def _written(self, row: Row) -> str:
        """The key of a row, as it is written between brackets to find the row."""
        values = [getattr(row, field) for field in self._key]
        return str(values[0]) if len(values) == 1 else f"[{', '.join(map(repr, values))}]"

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
        return _schema(source, handler, ("id",))

    def __repr__(self) -> str:
        keys = ", ".join(self._written(row) for row in self._rows[:MOST_KEYS])
        more = ", ..." * (len(self) > MOST_KEYS)
        return f"<Collection of {len(self)}{': ' * bool(keys)}{keys}{more}>"

    def _repr_html_(self) -> str:
        """The rows as a table, for notebooks."""
        return page(table_of(self._rows))

    def to_pandas(self) -> DataFrame:
        """A pandas frame with one line for each row; columns have the names of the JSON.

        The names of nested fields are joined with an underscore; collections in a row are left out.

        Raises:
            MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
        """
        with optional("to_pandas needs pandas", "pandas"):
            import pandas as pd  # noqa: PLC0415 - optional, and slow to load
        return pd.DataFrame([_flat(row) for row in self._rows])


def _schema(collection: type, handler: GetCoreSchemaHandler, key: tuple[str, ...]) -> CoreSchema:
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


def _flat(row: DataclassInstance, prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    key_of = keys_of(type(row))
    for field in fields(row):
        name, value = f"{prefix}{key_of(field.name)}", getattr(row, field.name)
        if is_dataclass(value) and not isinstance(value, type):
            flat |= _flat(value, f"{name}_")
        elif not isinstance(value, Collection):
            flat[name] = value
    return flat
