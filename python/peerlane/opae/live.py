"""Configures a card of the session in which this process runs, by the library for programs."""

from __future__ import annotations

import ctypes
import os

from peerlane.opae.session import library_folder

SESSION = "PEERLANE_SESSION"
"""The environment variable by which a program of a session finds the session."""

DEVICE = 0
"""The value of FPGA_DEVICE, the type of the objects into which accelerators are loaded."""


def is_in_session() -> bool:
    """Whether this process was started by `peerlane opae run`."""
    return bool(os.environ.get(SESSION))


def configure(bitstream: bytes, slot: int = 0) -> None:
    """Loads an accelerator into a slot of the first card of the session.

    Raises:
        RuntimeError: The library refuses the bitstream; the message has the reason.
    """
    library = ctypes.CDLL(str(library_folder() / "libopae-c.so.2"))
    library.fpgaErrStr.restype = ctypes.c_char_p

    def call(name: str, *arguments: object) -> None:
        result = getattr(library, name)(*arguments)
        if result:
            text = library.fpgaErrStr(result).decode()
            raise RuntimeError(f"{name}: {text}")

    wanted, token, handle = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    found = ctypes.c_uint32()
    call("fpgaGetProperties", None, ctypes.byref(wanted))
    call("fpgaPropertiesSetObjectType", wanted, DEVICE)
    call("fpgaEnumerate", ctypes.byref(wanted), 1, ctypes.byref(token), 1, ctypes.byref(found))
    call("fpgaDestroyProperties", ctypes.byref(wanted))
    call("fpgaOpen", token, ctypes.byref(handle), 0)
    try:
        size = ctypes.c_size_t(len(bitstream))
        call("fpgaReconfigureSlot", handle, slot, bitstream, size, 0)
    finally:
        call("fpgaClose", handle)
        call("fpgaDestroyToken", ctypes.byref(token))
