"""Writes a result as Parquet: a table for each list of the JSON, with the names in the JSON.

The names of nested fields are joined with an underscore, as in `to_pandas`. A list within the rows
of a table, such as the directions of flows, is written as another table, in which each row has the
name of the row that contains the list.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from peerlane.errors import optional
from peerlane.results.collection import Collection
from peerlane.results.document import keys_of
from peerlane.results.series import Series

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from os import PathLike

    import pyarrow as pa
    from _typeshed import DataclassInstance

_ENDING = ".parquet"
_RUN = "run"
"""The name of the table with one row, which has all values of a result that are not in lists."""
_NAMES = ("id", "direction")
"""The fields of a row that the tables of its inner lists also have."""


def check_pyarrow() -> None:
    """Checks that pyarrow is installed.

    Raises:
        MissingPackageError: The package pyarrow is not installed.
    """
    with optional("Parquet needs pyarrow", "parquet", "JSON needs nothing"):
        import pyarrow.parquet  # noqa: F401, PLC0415 - optional, and slow to load


def write_parquet(result: DataclassInstance, folder: str | PathLike[str]) -> list[Path]:
    """Writes each table of a result that has rows to a file in a folder; returns the files.

    If a table has no rows in this result, the file of an earlier result for this table is removed.

    Args:
        result: A `RunResult`.
        folder: The folder, which is created if it does not exist.

    Raises:
        MissingPackageError: pyarrow is not installed.
        OSError: A file cannot be written.
    """
    made = tables(result)
    import pyarrow.parquet as pq  # noqa: PLC0415 - optional, and slow to load

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for name, table in made:
        path = place / f"{name}{_ENDING}"
        part = place / f".{path.name}.part"
        if not table.num_rows:
            path.unlink(missing_ok=True)
            continue
        try:
            pq.write_table(table, part)
            part.replace(path)
        finally:
            with suppress(OSError):
                part.unlink()
        written.append(path)
    return written


def tables(result: DataclassInstance) -> list[tuple[str, pa.Table]]:
    """All tables that a result may have, each with its name.

    Raises:
        MissingPackageError: pyarrow is not installed.
    """
    check_pyarrow()
    return [(table.name, table.to_arrow()) for table in _tables(result)]


def table_files(kind: type) -> Iterator[str]:
    """The names of all files that `write_parquet` can write for a type of results."""
    yield f"{_RUN}{_ENDING}"
    for name, hint in _hints(kind).items():
        if _plain(hint) is Series:
            rows = (one for one, inner in _hints(Series).items() if _row_of(_plain(inner)))
            yield from (f"series_{one}{_ENDING}" for one in rows)
        elif (row := _row_of(_plain(hint))) is not None:
            yield f"{name}{_ENDING}"
            inner = (one for one, of in _hints(row).items() if _row_of(_plain(of)))
            yield from (f"{name}_{one}{_ENDING}" for one in inner)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its name, its type, and a function that reads it from a row."""

    name: str
    type: pa.DataType
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: list[_Column]
    rows: Sequence[Any]

    def to_arrow(self) -> pa.Table:
        import pyarrow as pa  # noqa: PLC0415 - optional, and slow to load

        arrays = [
            pa.array([column.read(row) for row in self.rows], type=column.type)
            for column in self.columns
        ]
        return pa.table(arrays, names=[column.name for column in self.columns])


def _tables(result: DataclassInstance) -> Iterator[_Table]:
    kinds = _hints(type(result))
    yield _Table(_RUN, list(_columns(type(result))), [result])
    for field in fields(result):
        kind = _plain(kinds[field.name])
        if kind is Series:
            yield from _series(getattr(result, field.name))
        elif (row := _row_of(kind)) is not None:
            yield from _list(field.name, row, getattr(result, field.name) or ())


