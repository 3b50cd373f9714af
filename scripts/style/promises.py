# SPDX-License-Identifier: Apache-2.0
"""The promises of docs/PROMISES.md, and the tests that check them.

A comment above a test names the promises that it checks: `// Promise: 1.2, 7.10` in Swift, and the
same behind `#` in Python. In the line after the licence it speaks of the whole file.
"""

import ast
import collections
import os
import re

PAGE = "docs/PROMISES.md"
_TAG = re.compile(r"\s*(?://|#) Promise: (\d+\.\d+(?:, \d+\.\d+)*)$")
_LIKE_TAG = re.compile(r"\s*(?://|#) Promises?\b")
_SWIFT_TEST = re.compile(r"\b(?:func|struct|class|enum)\s+`([^`]+)`")
_ITEM = re.compile(r"- \*\*(\d+\.\d+)\*\* ")


def may_have_tags(path):
    """Whether a file can contain a test of a promise."""
    return path.startswith("Tests/") and path.endswith((".swift", ".py")) or (
        path.startswith("scripts/") and path.count("/") == 1)


def tags(path, text):
    """The tags of a file: (line, promises, name of the test), or None as name if there is none."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        found = _TAG.match(line)
        if found:
            name = path if "SPDX" in lines[index - 1] else _test_below(path, lines, index + 1)
            yield index + 1, found[1].split(", "), name
        elif _LIKE_TAG.match(line):
            yield index + 1, [], None


def items(text):
    """The promises of the page: (line, section, number or None)."""
    section = None
    for line, content in enumerate(text.splitlines(), 1):
        if content.startswith("## "):
            section = content[3:]
        elif content.startswith("- "):
            number = _ITEM.match(content)
            yield line, section, number and number[1]


def check(text, found):
    """Rules about the page and the tags in `found`: (path, line, rule, message)."""
    numbers = [number for _, _, number in items(text)]
    tested = {number for _, _, promises, _ in found for number in promises}
    for line, section, number in items(text):
        if number is None or not section.startswith(number.partition(".")[0] + ". "):
            yield PAGE, line, "promise", "a promise without a number of its section"
        elif numbers.count(number) > 1:
            yield PAGE, line, "promise", f"two promises have the number {number}"
        elif number not in tested:
            yield PAGE, line, "promise", f"no test has `Promise: {number}`"
    for path, line, promises, name in found:
        if name is None:
            yield path, line, "promise", "write `Promise: 1.2, 7.10` in the line above a test"
        for number in set(promises) - set(numbers):
            yield path, line, "promise", f"{PAGE} has no promise {number}"


def page(root):
    """The page with the names of the tests below each promise."""
    tests = collections.defaultdict(list)
    for folder in ("Tests", "scripts"):
        for where, _, names in os.walk(os.path.join(root, folder)):
            for path in (os.path.relpath(os.path.join(where, name), root) for name in names):
                if may_have_tags(path):
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        for _, promises, name in tags(path, file.read()):
                            for number in promises:
                                tests[number].append(name)
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        lines = file.read().splitlines()
    written, number = [], None
    for line in lines + [""]:
        if number and not line.startswith("  "):
            written += [f"  - `{name}`" for name in sorted(tests[number])]
            number = None
        found = _ITEM.match(line)
        number = found[1] if found else number
        written.append(line)
    return "\n".join(written)


def _test_below(path, lines, begin):
    """The name of the test whose declaration begins at a line: a title, or None."""
    if path.endswith(".py"):
        for node in ast.parse("\n".join(lines)).body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list and (
                    node.decorator_list[0].lineno == begin + 1):
                title = (ast.get_docstring(node) or "").partition("\n\n")[0]
                return " ".join(title.split()).removesuffix(".") or None
        return None
    declaration = "\n".join(lines[begin:begin + 40])
    found = _SWIFT_TEST.search(declaration)
    above = declaration[:found.start()] if found else ""
    is_test = re.match(r"(\s*///.*\n)*\s*@(Test|Suite)\b", above) and not re.search(
        r"\n\s*\}?\n", above)
    return found[1] if is_test else None
