"""Reads and writes the table of a sweep as a file: CSV, or Parquet with pandas and pyarrow."""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlane.errors import optional
from peerlane.figures.quantities import in_unit, unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from pandas import DataFrame

ENDINGS = (".csv", ".parquet")


def check_ending(path: str | PathLike[str]) -> Path:
    """Checks that a table can be written to a file with this ending; returns the path.

    Raises:
        ValueError: The ending belongs to no format.
        MissingPackageError: pandas or pyarrow are not installed.
    """
    found = Path(path)
    if found.suffix not in ENDINGS:
        raise ValueError(f"{path}: write a name that ends with .csv or .parquet")
    if found.suffix == ".parquet":
        with optional("Parquet needs pandas and pyarrow", "parquet", ".csv needs nothing"):
            import pandas as pd  # noqa: F401, PLC0415 - optional, and slow to load
            import pyarrow as pa  # noqa: F401, PLC0415 - as above
    return found


def write_table(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes the rows of a table to a file; after an error, the file is unchanged.

    Raises:
        OSError: The file could not be written; the error has the file's name.
    """
    content = _parquet(columns, rows) if path.suffix == ".parquet" else _csv(columns, rows)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with suppress(OSError):
            part.unlink()


def difference(
    path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]], given: Sequence[str]
) -> str | None:
    """The difference between a file and a table, in words; `None` if the file has these rows.

    Args:
        path: The file.
        columns: All columns of the other table.
        rows: The rows of the other table, which may have only the columns `given`.
        given: The columns whose values are compared.

    Raises:
        OSError: The file cannot be read.
    """
    is_parquet = path.suffix == ".parquet"
    read, write = (_read_parquet, _parquet) if is_parquet else (_read_csv, _csv)
    try:
        head, found = read(path.read_bytes())
    except (ValueError, csv.Error):  # the file is not UTF-8, or not Parquet
        return "it is no table"
    if head != list(columns):
        return f"it has the columns {', '.join(head)}; asked for are {', '.join(columns)}"
    if len(found) != len(rows):
        return f"it has {len(found):,} points; asked for are {len(rows):,}"
    _, wanted = read(write(given, rows))
    places = [head.index(name) for name in given]
    for number, (row, asked) in enumerate(zip(found, wanted, strict=True), 1):
        for name, place, value in zip(given, places, asked, strict=True):
            if len(row) <= place or row[place] != value:
                there = row[place] if len(row) > place else "nothing"
                return f"point {number:,} has {name}={there}; asked for is {name}={value}"
    return None


def units_of(rows: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> dict[str, str]:
    """The unit of each key whose values are all quantities of one kind, such as sizes."""
    found = {}
    for key in keys:
        values = [row[key] for row in rows]
        unit = next(map(unit_of, values), "")
        if unit and all(in_unit(value, unit) is not None for value in values):
            found[key] = unit
    return found


def with_units(
    columns: Sequence[str], rows: Sequence[Mapping[str, Any]], units: Mapping[str, str]
) -> tuple[list[str], list[dict[str, Any]]]:
    """The table with numbers in place of quantities; names of columns have the units."""
    names = {name: f"{name} [{units[name]}]" if name in units else name for name in columns}
    found = [
        {
            names[name]: _whole(in_unit(value, units[name])) if name in units else value
            for name, value in row.items()
            if name in names
        }
        for row in rows
    ]
    return list(names.values()), found


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value


def frame(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """The rows as a pandas frame; a column with values of several types is converted to texts.

    Raises:
        MissingPackageError: pandas is not installed (`pip install 'peerlane[pandas]'`).
    """
    with optional("to_pandas needs pandas", "pandas"):
        import pandas as pd  # noqa: PLC0415 - optional, and slow to load
    return pd.DataFrame({name: _column([row[name] for row in rows]) for name in columns})


def _column(values: list[Any]) -> list[Any]:
    kinds = {_kind(value) for value in values if value is not None}
    if len(kinds) <= 1 and "list" not in kinds:
        return values
    return [None if value is None else _text(value) for value in values]


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    return "list" if isinstance(value, list) else "text"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if row[name] is None else _text(row[name]) for name in columns])
    return text.getvalue().encode()


def _parquet(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    content = io.BytesIO()
    frame(columns, rows).to_parquet(content, engine="pyarrow", index=False)
    return content.getvalue()


def _read_csv(content: bytes) -> tuple[list[str], list[list[Any]]]:
    """The columns and the rows of a CSV file; all cells are texts."""
    head, *rows = list(csv.reader(io.StringIO(content.decode(), newline=""))) or [[]]
    return head, rows


def _read_parquet(content: bytes) -> tuple[list[str], list[list[Any]]]:
    """The columns and the rows of a Parquet file."""
    import pandas as pd  # noqa: PLC0415 - optional, and slow to load

    found = pd.read_parquet(io.BytesIO(content), engine="pyarrow")
    return list(map(str, found.columns)), found.astype(object).to_numpy().tolist()
