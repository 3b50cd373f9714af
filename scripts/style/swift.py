# SPDX-License-Identifier: Apache-2.0
"""Reads Swift line by line. `swift format lint --strict` has seen to its layout: no block comments,
and a declaration's closing brace stands below its first letter.
"""

import re

_COMMENT = re.compile(r"(?<![:\"])//.*")
_STRING = re.compile(r'#*"(?:\\.|[^"\\])*"#*')
_FUNCTION = re.compile(
    r"^( *)(?:@\w+(?:\([^)]*\))? )*(?:\w+(?:\(\w+\))? )*?"
    r"(?:func\b[^(]*|init\b[?!]?(?:<[^(]*>)?|subscript\b[^(]*)\(")
_SIGNATURE = (")", "{", "->", "where", "throws", "async")


class SwiftFile:
    """One file: its `lines`, and `code_lines`, which are the same without comments."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.parts = path.split("/")
        self.name = self.parts[-1]
        self.top = self.parts[0]
        # Sources and Tests have a folder for each floor; fixtures and scenarios are on none.
        is_beside = self.parts[1] in ("Fixtures", "IntegrationTests", "Vectors")
        place = 2 if self.top in ("Sources", "Tests") and not is_beside else 1
        self.module = self.parts[place] if len(self.parts) > place + 1 else ""
        self.lines = text.splitlines()
        self._code = _COMMENT.sub("", text)
        self.code_lines = self._code.splitlines()

    def matches(self, pattern):
        """The line number and match of each occurrence of a pattern in the code."""
        for match in re.finditer(pattern, self._code, re.MULTILINE):
            yield self._code.count("\n", 0, match.end()) + 1, match

    def above(self, line):
        """The comment and attribute lines directly above a line, nearest first."""
        for text in reversed(self.lines[: line - 1]):
            text = text.strip()
            if not text.startswith(("//", "@")):
                return
            yield text

    def functions(self):
        """The first line, number of lines and number of parameters of each function."""
        for number, line in enumerate(self.code_lines, 1):
            if match := _FUNCTION.match(line):
                last = self._last_line(number, len(match[1]))
                signature = "\n".join([line[match.end():], *self.code_lines[number:number + 40]])
                count = _count_parameters(_STRING.sub("", signature))
                yield number, last - number + 1, count

    def _last_line(self, first, indentation):
        """The last line of the function that begins on the line `first`."""
        for number, line in enumerate(self.code_lines[first:], first + 1):
            start = line.lstrip()
            is_inside = not start or start[0] == "#" or len(line) - len(start) > indentation
            if not is_inside and not start.startswith(_SIGNATURE):
                is_end = start[0] == "}" and len(line) - len(start) == indentation
                return number if is_end else first  # of one line, or without a body
        return first


def _count_parameters(text):
    """How many parameters stand before the bracket that closes them."""
    depth, count, is_empty = 0, 0, True
    for character in text.replace("->", "  "):
        if character in ")]}>" and depth == 0:
            break
        is_comma = character == "," and depth == 0
        count += is_comma
        is_empty = is_comma or is_empty and character.isspace()
        depth += (character in "([{<") - (character in ")]}>")
    return count + (not is_empty)
