"""`peerlane bundle`: puts a result and its scenario into an archive, or runs an archive again."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerlane.cli.console import emit, say, warn, write
from peerlane.cli.files import keep_apart
from peerlane.cli.head import head
from peerlane.cli.options import FAILED, JsonTo, writable
from peerlane.results.reading import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from peerlane.bundle import Bundle

KEPT = {
    "run": (
        *("--set", "--seed", "--rtl", "--repeat", "--interval"),
        *("--check-coherence", "--explain", "--steady", "--error-bars"),
    ),
    "explain": ("--set", "--seed", "--flow", "--what-if", "--error-bars"),
    "sweep": (
        *("--set", "--seed", "--vary", "--metric", "--sample"),
        *("--loads", "--steps", "--to", "--traffic", "--repeat"),
    ),
}
"""For each command, the options that affect the numbers in its output.

A bundle is run again with these options only.
"""


def bundle(
    file: Annotated[
        str,
        typer.Argument(
            metavar="RESULT.json|ARCHIVE.zip",
            help="What `run`, `explain` or `sweep` wrote with --json; with --check, an archive.",
        ),
    ],
    *,
    out: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            callback=writable,
            help="The archive; RESULT with .zip, if absent.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Simulate an archive again, and compare the numbers."),
    ] = False,
    json_to: JsonTo = None,
) -> None:
    """Put a result into one archive with its scenario, or check such an archive.

    `peerlane run card.toml --json card.json`, then `peerlane bundle card.json` writes card.zip, and
    `peerlane bundle --check card.zip` runs it again, on any machine.

    The archive is a ZIP file with the scenario, the numbers, the version of Peerlane, the options,
    the seed, and the digests of the scenario and the numbers. The scenario must still be at the
    path from which it was simulated, and must be unchanged. On one machine, the archive of a result
    always has the same bytes.

    --check prints what differs, or that nothing differs. The exit status is 1 if a number differs,
    and 2 if the archive is damaged. It runs only the scenario: an archive has no models, RTL
    modules or programs, and its options only set keys, seeds and points.
    """
    if check:
        if out is not None:
            raise typer.BadParameter("--out is for a new archive; leave out --check")
        _check(file, json_to)
        return
    if json_to is not None:
        raise typer.BadParameter("--json has the differences that --check finds; add --check")
    from peerlane.results.reading import text_of

    target = out or str(Path(file).with_suffix(".zip"))
    keep_apart([file], {"--out": target})
    write(target, _of_result(text_of(file), file).archive())
    say(f"wrote {target}")


def _of_result(numbers: str, source: str) -> Bundle:
    """The bundle of a result, whose `command` names the scenario and the options."""
    from peerlane.bundle import KINDS, Bundle, Manifest, file_name
    from peerlane.cli.scenarios import scenario_text
    from peerlane.fabric.simulation import digest_of
    from peerlane.results.reading import document_of

    made = document_of(numbers, source, *KINDS)
    command: list[Any] = list(made.get("command") or ())
    if len(command) < 2:  # noqa: PLR2004 - peerlane, and the name of the command
        raise FileError(
            f"{source} does not say by which command it was written; write a new result with"
            " `peerlane run --json`"
        )
    given, options = _parsed(command[1], command[2:], source)
    file = given["file"]
    if file == "-":
        raise FileError(f"{source} is of a scenario from standard input; run it from a file")
    text, name = scenario_text(file)
    if not any(made.get("scenario_digest") == digest for digest in _digests(text, given)):
        raise FileError(f"{file} is not the scenario of {source} any more; run it again")
    manifest = Manifest(
        schema="peerlane-bundle/1",
        version=made["version"],
        command=command[1],
        file=file_name(name),
        options=tuple(options),
        seed=made.get("seed"),
        scenario_digest=digest_of(text),
        numbers_digest=digest_of(numbers),
        bundled_on={
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.release()}",
            "processor": platform.machine(),
        },
    )
    return Bundle(manifest, text, numbers)


def _digests(text: str, given: Mapping[str, Any]) -> Iterator[str]:
    """The digests of a scenario: as written, and with the keys that the options set."""
    from peerlane.cli.request import STEADY
    from peerlane.cli.scenarios import open_simulation
    from peerlane.fabric.simulation import digest_of

    yield digest_of(text)
    settings, circuits = given.get("settings") or (), given.get("rtl")
    settings = [*settings, *[STEADY] * bool(given.get("steady"))]
    yield open_simulation(given["file"], settings=settings, circuits=circuits).scenario_digest


def _check(path: str, json_to: str | None) -> None:
    import peerlane
    from peerlane.bundle import open_bundle
    from peerlane.cli.tables.comparison import comparison
    from peerlane.varying.comparison import compare

    keep_apart([path], {"--json": json_to})
    found = open_bundle(path)
    version = found.manifest.version
    if version != peerlane.__version__:
        warn(f"{path} is of Peerlane {version}, and this is {peerlane.__version__}")
    outcome = compare(found.document(path), _run_again(found, path))
    names = (path, "this run")
    emit(head("comparison") | outcome.to_json(), comparison(outcome, names, every=False), json_to)
    if outcome.changes or outcome.only_before or outcome.only_after:
        raise typer.Exit(FAILED)


def _run_again(found: Bundle, path: str) -> dict[str, Any]:
    """Runs the scenario of a bundle again, in a new process and folder; returns the document."""
    from peerlane.bundle import KINDS
    from peerlane.results.reading import document_of, text_of

    manifest = found.manifest
    place = f"{path}: bundle.json"
    _, options = _parsed(manifest.command, [manifest.file, *manifest.options], place)
    if tuple(options) != manifest.options:
        raise FileError(f"{place}: options are not written as `peerlane bundle` writes them")
    with TemporaryDirectory() as folder:
        scenario, numbers = Path(folder) / manifest.file, Path(folder) / "numbers.json"
        scenario.write_text(found.scenario, encoding="utf-8", newline="")
        peerlane = [sys.executable, "-P", "-m", "peerlane", manifest.command, manifest.file]
        done = subprocess.run(
            [*peerlane, *options, "--json", numbers.name],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if not numbers.exists():
            reason = done.stderr.strip().splitlines()[-1:] or ["it wrote no numbers"]
            raise FileError(f"{path}: the run failed: {reason[0].removeprefix('error: ')}")
        return document_of(text_of(numbers), "this run", *KINDS)


def _parsed(
    command: str, arguments: Sequence[str], source: str
) -> tuple[Mapping[str, Any], list[str]]:
    """Parses the arguments of a command.

    Returns the arguments as a dictionary with their names as keys, and the options that affect the
    numbers in the command's output.

    Raises:
        FileError: The command cannot be bundled, its arguments are wrong, or it loads code.
    """
    if command not in KEPT:
        raise FileError(f"{source} is of `peerlane {command}`; a bundle is of {', '.join(KEPT)}")
    from peerlane.cli.commands import app

    found: Any = typer.main.get_command(app)
    found = found.commands[command]
    context = typer.Context(found, info_name=command)
    try:
        given, rest, _ = found.make_parser(context).parse_args(list(arguments))
    except typer.TyperException as error:
        raise FileError(f"{source}: {error.format_message()}") from None
    for name, option in (("models", "--model"), ("libraries", "--circuit")):
        if given.get(name):
            raise FileError(
                f"{source} is of a run with {option}, which loads code; "
                "a bundle has a scenario alone"
            )
    if rest or given.get("file") is None:
        raise FileError(f"{source}: its command has no single scenario")
    return given, list(_written(found, given, KEPT[command]))


def _written(command: Any, given: Mapping[str, Any], kept: Sequence[str]) -> Iterator[str]:  # noqa: ANN401 - the classes of commands are private to typer
    """The options in `kept` that were given to the command, each as "--option=value"."""
    for option in command.params:
        if option.opts[0] not in kept or option.name not in given:
            continue
        value = given[option.name]
        if option.is_flag:
            yield from (option.opts if value else option.secondary_opts)[:1]
        else:
            yield from (
                f"{option.opts[0]}={one}" for one in (value if option.multiple else [value])
            )