def _list(name: str, kind: type, rows: Sequence[Any]) -> Iterator[_Table]:
    """The table of a list of a result, and the tables of the lists in the rows of this list."""
    yield _Table(name, list(_columns(kind)), rows)
    kinds = _hints(kind)
    for field in fields(kind):
        inner = _row_of(_plain(kinds[field.name]))
        if inner is None:
            continue
        names = [
            _Column(one, _arrow(one, kinds[one]), attrgetter(one)) for one in _NAMES if one in kinds
        ]
        own = [_of_pair(0, column, f"{name}_{column.name}") for column in names]
        own += [_of_pair(1, column, column.name) for column in _columns(inner)]
        pairs = [(row, one) for row in rows for one in getattr(row, field.name)]
        yield _Table(f"{name}_{field.name}", own, pairs)


def _of_pair(part: int, column: _Column, name: str) -> _Column:
    """A column that is read from a pair of a row and an entry of its inner list.

    `part` is 0 for a field of the row, and 1 for a field of the entry.
    """
    return _Column(name, column.type, lambda pair: column.read(pair[part]))


def _series(series: Series | None) -> Iterator[_Table]:
    """The tables of samples: a row for each interval of each flow, link direction or fibre."""
    ends = series.end_ns if series is not None else ()
    end = _Column("end_ns", _arrow("end_ns", float), lambda sample: ends[sample[1]])
    for name, kind in _hints(Series).items():
        row = _row_of(_plain(kind))
        if row is None:
            continue
        rows = getattr(series, name) if series is not None else ()
        samples = [(one, number) for one in rows for number in range(len(ends))]
        columns = [_of_sample(column) for column in _columns(row)]
        yield _Table(f"series_{name}", [end, *columns], samples)


def _of_sample(column: _Column) -> _Column:
    """A column of samples: the row's value, or, if the value is a list, the value of the sample."""
    import pyarrow as pa  # noqa: PLC0415 - optional, and slow to load

    read = column.read
    if pa.types.is_list(column.type):
        return _Column(column.name, column.type.value_type, lambda one: read(one[0])[one[1]])
    return _Column(column.name, column.type, lambda one: read(one[0]))


def _columns(kind: type, prefix: str = "", path: str = "") -> Iterator[_Column]:
    """The columns of a dataclass, with the names of the JSON; lists of dataclasses are left out."""
    kinds = _hints(kind)
    key_of = keys_of(kind)
    for field in fields(kind):
        plain, where = _plain(kinds[field.name]), f"{path}{field.name}"
        name = f"{prefix}{key_of(field.name)}"
        if _row_of(plain) is not None or plain is Series:
            continue
        if isinstance(plain, type) and is_dataclass(plain):
            yield from _columns(plain, f"{name}_", f"{where}.")
        else:
            yield _Column(name, _arrow(field.name, plain), _reader(where))


def _reader(path: str) -> Callable[[Any], Any]:
    """Returns a function that reads a field by its path; `None` if a part of the path is `None`."""
    read = attrgetter(path)
    if "." not in path:
        return read
    above = _reader(path.rpartition(".")[0])
    return lambda row: None if above(row) is None else read(row)


def _hints(kind: type) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    return get_type_hints(kind, localns={"ConfigDict": dict}, include_extras=True)


def _plain(kind: Any) -> Any:  # noqa: ANN401 - any annotation
    """A type without its annotations, and without `None`."""
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    parts = [part for part in get_args(kind) if part is not NoneType]
    if NoneType in get_args(kind) and len(parts) == 1:
        return _plain(parts[0])
    return kind


def _row_of(kind: Any) -> type | None:  # noqa: ANN401 - any annotation
    """The dataclass of the rows of a list of dataclasses."""
    if get_origin(kind) not in {Collection, tuple}:
        return None
    row: type = get_args(kind)[0]
    return row if is_dataclass(row) else None


def _arrow(name: str, kind: Any) -> pa.DataType:  # noqa: ANN401 - any annotation
    """The type of a column; addresses have 64 bits."""
    import pyarrow as pa  # noqa: PLC0415 - optional, and slow to load

    kind = _plain(kind)
    if get_origin(kind) is tuple:
        return pa.list_(_arrow(name, get_args(kind)[0]))
    if get_origin(kind) is Literal:
        return pa.string()
    whole = pa.uint64() if name in {"address", "seed"} else pa.int64()
    return {bool: pa.bool_(), int: whole, float: pa.float64(), str: pa.string()}[kind]
