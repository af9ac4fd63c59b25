"""`peerlane show`: draws the fabric of a scenario."""

from __future__ import annotations

from peerlane.cli.files import keep_apart
from peerlane.cli.options import Circuits, JsonTo, Libraries, Models, Scenario, Settings


def show(
    file: Scenario,
    settings: Settings = None,
    _models: Models = None,
    _libraries: Libraries = None,
    rtl: Circuits = None,
    json_to: JsonTo = None,
) -> None:
    """Show the fabric of a scenario after enumeration: widths, rates, payload sizes, addresses.

    After the trees, networks are shown: shape and size, routers, and the fibres with their ends and
    delays. Of a network with more than 16 routers only the first host is shown, and of more than 16
    fibres only their number; JSON has all routers and fibres.
    """
    from peerlane.cli.console import emit
    from peerlane.cli.head import head
    from peerlane.cli.scenarios import open_simulation
    from peerlane.cli.tables.fabric import tree as drawing

    keep_apart([file], {"--json": json_to})
    simulation = open_simulation(file, settings=settings, circuits=rtl)
    tree = simulation.tree()
    document = head("fabric", scenario_digest=simulation.scenario_digest) | tree.to_json()
    emit(document, drawing(tree), json_to)
