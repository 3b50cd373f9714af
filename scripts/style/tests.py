# SPDX-License-Identifier: Apache-2.0
"""Rules about tests, in Swift and in the scenarios that Python runs."""

import ast
import re

_SWIFT = re.compile(r"\b(?:func|struct|class|enum)\s+`([^`]+)`")


def names(path, text):
    """The names of the suites and tests, or the titles of the scenarios, in one file."""
    if path.endswith(".swift"):
        return _SWIFT.findall(text)
    return [title for _, title in scenario_titles(text)]


def scenario_titles(text):
    """(line, title) of each scenario that a module declares: see scenarios/support.py."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and any(map(_is_declaration, node.decorator_list)):
            first, _, _ = (ast.get_docstring(node) or "").partition("\n\n")
            yield node.lineno, " ".join(first.split()).removesuffix(".")


def _is_declaration(decorator):
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id == "scenario"
