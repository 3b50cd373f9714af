# SPDX-License-Identifier: Apache-2.0
"""Rules about the documents: what they promise is there. Each yields (line, rule, message)."""

import collections
import os
import re

_NAMED = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def check_changelog(text):
    if not re.search(r"^## \[?Unreleased\b", text, re.MULTILINE):
        yield 1, "changelog", "there is no section `## Unreleased`"


def check_contributing(text):
    count = len(text.splitlines())
    if count >= 60:
        yield 60, "contributing", f"{count} lines, the stop is 60"


def check_links(path, text, root):
    """Every link to a file leads to one, and every anchor to a heading of it."""
    for line, content in enumerate(text.splitlines(), 1):
        for target in _LINK.findall(content):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = os.path.join(root, os.path.dirname(path), name) if name else \
                os.path.join(root, path)
            if not os.path.exists(file):
                yield line, "link", f"there is no {name}"
            elif anchor and anchor not in _anchors(file):
                yield line, "link", f"{name or path} has no heading #{anchor}"


def _anchors(file):
    """The anchors of a Markdown file's headings, as forges make them."""
    with open(file, encoding="utf-8") as opened:
        headings = _HEADING.findall(opened.read())
    return {_anchor(heading) for heading in headings}


def _anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def check_threat_model(text):
    """Every promise links to the section that names its tests."""
    for line, heading, block in _items(text):
        if heading == "Promises" and "](THREAT-MODEL-TESTS.md#" not in block:
            yield line, "promise", "a promise without a link to its tests"


def check_threat_model_tests(text, threats, names, root):
    """Every promise says `Test:`, and each name after it is once in `names`, or a script. Every
    section is linked from the threat model."""
    defined = collections.Counter(names)
    for line, _, block in _items(text):
        if "Test:" not in block:
            yield line, "promise", "a promise without `Test:`"
    for number, line in enumerate(text.splitlines(), 1):
        for part in line.split("Test:")[1:]:
            for name in _NAMED.findall(part):
                is_script = "/" in name and os.path.exists(os.path.join(root, name))
                if not is_script and defined[name] != 1:
                    yield number, "promise", f"{defined[name]} tests are called `{name}`, not one"
        if line.startswith("## ") and f"(THREAT-MODEL-TESTS.md#{_anchor(line[3:])})" not in threats:
            yield number, "promise", "a section that no promise of THREAT-MODEL.md links to"


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
