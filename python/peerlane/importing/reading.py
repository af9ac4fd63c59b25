"""Reads files that describe one machine, each in any known format, and makes a `Machine`."""

from __future__ import annotations

import re
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from peerlane.importing import hwloc, lspci, nccl, nvidia_smi, rocm_smi, smallest
from peerlane.importing.listing import ListingError
from peerlane.importing.machine import Host, Machine, assemble, fastest_link
from peerlane.importing.paths import paths_of
from peerlane.importing.statements import (
    FASTEST_LINK,
    IDS,
    NUMA_NODE,
    Place,
    Statements,
    inconsistent,
)
from peerlane.importing.tables import Table, compare
from peerlane.printable import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from peerlane.importing.listing import Listing, Slot


class Form(Enum):
    """The formats of files, each with the command or the variable that makes the file."""

    LSPCI = "sudo lspci -vvv"
    NCCL = "NCCL_TOPO_DUMP_FILE"
    HWLOC = "lstopo --of xml"
    NVIDIA_SMI = "nvidia-smi topo -m"
    ROCM_SMI = "rocm-smi --showtopo"


class _Tree(NamedTuple):
    """The device tree that a file states.

    `functions` has the functions in the file, if the file lists all functions of the machine.
    """

    source: str
    head: str
    hosts: list[Host]
    functions: frozenset[Slot] | None = None


def load(paths: Sequence[str], form: Form | None = None) -> Machine:
    """Reads files that describe one machine; `-` is standard input.

    Args:
        paths: Files of one machine, at most one of each format.
        form: The format of all files. If it is `None`, the content of each file shows its format.

    Raises:
        OSError: A file cannot be read.
        ListingError: A file is damaged or has no known format, or files are inconsistent.
    """
    return machine_of([_read(path) for path in paths], form)


def _read(path: str) -> tuple[bytes, str]:
    if path == "-":
        return sys.stdin.buffer.read(), "standard input"
    return Path(path).read_bytes(), path


def machine_of(files: Sequence[tuple[bytes, str]], form: Form | None = None) -> Machine:
    """The machine that files describe; each file is its content and its name in messages.

    Raises:
        ListingError: A file is damaged or has no known format, or files are inconsistent.
    """
    of: dict[Form, tuple[bytes, str]] = {}
    for content, source in files:
        its = form or _form(content, source)
        if its in of:
            raise ListingError(
                f"{source}: {of[its][1]} is also of `{its.value}`; give one file of each form"
            )
        of[its] = content, source
    statements = Statements()
    tables = list(_tables(of, statements))
    trees = list(_trees(of, statements))
    if not trees:
        first, head = tables[0], smallest.HEAD + _DEFAULTS
        trees = [_Tree(first.source, head, [smallest.smallest(first, statements)])]
    tree, *others = trees
    paths = paths_of(tree.hosts, statements)
    for other in others:
        _compare(tree, other, statements)
    for table in tables:
        compare(table, paths, tree.source, statements)
    return Machine(tree.source, _head(tree, of), tree.hosts, statements)


def _tables(of: dict[Form, tuple[bytes, str]], statements: Statements) -> Iterator[Table]:
    for form, read in ((Form.NVIDIA_SMI, nvidia_smi.read), (Form.ROCM_SMI, rocm_smi.read)):
        if form in of:
            yield read(_text(of[form][0]), of[form][1], statements)


def _trees(of: dict[Form, tuple[bytes, str]], statements: Statements) -> Iterator[_Tree]:
    """The device trees of files; the tree with the most facts is first."""
    if Form.LSPCI in of:
        content, source = of[Form.LSPCI]
        yield _listed(lspci.parse(content, source), statements)
    later = []
    if Form.NCCL in of:
        content, source = of[Form.NCCL]
        hosts = nccl.read(_text(content), source, statements)
        later.append(_Tree(source, nccl.HEAD + _DEFAULTS, hosts))
    if Form.HWLOC in of:
        content, source = of[Form.HWLOC]
        hosts = assemble(hwloc.read(_text(content), source, statements))
        yield _Tree(source, hwloc.HEAD + _DEFAULTS, hosts)
    yield from later


