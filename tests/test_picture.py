"""The picture of the README shows what the simulator does today.

`python tests/test_picture.py` draws it anew.
"""

from __future__ import annotations

from pathlib import Path

from peerlane.reproduction.machine import machine_of
from peerlane.topology import draw

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "rosta.svg"


def drawn() -> str:
    """Eight FPGAs write to each other across the cables between two boards."""
    fabric = machine_of("rosta").fabric()
    for number in range(1, 5):
        a, b = f"a{number}", f"b{number}"
        fabric.flow(a, b, size="4 MiB").flow(b, a, size="4 MiB")
    simulation = fabric.simulation()
    return draw(simulation, simulation.run()) + "\n"


def test_the_picture_of_the_readme_is_what_a_run_draws() -> None:
    assert PICTURE.read_text() == drawn()


if __name__ == "__main__":
    PICTURE.write_text(drawn())
