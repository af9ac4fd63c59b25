"""Files that hold accelerators: real ones, and those that name a model.

The format is Intel's (`.gbs`): 16 bytes that say so, the length of the metadata, the metadata as
JSON, and the bits, which mean nothing here. A real file is known by the UUIDs in its metadata.
"""

from __future__ import annotations

import json
from pathlib import Path

from peerlane import _core
from peerlane.opae import afu

MAGIC = b"XeonFPGA\xb7GBSv001"

INTERFACE = "9926ab6d-6c92-5a68-aabc-a7d84c545738"
"""Of the PAC with Arria 10 GX, as version 1.1 of the Acceleration Stack has it."""


def bitstream(image: str) -> bytes:
    """The bytes of an image: the name of a built-in one, a `.gbs` file, or `FILE.py[:CLASS]`.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is none of these; the message says what there is.
    """
    built_in = dict(_core.afus())
    if image in built_in:
        return _pack(image, built_in[image])
    path, _, wanted = image.partition(":")
    if path.endswith(".py"):
        place = str(Path(path).resolve()) + (f":{wanted}" if wanted else "")
        return _pack(Path(path).stem, afu.load(place).uuid, model=place)
    if not Path(image).is_file():
        names = ", ".join(built_in)
        raise ValueError(f"there is no image {image!r}; name a file (.gbs, .py) or one of {names}")
    found = Path(image).read_bytes()
    try:
        _core.read_bitstream(found)
    except ValueError as error:
        raise ValueError(f"{image} is no bitstream: {error}") from None
    return found


def _pack(name: str, uuid: str, model: str | None = None) -> bytes:
    cluster = {"name": name, "total-contexts": 1, "accelerator-type-uuid": uuid}
    image = {
        "magic-no": 488605312,
        "power": 0,
        "interface-uuid": INTERFACE,
        "accelerator-clusters": [cluster],
    }
    metadata: dict[str, object] = {"version": 1, "platform-name": "DCP", "afu-image": image}
    if model is not None:
        metadata["peerlane"] = {"model": model}
    text = json.dumps(metadata).encode()
    return MAGIC + len(text).to_bytes(4, "little") + text