def _listed(listing: Listing, statements: Statements) -> _Tree:
    """The tree of a listing, and what the listing states about functions."""
    hosts = assemble(listing)
    for function in listing.functions:
        place = Place(listing.source, function.line)
        if function.numa_node is not None:
            statements.state(NUMA_NODE, function.slot, function.numa_node, place)
        if ids := re.search(r"\[([0-9a-f]{4}:[0-9a-f]{4})\]", function.what):
            statements.state(IDS, function.slot, ids[1], place)
    for port in (port for host in hosts for port in host.used_below()):
        if not isinstance(port.below, str) and (
            link := fastest_link(port.express, port.below.express)
        ):
            place = Place(listing.source, port.below.function.line)
            statements.state(FASTEST_LINK, port.below.function.slot, link, place)
    functions = frozenset(function.slot for function in listing.functions)
    return _Tree(listing.source, lspci.HEAD, hosts, functions)


def _compare(tree: _Tree, other: _Tree, statements: Statements) -> None:
    """Compares the switches above each device in two trees; `other` may have fewer switches.

    Raises:
        ListingError: A device is below another switch.
    """
    paths = paths_of(tree.hosts, statements)
    for slot, path in paths_of(other.hosts, statements).items():
        place = Place(other.source, path.function.line)
        if slot in paths:
            ours = paths[slot]
            rest = iter(ours.switches)
            if not all(switch in rest for switch in path.switches):
                its = Place(tree.source, ours.function.line)
                says = f"the switches above {slot} are {_shown(ours.switches)}"
                raise inconsistent(its, says, place, _shown(path.switches))
        elif tree.functions is not None and slot not in tree.functions:
            raise ListingError(
                f"inconsistent: {place} says that there is a function {slot}, {tree.source} has "
                "none; give files of one machine"
            )
        else:
            what = f"{slot} is at no link in {tree.source}"
            statements.leave_out("function", place, what)


def _shown(switches: tuple[Slot, ...]) -> str:
    return ", ".join(map(str, switches)) or "none"


_XML = re.compile(
    r"\s*(?:<\?xml.*?\?>\s*|<!DOCTYPE(?:[^\[>]|\[.*?\])*>\s*|<!--.*?-->\s*)*<(system|topology)\b",
    re.DOTALL,
)
_FUNCTION = re.compile(r"^[> \t]*(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7] ", re.MULTILINE)


def _form(content: bytes, source: str) -> Form:
    """The format of a file, from its content."""
    text = _text(content)
    if xml := _XML.match(text):
        return Form.NCCL if xml[1] == "system" else Form.HWLOC
    if nvidia_smi.is_table(text):
        return Form.NVIDIA_SMI
    if rocm_smi.is_table(text):
        return Form.ROCM_SMI
    if _FUNCTION.search(text):
        return Form.LSPCI
    known = ", ".join(f"`{form.value}`" for form in Form)
    raise ListingError(f"{source}: the form of this file is not known; the forms are {known}")


def _text(content: bytes) -> str:
    return content.decode("utf-8-sig", errors="replace")


_DEFAULTS = """\
#
# What is not in these files is as `peerlane list parameters` says: payload and request sizes, tags,
# BARs, buffers, latencies, the size and rate of memory, what a device does.
#
"""


def _head(tree: _Tree, of: dict[Form, tuple[bytes, str]]) -> str:
    """The comments at the beginning of a scenario: its files, and what it has from them."""
    if list(of) == [Form.LSPCI]:
        return f"# A machine, from its listing by lspci: {_name(tree.source)}.\n#\n{tree.head}"
    files = "".join(f"#   {_name(source)} ({form.value})\n" for form, (_, source) in of.items())
    also = ""
    if len(of) > 1:
        also = (
            f"# The tree is from {_name(tree.source)}; the other files agree with it, and add NUMA "
            "nodes, sockets,\n# and numbers and names of devices.\n#\n"
        )
    return f"# A machine, from these files:\n{files}#\n{also}{tree.head}"


def _name(source: str) -> str:
    return printable(Path(source).name)
