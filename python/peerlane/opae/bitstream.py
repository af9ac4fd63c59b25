"""Reads and writes bitstream files: real bitstreams, and bitstreams that name a model.

The format is Intel's (`.gbs`): 16 bytes of identification, the length of the metadata, the metadata
as JSON, and the configuration bits, which are ignored. Of a real bitstream, only the UUIDs in the
metadata are used.
"""

from __future__ import annotations

from pathlib import Path

from peerlane import _core
from peerlane.opae import afu


def bitstream(image: str) -> bytes:
    """The bytes of an image: the name of a built-in image, a `.gbs` file, or `FILE.py[:CLASS]`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The text names no image; the message has the possible names. Or the text names a
            bitstream that names a model in Python: to run the model, its own file must be named.
    """
    found = read(image)
    model = model_of(found)
    if model is not None and not afu.split(image)[0].endswith(".py"):
        raise ValueError(f"{image} names the model {model}; to run it, name that file instead")
    return found


def model_of(bits: bytes) -> str | None:
    """The file and class of the model that a bitstream names, or `None`."""
    return _core.read_bitstream(bits)[2]


def read(image: str) -> bytes:
    """The bytes of an image for a session, which loads a model only if the user has named it.

    Raises:
        OSError: The file cannot be read.
        ValueError: The image does not exist; the message has the possible names.
    """
    built_in = dict(_core.afus())
    if image in built_in:
        return _core.write_bitstream(image, built_in[image])
    path = afu.split(image)[0]
    if path.endswith(".py"):
        place = afu.place_of(image)
        return _core.write_bitstream(Path(path).stem, afu.load(place).uuid, place)
    if Path(image).is_dir():
        raise ValueError(f"{image} is a folder; name a file (.gbs, .py) in it")
    if not Path(image).is_file():
        there = _core.advice(image, list(built_in))
        raise ValueError(
            f"there is no image {image!r}, nor a file (.gbs, .py) of this name; {there}"
        )
    found = Path(image).read_bytes()
    try:
        _core.read_bitstream(found)
    except ValueError as error:
        raise ValueError(f"{image} is not a bitstream: {error}") from None
    return found
