"""What a browser would make of a page, by Python's parser: its elements, and the text of the passage."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "use", "path", "rect"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: tuple[str, ...] = field(default=(), repr=False)


class Page(HTMLParser):
    """Elements in order, each with all text in it; `passage` is the text of the element of that id."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.comments: list[str] = []
        self.feed(source)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}"
        element = Element(tag, dict(attrs), inside=tuple(e.attributes.get("id") or "" for e in self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def all(self, tag: str, inside: str = "") -> list[Element]:
        return [e for e in self.elements if e.tag == tag and (not inside or inside in e.inside)]

    def one(self, identity: str) -> Element:
        (found,) = [e for e in self.elements if e.attributes.get("id") == identity]
        return found
