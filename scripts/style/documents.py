# SPDX-License-Identifier: Apache-2.0
"""Rules about the documents: what they promise is there. Each yields (line, rule, message)."""

import ast
import collections
import os
import re

_NAMED = re.compile(r"`([^`]+)`")
_SWIFT_TEST = re.compile(r"\b(?:func|struct|class|enum)\s+`([^`]+)`")
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def check(read, tests, root):
    """What holds for single documents: (path, line, rule, message). `read` reads one of them."""
    found = []
    if not re.search(r"^## \[?Unreleased\b", read("CHANGELOG.md"), re.MULTILINE):
        found.append(("CHANGELOG.md", 1, "changelog", "there is no section `## Unreleased`"))
    promises, proofs = "docs/THREAT-MODEL.md", "docs/THREAT-MODEL-TESTS.md"
    threats = read(promises)
    found += [(promises, line, "promise", "a promise without a link to its tests")
              for line, heading, block in _items(threats)
              if heading == "Promises" and "](THREAT-MODEL-TESTS.md#" not in block]
    return found + [(proofs, *one) for one in _check_proofs(read(proofs), threats, tests, root)]


def test_names(path, text):
    """The names of suites and tests in one file of Swift, or the titles of scenarios in Python."""
    if path.endswith(".swift"):
        return _SWIFT_TEST.findall(text) if path.startswith("Tests/") else []
    if path.startswith("Tests/IntegrationTests/scenarios/") and path.endswith(".py"):
        documents = [ast.get_docstring(node) or "" for node in ast.parse(text).body
                     if isinstance(node, ast.FunctionDef)
                     and any("scenario" in ast.dump(one) for one in node.decorator_list)]
        return [" ".join(one.partition("\n\n")[0].split()).removesuffix(".") for one in documents]
    return []


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


def _check_proofs(text, threats, names, root):
    """Each name after `Test:` is once in `names`, or a script; each section is linked."""
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
