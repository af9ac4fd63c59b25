"""Bundles: archives of a result with its scenario and the options that reproduce the result."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from peerlane.fabric.simulation import digest_of
from peerlane.printable import json_text
from peerlane.results.document import Document, encode
from peerlane.results.reading import FileError, decoded, document_of, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

MANIFEST, SCENARIO, NUMBERS, README = "bundle.json", "scenario.toml", "numbers.json", "README.txt"
KINDS = ("result", "repeat", "explanation", "points", "sweep")
"""The kinds of documents that a bundle can hold: each of them is made from one scenario."""

_MOST_BYTES = 1 << 28
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The date of all members, so that the bytes of the archive do not depend on the current time."""
_ADVICE = "name an archive that `peerlane bundle` has written"
_HOW = """\
This is a result of Peerlane {version}, with the scenario that it is of.

    pip install peerlane=={version}
    peerlane bundle --check ARCHIVE

simulates the scenario again and compares the numbers.
"""


@dataclass(frozen=True, slots=True)
class Manifest(Document):
    """The first file of a bundle, which describes how the numbers were made.

    `command` and `options` come from the command line, without options that name output files.
    `file` is the file name of the scenario; `seed` is the seed, or `None` if the numbers have
    several. `bundled_on` has the Python, the system and the processor on which the bundle was
    written. The digests are the SHA-256 of the scenario and of the numbers.
    """

    schema: Literal["peerlane-bundle/1"]
    version: str
    command: Literal["run", "explain", "sweep"]
    file: str
    options: tuple[str, ...]
    seed: int | None
    scenario_digest: str
    numbers_digest: str
    bundled_on: dict[str, str]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A scenario, its numbers, and the manifest that describes how they were made."""

    manifest: Manifest
    scenario: str
    numbers: str

    def document(self, source: str) -> dict[str, Any]:
        """Checks the form of the numbers, and returns them as a document.

        Raises:
            FileError: The numbers do not have the form of their kind; the message names `source`.
        """
        return document_of(self.numbers, source, *KINDS)

    def archive(self) -> bytes:
        """The bundle as a ZIP archive."""
        members = {
            README: _HOW.format(version=self.manifest.version),
            MANIFEST: json_text(encode(self.manifest)) + "\n",
            SCENARIO: self.scenario,
            NUMBERS: self.numbers,
        }
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(_member(name), text.encode())
        return content.getvalue()


def open_bundle(path: str | PathLike[str]) -> Bundle:
    """Reads a bundle. Nothing is unpacked into a folder.

    Raises:
        OSError: The file cannot be read.
        FileError: The file is no bundle, or is damaged; the message has the file and the reason.
    """
    texts = _members(path)
    manifest = read(Manifest, texts[MANIFEST], f"{path}: {MANIFEST}")
    if manifest.file != file_name(manifest.file):
        raise FileError(
            f"{path}: {MANIFEST}: file: the name of a scenario ends with .toml and has no folder;"
            f" {_ADVICE}"
        )
    for name, digest in (
        (SCENARIO, manifest.scenario_digest),
        (NUMBERS, manifest.numbers_digest),
    ):
        if digest_of(texts[name]) != digest:
            raise FileError(
                f"{path}: {name} is not the one of which {MANIFEST} has the digest: it was changed"
                f" after the bundle was written; {_ADVICE}"
            )
    bundle = Bundle(manifest, texts[SCENARIO], texts[NUMBERS])
    if bundle.document(f"{path}: {NUMBERS}").get("version") != manifest.version:
        raise FileError(f"{path}: {NUMBERS} and {MANIFEST} differ in version; {_ADVICE}")
    return bundle


def file_name(path: str) -> str:
    """The name of a scenario in a bundle, without a folder and without special characters."""
    stem = re.sub(r"[^A-Za-z0-9_.+-]", "-", re.split(r"[/\\]", path)[-1]).lstrip(".-")
    return f"{stem.removesuffix('.toml') or 'scenario'}.toml"


def _members(path: str | PathLike[str]) -> dict[str, str]:
    """Reads the members of an archive that belong to a bundle, as texts."""
    with Path(path).open("rb") as file:
        content = io.BytesIO(file.read(_MOST_BYTES))
    try:
        with zipfile.ZipFile(content) as archive:
            return {name: _text(archive, name, path) for name in _checked(archive, path)}
    except FileError:
        raise
    except _OF_ZIP as error:
        raise FileError(f"{path} is no ZIP archive, or is damaged: {error}; {_ADVICE}") from None


_OF_ZIP = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError)
"""The exceptions that Python raises for a damaged archive."""


def _checked(archive: zipfile.ZipFile, path: str | PathLike[str]) -> Sequence[str]:
    """The members to read; refuses an archive that has other members than a bundle."""
    names = archive.namelist()
    if sorted(names) != sorted((README, MANIFEST, SCENARIO, NUMBERS)):
        wrong = set(names) ^ {README, MANIFEST, SCENARIO, NUMBERS}
        raise FileError(f"{path} is no bundle: {_difference(names, wrong)}; {_ADVICE}")
    return MANIFEST, SCENARIO, NUMBERS


def _text(archive: zipfile.ZipFile, name: str, path: str | PathLike[str]) -> str:
    """The text of a member, which must be compressed by deflate or not compressed."""
    if archive.getinfo(name).compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise FileError(f"{path}: {name} is compressed in another way than deflate; {_ADVICE}")
    with archive.open(name) as member:
        content = member.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise FileError(f"{path}: {name} is longer than {_MOST_BYTES >> 20} MiB")
    return decoded(content, f"{path}: {name}")


def _difference(names: Sequence[str], wrong: set[str]) -> str:
    """The difference between the members of an archive and the members of a bundle, in words."""
    if not wrong:
        return "it has a member twice"
    name = min(wrong)
    return f"it has a member {name[:40]!r}" if name in names else f"it has no {name}"


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _FIRST_DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member
