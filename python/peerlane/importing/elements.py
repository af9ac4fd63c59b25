"""The elements of an XML file, each with its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat  # entities are refused below, so no input expands

from peerlane.importing.listing import ListingError
from peerlane.importing.statements import Place

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(slots=True)
class Element:
    """An element with its attributes and the elements inside."""

    name: str
    attributes: dict[str, str]
    place: Place
    inside: list[Element] = field(default_factory=list)

    def named(self, name: str) -> Iterator[Element]:
        """The elements inside with this name."""
        return (one for one in self.inside if one.name == name)

    def error(self, message: str) -> ListingError:
        """An error whose message has the line of the element."""
        return ListingError(f"{self.place}: {message}")

    def text(self, attribute: str) -> str:
        """The value of an attribute that the element must have."""
        if attribute not in self.attributes:
            raise self.error(f"<{self.name}> has no {attribute}; write the whole file")
        return self.attributes[attribute]

    def number(self, attribute: str) -> int:
        """The whole number in an attribute that the element must have."""
        text = self.text(attribute)
        try:
            return int(text)
        except ValueError:
            raise self.error(
                f"{attribute} of <{self.name}> is {text!r}; write a whole number"
            ) from None


_DEEPEST = 200


def parse(text: str, source: str) -> Element:
    """The outermost element of an XML file.

    Raises:
        ListingError: The text is no complete XML file.
    """
    parser = expat.ParserCreate()
    top = Element("", {}, Place(source, 0))
    open_ones = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes, Place(source, parser.CurrentLineNumber))
        if len(open_ones) > _DEEPEST:
            raise element.error(
                "more elements are inside each other than a machine has; remove some"
            )
        open_ones[-1].inside.append(element)
        open_ones.append(element)

    def refuse(*_: object) -> None:
        place = Place(source, parser.CurrentLineNumber)
        raise ListingError(f"{place}: a topology has no entities of its own; remove <!ENTITY>")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_ones.pop()
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text, True)  # noqa: FBT003 - the parser has no names for its arguments
    except expat.ExpatError as error:
        why = expat.ErrorString(error.code)
        place = Place(source, error.lineno)
        raise ListingError(
            f"{place}: this is no complete XML: {why}; write the whole file"
        ) from None
    return top.inside[0]
