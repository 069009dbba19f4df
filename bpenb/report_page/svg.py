"""SVG that matplotlib wrote, made a part of a page: its colours are classes of the page's style sheet."""

from __future__ import annotations

import re
from xml.etree import ElementTree

__all__ = ["COLOURS", "inline_svg"]

# Colours that plots are drawn in, and the class that paints them in the page: `fill-ink`, `stroke-ink`.
COLOURS = {
    "ink": "#000001",
    "muted": "#000002",
    "rule": "#000003",
    "first": "#000004",
    "second": "#000005",
}

_SVG, _LINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_CLASS_OF = {colour: name for name, colour in COLOURS.items()}
_SPACES = re.compile(r"\s+")


def inline_svg(written: str, name: str, title: str, description: str) -> str:
    """Return an SVG that stands in HTML: named, described, and painted by the page's style sheet.

    Args:
        written: by matplotlib, with text as text.
        name: that no other SVG of the page has; every id begins with it.
        title, description: for who does not see it.

    Example:
        >>> written = (
        ...     '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">'
        ...     '<path d="M 0 0" id="p" style="fill: none; stroke: #000004"/></svg>'
        ... )
        >>> print(inline_svg(written, "a", "Lengths", "2 < 3"))  # doctest: +NORMALIZE_WHITESPACE
        <svg viewBox="0 0 1 1" class="plot" role="img" aria-labelledby="a-title a-description"><title
        id="a-title">Lengths</title><desc id="a-description">2 &lt; 3</desc><path d="M 0 0" id="a-p"
        fill="none" class="stroke-first" /></svg>
    """
    root = ElementTree.fromstring(written)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    for element in root.iter():
        _restyle(element, name)
    for attribute in ("id", "width", "height", "version"):
        root.attrib.pop(attribute, None)
    root.attrib |= {
        "class": "plot",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-description",
    }
    for tag, text in (("desc", description), ("title", title)):
        told = ElementTree.Element(tag, {"id": f"{name}-{'title' if tag == 'title' else 'description'}"})
        told.text = text
        root.insert(0, told)
    return ElementTree.tostring(root, encoding="unicode")


def _restyle(element: ElementTree.Element, name: str) -> None:
    """Turn an element's style into attributes and classes, and its ids into those of this SVG."""
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    attributes = dict(element.attrib)
    element.attrib.clear()
    classes = []
    for key, value in attributes.items():
        if key == "style":
            for declaration in filter(None, (part.strip() for part in value.split(";"))):
                what, _, how = (part.strip() for part in declaration.partition(":"))
                if how in _CLASS_OF:
                    classes.append(f"{what}-{_CLASS_OF[how]}")
                elif not what.startswith("font"):  # the page has its own
                    element.set(what, how)
        elif key == "id":
            element.set("id", f"{name}-{value}")
        elif key == f"{{{_LINK}}}href":
            element.set("href", f"#{name}-{value.removeprefix('#')}")
        elif key == "clip-path":
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        else:
            element.set(key, _SPACES.sub(" ", value).strip())
    if classes:
        element.set("class", " ".join(classes))
    if element.tag not in ("text", "tspan"):
        element.text = None
    element.tail = None
