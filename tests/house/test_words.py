"""Pages, docstrings and messages are plain: no verbs of people for packets, no loose pronouns."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]

WORDS = {
    r"told|tells": "write: reports, says, notifies, is printed",
    r"hears?|heard": "write: receives, is called with",
    r"asks": "write: requests, requires, reads",
    r"meets": "write: matches, reaches, arrives at",
    r"those of": "name what is meant: the registers of, the packets of",
    r"does so": "repeat the verb",
    r"(?<!no )such(?! as\b| an?\b)": "name what is meant: these packets, packets of this kind",
}
"""Words that a reader of English as a second language stumbles over, and what to write instead."""

NOT_OURS = re.compile(r"CHANGELOG\.md|ARCHITECTURE\.md|CONTRIBUTING\.md|docs/decisions/")
"""Texts that are a record of their day."""


def files(*patterns: str) -> list[str]:
    """The files of the repository, or those that will be in it."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    found = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [name for name in found.splitlines() if not NOT_OURS.match(name)]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of a page without its blocks, and the numbers of their lines."""
    text = re.sub(
        r"^```.*?^```$",
        lambda block: "\n" * block[0].count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )
    for found in re.finditer(r"(?:.+\n?)+", text):
        yield text.count("\n", 0, found.start()) + 1, found[0]


def strings(text: str) -> Iterator[tuple[int, str]]:
    """The docstrings, helps and messages of a module, and the numbers of their lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def doc_comments(text: str) -> Iterator[tuple[int, str]]:
    """The doc comments of a file in Rust, and the numbers of their lines."""
    for found in re.finditer(r"(?:^[ \t]*//[/!].*\n)+", text, re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 1, re.sub(r"//[/!]", "", found[0])


def stumbles(texts: Iterator[tuple[int, str]]) -> Iterator[str]:
    """What is wrong with texts, each with the number of its first line."""
    for number, text in texts:
        plain = " ".join(re.sub(r"`[^`]*`", "", text).split())
        for word, advice in WORDS.items():
            if found := re.search(rf"\b(?:{word})\b", plain, re.IGNORECASE):
                around = plain[max(found.start() - 40, 0) : found.end() + 40]
                yield f"line {number}: {found[0]!r} in {around!r}; {advice}"


def wrong(names: list[str], parts: Callable[[str], Iterator[tuple[int, str]]]) -> list[str]:
    """What is wrong with files, of which `parts` takes the texts that are read."""
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    return [f"{name}: {one}" for name, text in texts.items() for one in stumbles(parts(text))]


def test_pages_are_in_plain_words() -> None:
    assert wrong(files("*.md", "docs/conformance/*.toml"), paragraphs) == []


def test_docstrings_and_messages_are_in_plain_words() -> None:
    code = ("python/*.py", "python/*.pyi", "examples/*.py", "docs/*.py", "gateware/*.py")
    assert wrong(files(*code), strings) == []


def test_doc_comments_are_in_plain_words() -> None:
    code = files("crates/*.rs", "integrations/*.rs", "fuzz/*.rs")
    assert wrong(code, doc_comments) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "The probe is told of it.",
        "A link hears of its end.",
        "It asks for credit.",
        "Those of a switch are larger.",
        "Such packets wait.",
    ],
)
def test_a_word_that_a_reader_stumbles_over_is_found(sentence: str) -> None:
    assert list(stumbles(paragraphs(sentence)))
    assert list(stumbles(strings(f'"""{sentence}"""')))


def test_an_example_and_code_may_have_any_word() -> None:
    assert not list(stumbles(paragraphs("A device such as `told`.\n```\nSuch output.\n```\n")))
