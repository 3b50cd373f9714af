# SPDX-License-Identifier: Apache-2.0
"""Rules about the documents: what they promise is there. Each yields (line, rule, message)."""

import os
import re

from style import promises

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def check(read, tags):
    """What holds for single documents: (path, line, rule, message). `read` reads one of them."""
    if not re.search(r"^## \[?Unreleased\b", read("CHANGELOG.md"), re.MULTILINE):
        yield "CHANGELOG.md", 1, "changelog", "there is no section `## Unreleased`"
    threats, page = read("docs/THREAT-MODEL.md"), read(promises.PAGE)
    for line, heading, block in _items(threats):
        if heading == "Promises" and "](PROMISES.md#" not in block:
            yield "docs/THREAT-MODEL.md", line, "promise", "a promise without a link to PROMISES.md"
    for line, content in enumerate(page.splitlines(), 1):
        if content.startswith("## ") and f"(PROMISES.md#{_anchor(content[3:])})" not in threats:
            yield (promises.PAGE, line, "promise",
                   "a section that no promise of THREAT-MODEL.md links to")
    yield from promises.check(page, tags)


def check_links(path, text, root):
    """Every link to a file leads to one, and every anchor to a heading of it."""
    for line, content in enumerate(text.splitlines(), 1):
        for target in _LINK.findall(content):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = os.path.join(root, os.path.dirname(path), name or os.path.basename(path))
            if not os.path.exists(file):
                yield line, "link", f"there is no {name}"
            elif anchor:
                with open(file, encoding="utf-8") as opened:
                    headings = _HEADING.findall(opened.read())
                if anchor not in map(_anchor, headings):
                    yield line, "link", f"{name or path} has no heading #{anchor}"


def _anchor(heading):
    """The anchor of a heading, as forges make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _items(text):
    """The list items: first line, heading of the section, and text."""
    items, heading = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("## "):
            heading = line[3:]
        elif line.startswith("- "):
            items.append([number, heading, line])
        elif items and line.startswith(" "):
            items[-1][2] += "\n" + line
    return items
