# SPDX-License-Identifier: Apache-2.0
"""Reads Swift far enough to tell code from comments and strings."""

import re

_TOKEN = re.compile(r'//[^\n]*|/\*|(#+)/(?=\S)|(#*)("""|")|`[^`\n]+`|[()]')
_BLOCK_COMMENT = re.compile(r"/\*|\*/")
_FUNCTION = re.compile(
    r"(?<![.\w])(?:func\b[^(]*|init\b[?!]?\s*(?:<[^(]*>)?\s*|subscript\b[^(]*)\(")
_GOES_ON = re.compile(r"\s*(?:\{|->|throws\b|rethrows\b|async\b|where\b)")


class Comment:
    def __init__(self, line, text):
        self.line, self.text = line, text


class Literal:
    def __init__(self, line, text, is_multiline, is_interpolated):
        self.line, self.text = line, text
        self.is_multiline, self.is_interpolated = is_multiline, is_interpolated


class Function:
    def __init__(self, line, line_count, parameter_count):
        self.line, self.line_count = line, line_count
        self.parameter_count = parameter_count


class SwiftFile:
    """One file: `code` is its text with comments and string contents blanked, same length."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.parts = path.split("/")
        self.name = self.parts[-1]
        self.top = self.parts[0]
        self.module = self.parts[1] if len(self.parts) > 2 else ""
        self.lines = text.splitlines()
        self.comments, self.literals = [], []
        self._out = list(text)
        self._scan_code(0, nested=False)
        self.code = "".join(self._out)
        self.code_lines = self.code.splitlines()

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def matches(self, pattern):
        """The line number and match of each occurrence of a pattern in the code."""
        for match in re.finditer(pattern, self.code, re.MULTILINE):
            yield self.line_at(match.start(match.lastindex or 0)), match

    def functions(self):
        for match in _FUNCTION.finditer(self.code):
            inside, end = self._balanced(match.end() - 1)
            first = self.line_at(match.start())
            last = self.line_at(self._end_of_body(end))
            yield Function(first, last - first + 1, _count_parameters(inside))

    # Lexing

    def _blank(self, start, end, filler=" "):
        for i in range(start, end):
            if self._out[i] != "\n":
                self._out[i] = filler

    def _scan_code(self, i, nested):
        depth = 0
        while match := _TOKEN.search(self.text, i):
            token, start, i = match.group(), match.start(), match.end()
            if token == "(":
                depth += 1
            elif token == ")":
                depth -= 1
                if nested and depth < 0:
                    return i
            elif token.startswith("//"):
                self.comments.append(Comment(self.line_at(start), token))
                self._blank(start, i)
            elif token == "/*":
                i = self._end_of_block_comment(i)
                self.comments.append(Comment(self.line_at(start), self.text[start:i]))
                self._blank(start, i)
            elif token.startswith("`"):
                for k in range(start, i):
                    if not self._out[k].isalnum():
                        self._out[k] = "_"
            elif match.group(3):
                i = self._scan_string(start, i, match.group(2), match.group(3))
            else:
                closing = self.text.find("/" + match.group(1), i)
                closing = i if closing < 0 else closing
                self._blank(start, closing)
                i = closing
        return len(self.text)

    def _end_of_block_comment(self, i):
        depth = 1
        while depth and (match := _BLOCK_COMMENT.search(self.text, i)):
            depth += 1 if match.group() == "/*" else -1
            i = match.end()
        return i if depth == 0 else len(self.text)

    def _scan_string(self, start, i, hashes, quote):
        """From after the opening quote to after the closing one; interpolations stay code."""
        begin, is_interpolated = i, False
        stop = re.compile(re.escape("\\" + hashes) + r"|" + re.escape(quote + hashes) + r"|\n")
        while match := stop.search(self.text, i):
            if match.group() == "\n" and quote == '"':
                break
            self._blank(i, match.start())
            i = match.end()
            if match.group().startswith('"'):
                break
            if match.group().startswith("\\"):
                self._blank(match.start(), i)
                if self.text[i : i + 1] == "(":
                    is_interpolated = True
                    i = self._scan_code(i + 1, nested=True)
                else:
                    self._blank(i, i + 1)
                    i += 1
        text = self.text[begin:i]
        self.literals.append(
            Literal(self.line_at(start), text, quote == '"""', is_interpolated))
        return i

    # Functions

    def _balanced(self, i):
        """What the bracket at `i` encloses, and the offset after the closing one."""
        depth, start = 0, i + 1
        while i < len(self.code):
            if self.code[i] in "([{":
                depth += 1
            elif self.code[i] in ")]}":
                depth -= 1
                if depth == 0:
                    return self.code[start:i], i + 1
            i += 1
        return self.code[start:], len(self.code)

    def _end_of_body(self, i):
        """From after the parameters to the end of the body, or of the declaration without one."""
        last = i
        while i < len(self.code):
            character = self.code[i]
            if character in "([":
                _, i = self._balanced(i)
                last = i
                continue
            if character == "{":
                return self._balanced(i)[1] - 1
            if character == "}":
                return last
            if character == "\n":
                ends_open = self.code[last - 1] in ",:&" or self.code[last - 2 : last] == "->"
                if not ends_open and not _GOES_ON.match(self.code, i):
                    return last
            elif not character.isspace():
                last = i + 1
            i += 1
        return last


def _count_parameters(inside):
    inside = inside.replace("->", "  ")
    depth = count = 0
    seen = False
    for character in inside:
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            count, seen = count + 1, False
            continue
        seen = seen or not character.isspace()
    return count + (1 if seen else 0)
