"""Checks the arguments of calls of a device; errors describe the right arguments."""

from __future__ import annotations

from operator import index

Buffer = bytes | bytearray | memoryview
"""The types of the data of a write."""


def wrong_number(**numbers: object) -> Exception | None:
    """The error for the first argument, such as `address`, that is no valid number; or `None`."""
    for what, number in numbers.items():
        right = "give a whole number"
        if not hasattr(number, "__index__"):
            return TypeError(f"the {what} of a request is {number!r}; {right}")
        if not 0 <= index(number) < 1 << 64:
            return ValueError(f"the {what} of a request is {number}; {right} from 0 to 2**64 - 1")
    return None


def wrong_vector(vector: object, count: int) -> Exception | None:
    """The error for an interrupt vector if a function with `count` vectors does not have it."""
    if not hasattr(vector, "__index__"):
        return TypeError(f"the interrupt vector is {vector!r}; give a whole number")
    if not 0 <= index(vector) < count:
        right = f"use 0 to {count - 1}" if count else "declare as many as the device uses"
        return ValueError(f"vector {vector}: msix_vectors is {count}; {right}")
    return None


def data_bytes(data: object) -> bytes:
    """The bytes of a write. A number is refused, because `bytes(number)` is that many zeros.

    Raises:
        TypeError: The data is not bytes.
    """
    try:
        return bytes(memoryview(data))  # type: ignore[arg-type]
    except TypeError:
        shown = f"the number {data}" if isinstance(data, int) else repr(data)
        right = 'give bytes, such as value.to_bytes(4, "little")'
        raise TypeError(f"the data is {shown}; {right}") from None


def operand_bytes(operation: str, size: object, *operands: object) -> bytes:
    """The operands of an atomic operation of `size` bytes; fetch and add may have a negative one.

    Raises:
        TypeError: An operand is no whole number.
        ValueError: An operand does not have `size` bytes, or the operation is not defined for this
            size.
    """
    sizes = {4: "4", 8: "8"} | ({16: "16"} if operation == "compare_and_swap" else {})
    width = index(size) if hasattr(size, "__index__") else 0
    if width not in sizes:
        raise ValueError(f"the size of {operation} is {size!r}; give {' or '.join(sizes.values())}")
    data = b""
    for one in operands:
        if not hasattr(one, "__index__"):
            raise TypeError(f"an operand of {operation} is {one!r}; give a whole number")
        number = index(one) % (1 << 8 * width) if operation == "fetch_add" else index(one)
        try:
            data += number.to_bytes(width, "little")
        except OverflowError:
            right = f"give unsigned numbers of {width} bytes"
            raise ValueError(f"an operand of {operation} is out of range; {right}") from None
    return data


def answer_bytes(value: object, length: int) -> bytes:
    """The bytes that answer a read, from `length` bytes or from an integer (little-endian).

    Raises:
        TypeError: The value is neither bytes nor an integer.
        ValueError: The value has more or fewer than `length` bytes.
    """
    if isinstance(value, int):
        try:
            return value.to_bytes(length, "little")
        except OverflowError:
            right = f"give an unsigned number of {length} bytes, which are read, or bytes"
            raise ValueError(f"{value} is out of range; {right}") from None
    if not isinstance(value, bytes | bytearray | memoryview):
        right = "give a number or bytes; refuse() refuses the read"
        raise TypeError(f"the answer is {value!r}; {right}")
    data = bytes(value)
    if len(data) != length:
        raise ValueError(f"{length} bytes are read; give as many, not {len(data)}")
    return data
