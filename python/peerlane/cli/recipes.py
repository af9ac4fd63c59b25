"""The questions that the recipes of the documentation answer, and the command that answers each."""

from __future__ import annotations

RECIPES: tuple[tuple[str, str, str], ...] = (
    ("uplink", "Is the uplink the bottleneck?", "peerlane explain FILE"),
    ("steady", "What rates does a mixed fabric settle at?", "peerlane run FILE --steady"),
    ("error-bars", "How sure is this rate?", "peerlane run FILE --error-bars"),
    (
        "peers",
        "Does it matter that two cards are behind one switch?",
        "peerlane sweep FILE --vary devices.CARD.upstream=SWITCH,HOST",
    ),
    (
        "acs",
        "What does ACS redirect cost?",
        "peerlane sweep FILE --vary switches.SWITCH.acs_redirect=false,true",
    ),
    (
        "tags",
        "How many tags does a reader need?",
        'peerlane sweep FILE --vary "devices.CARD.tags=2..256*2"',
    ),
    (
        "import",
        "What happens when a card is added to my server?",
        "peerlane import lspci machine.txt -o server.toml",
    ),
    (
        "device",
        "How fast is a device that I have in mind?",
        "peerlane run FILE --model NAME=FILE.py",
    ),
    ("circuit", "What does my circuit do in a fabric?", "peerlane run FILE --rtl DEVICE"),
    ("driver", "Does my driver work before the hardware is there?", "python driver.py"),
    (
        "cable",
        "What does a faulty cable cost?",
        "peerlane sweep FILE --vary links.LINK.bit_error_rate=1e-7,1e-6,1e-5",
    ),
    (
        "calibrate",
        "Which values make a scenario match my measurements?",
        "peerlane calibrate FILE --measured MEASURED --free KEY",
    ),
    (
        "paper",
        "How do I make a figure that others can make again?",
        "peerlane bundle figure.json",
    ),
)
"""The name of each page in docs/recipes, its question, and the command that answers it."""
