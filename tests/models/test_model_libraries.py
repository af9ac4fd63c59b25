"""Device models in Rust: libraries, which are built here outside the workspace."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import beside
from peerlane import Fabric, Library, ModelError, Simulation
from peerlane.cli.application import run_command_line
from peerlane.testing import Bench

if TYPE_CHECKING:
    from collections.abc import Callable

    from peerlane import HostThread

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "examples" / "copier").resolve()
TARGET = ROOT / "target" / "examples"

pytestmark = pytest.mark.xdist_group("libraries")


def cargo(folder: Path, *arguments: str) -> None:
    environment = os.environ | {"CARGO_TARGET_DIR": str(TARGET)}
    subprocess.run(
        ["cargo", *arguments, "--offline", "--quiet"], cwd=folder, env=environment, check=True
    )


@pytest.fixture(scope="module")
def copier() -> Path:
    cargo(EXAMPLE, "build", "--release")
    return TARGET / "release" / "libcopier.so"


@pytest.fixture(scope="module")
def nonsense() -> Path:
    cargo(ROOT / "tests" / "data" / "nonsense", "build")
    return TARGET / "debug" / "libnonsense.so"


@pytest.fixture
def c_library(tmp_path: Path) -> Callable[[str], Path]:
    def build(text: str) -> Path:
        source, library = tmp_path / "model.c", tmp_path / "libmodel.so"
        source.write_text(text, encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        return library

    return build


def fabric(library: Path, **settings: str | bool) -> Fabric:
    begun = Fabric("own").host("h0").switch("s0", "h0")
    return begun.device("own", "s0", model=Library(library), **settings)


def base(simulation: Simulation) -> int:
    return simulation.tree().nodes["own"].regions[0].base


def test_the_example_passes_its_own_tests() -> None:
    cargo(EXAMPLE, "test")


def test_the_crate_can_be_published() -> None:
    cargo(ROOT, "package", "--package", "peerlane-device", "--allow-dirty", "--no-verify")


def test_a_model_in_a_library_copies_memory_of_a_host(copier: Path) -> None:
    simulation = fabric(copier, latency="2 us").simulation()
    data = bytes(range(256)) * 33
    source, target = (simulation.node("h0").allocate(1 << 16) for _ in range(2))
    simulation.node("h0").fill(source + 1, data)
    thread = simulation.node("h0").thread()
    place = base(simulation)

    async def program(thread: HostThread) -> float:
        await thread.store(place, source + 1)
        await thread.store(place + 8, target + 2)
        await thread.store(place + 16, len(data), 4)
        began = thread.now_ns
        await thread.store(place + 20, 1, 4)
        await thread.interrupt(simulation.node("own").vector(0).message)
        assert await thread.load(place + 24, 4) == 1
        return thread.now_ns - began

    assert thread.run(program(thread)) > 2000
    assert simulation.node("h0").memory(target + 2, len(data)) == data


def test_a_library_is_driven_on_a_bench(copier: Path) -> None:
    memory = bytearray(b"abcdefgh" + bytes(24))
    bench = Bench(Library(copier), memory=memory, latency="3 us")
    bench.write(0, 8, 16, 8)
    bench.write(0, 16, 8)
    bench.write(0, 20, 1)
    kinds = [asked.kind for asked in bench.run()]
    assert kinds == ["read", "write", "interrupt"]
    assert memory[16:24] == b"abcdefgh"
    assert bench.now_ns == 3000
    assert bench.read(0, 24) == 1


def test_a_panic_ends_the_run_with_the_name_of_the_model(nonsense: Path) -> None:
    simulation = fabric(nonsense).simulation()
    simulation.node("h0").write(base(simulation), b"\1\0\0\0")
    with pytest.raises(ModelError, match="the model nonsense of device own failed at") as raised:
        simulation.run()
    assert "src/lib.rs:" in str(raised.value)
    assert "the flux capacitor is empty" in str(raised.value)


def test_the_command_line_prints_a_panic_on_lines_of_its_own(
    nonsense: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "own.toml"
    text = '[hosts.h0]\n[devices.own]\nupstream = "h0"\nmodel = "nonsense"\nfragile = true\n'
    scenario.write_text(text, encoding="utf-8")
    assert run_command_line(["run", str(scenario), "--model", f"nonsense={nonsense}"]) == 1
    *frames, last = capfd.readouterr().err.splitlines()
    assert last.startswith("error: the model nonsense of device own cannot be made: panicked at")
    assert last.endswith("it broke in transit")
    # The frames of the interpreter and of the interface are not those of the model.
    assert not any("Py_RunMain" in frame or "export" in frame for frame in frames)


def test_a_device_that_panics_when_it_is_made_is_told(nonsense: Path) -> None:
    cannot = r"the model nonsense of device own cannot be made: .*src/lib\.rs:(.|\n)*it broke in"
    with pytest.raises(ModelError, match=cannot):
        fabric(nonsense, fragile=True).simulation()
    with pytest.raises(ModelError, match="it broke in transit"):
        Bench(Library(nonsense), fragile=True)


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        (2, 100),  # a read of nobody's memory: Failure::Unsupported
        (3, 2),  # a write beyond the last address: Misuse::Address
        (4, 6),  # an answer to nobody: Misuse::NoSuchTicket
        (6, 8),  # more than the queues take: Misuse::TooMany
        (7, 4),  # a vector that the device has not: Misuse::NoSuchVector
    ],
)
def test_nonsense_is_refused_and_the_device_goes_on(
    nonsense: Path, what: int, outcome: int
) -> None:
    simulation = fabric(nonsense).simulation()
    place = base(simulation)
    simulation.node("h0").write(place, bytes([what, 0, 0, 0]))
    simulation.run_until(simulation.now_ns + 20_000)
    assert simulation.node("h0").read(place, 4) == outcome.to_bytes(4, "little")


def test_a_model_that_goes_on_for_ever_at_one_time_ends_the_run(nonsense: Path) -> None:
    simulation = fabric(nonsense).simulation()
    simulation.node("h0").write(base(simulation), b"\5\0\0\0")
    with pytest.raises(ModelError, match="it was called 100000 times within 1 ns"):
        simulation.run()


def test_other_devices_do_not_notice_a_model_that_never_answers(nonsense: Path) -> None:
    """A read without an answer times out at its requester; the flow of others is as without it."""

    def run(*, asks: bool) -> tuple[float, float]:
        both = fabric(nonsense).device("a", "s0").device("b", "s0", bar="1 MiB")
        simulation = both.flow("a", "b", size="256 KiB").simulation()
        if asks:
            thread = simulation.node("h0").thread()
            place = base(simulation)

            async def program() -> int:
                return await thread.load(place + 8, 4)

            assert thread.run(program()) == 0xFFFF_FFFF
        flow = simulation.run().flows[0]
        assert flow.intact
        return flow.first_byte_ns or 0, flow.bytes_per_second or 0

    assert run(asks=False)[1] == pytest.approx(run(asks=True)[1], rel=1e-3)


def test_the_command_line_loads_a_library(
    copier: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "own.toml"
    text = '[hosts.h0]\n[devices.c]\nupstream = "h0"\nmodel = "copier"\nlatency = "5 us"\n'
    scenario.write_text(text, encoding="utf-8")
    assert run_command_line(["show", str(scenario), "--model", f"copier={copier}"]) == 0
    assert run_command_line(["list", "--model", f"copier={copier}"]) == 0
    assert "Time from the doorbell to the first read." in " ".join(capfd.readouterr().out.split())


def test_a_model_for_another_version_of_the_interface_is_refused(
    c_library: Callable[[str], Path],
) -> None:
    library = c_library(
        "static const unsigned table[64] = {99, 8};\n"
        "const void *peerlane_device_model(void) { return table; }\n"
    )
    right = "was built for version 99 of the device interface, and this Peerlane has version 2"
    with pytest.raises(ValueError, match=right):
        Library(library)


def test_a_table_of_another_size_is_refused(c_library: Callable[[str], Path]) -> None:
    library = c_library(
        "static const unsigned table[64] = {2, 8};\n"
        "const void *peerlane_device_model(void) { return table; }\n"
    )
    right = r"table says that it has 8 bytes, and a table of version 2 .* has 80; build it"
    with pytest.raises(ValueError, match=right):
        Library(library)


def test_a_library_that_needs_another_symbol_is_refused_with_the_whole_reason(
    c_library: Callable[[str], Path],
) -> None:
    with pytest.raises(ValueError, match=r"\(undefined symbol: of_nobody\); build it"):
        Library(c_library("extern int of_nobody(void); int begun(void) { return of_nobody(); }\n"))


C_MODEL = beside(__file__, "model.c")


def c_model(*, bar: int = 0, vendor: int = 1, kind: int = 0) -> str:
    text = C_MODEL.replace("BAR", str(bar)).replace("VENDOR", str(vendor))
    return text.replace("KIND", str(kind))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"bar": 256}, "the model's number of a BAR is 256; write a number of 8 bits"),
        ({"vendor": 0x1_0001}, "the model's vendor ID is 65537; write a number of 16 bits"),
        ({"kind": 8}, "the model's parameter depth has a value of type 8; write 0 to 7"),
    ],
)
def test_a_number_of_a_declaration_that_has_no_meaning_is_refused(
    c_library: Callable[[str], Path], wrong: dict[str, int], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Library(c_library(c_model(**wrong)))


def test_a_request_that_has_no_meaning_is_refused(c_library: Callable[[str], Path]) -> None:
    """Bytes that are not there, too many bytes, and an operation and a severity of no meaning."""
    length = 1
    bench = Bench(Library(c_library(c_model())))
    assert bench.read_bytes(0, 0, 4) == bytes([length, length, True, True])


def test_a_library_without_a_model_is_refused(c_library: Callable[[str], Path]) -> None:
    with pytest.raises(ValueError, match="the library has no device model; end it with"):
        Library(c_library("int nothing;\n"))


def test_a_new_model_in_rust_passes_its_tests_and_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["new", "model", "--rust", "fast-drive"]) == 0
    cargo(tmp_path / "fast-drive", "test")
    cargo(tmp_path / "fast-drive", "build")
    # The crate of the interface is in the folder: neither a registry nor other sources are needed.
    manifest = (tmp_path / "fast-drive" / "Cargo.toml").read_text(encoding="utf-8")
    assert 'peerlane-device = { path = "peerlane-device" }' in manifest
    assert Library(TARGET / "debug" / "libfast_drive.so").name == "fast-drive"


@pytest.mark.seconds(4)
def test_the_second_interrupt_ends_a_command_whose_model_never_returns(
    c_library: Callable[[str], Path], tmp_path: Path
) -> None:
    begin = "    struct request null"
    told = 'extern long write(int, const void *, unsigned long); write(2, "stuck\\n", 6);'
    library = c_library(c_model().replace(begin, f"    {told}\n    for (;;) {{}}\n{begin}"))
    scenario = tmp_path / "own.toml"
    scenario.write_text(
        '[hosts.h0]\n[devices.d]\nupstream = "h0"\nmodel = "c"\n'
        '[[flows]]\nfrom = "h0"\nto = "d"\nsize = "4 B"\ndirection = "read"\n',
        encoding="utf-8",
    )
    with subprocess.Popen(
        [sys.executable, "-m", "peerlane", "run", scenario, "--model", f"c={library}"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            lines = (line for line in process.stderr if not line.endswith(" so far\n"))
            assert next(lines) == "stuck\n"
            process.send_signal(signal.SIGINT)
            assert next(lines) == "a model does not return; interrupt once more to end it\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 143
            assert list(lines) == ["interrupted\n"]
        finally:
            process.kill()
