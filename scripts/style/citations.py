# SPDX-License-Identifier: Apache-2.0
"""Citations lead somewhere: documents, their sections, decisions, and files of code that documents
name. Yields (line, rule, message).

A section (§) belongs to the document with numbered sections that was named last in the file. In a
document with numbered sections it belongs to that one, unless another is named before it on its
line. Sections of a standard, or of another project's page, that is named on the line or the line
before are not looked up.
"""

import os
import re

# Most lines have none of these, and are passed over at once.
_HINT = re.compile(r"§|\.md|ecision|FORMAT|RFC|http|TCG|TPM 2|ISO|FIPS|man \d")
_HEADING = re.compile(r"^##+ (\d+(?:\.\d+)*)\b", re.MULTILINE)
_CITED = re.compile(
    r"(?P<document>(?<![\w./-])[\w./-]+\.md\b|\bFORMAT\b)"
    r"|(?P<foreign>\bRFC \d+|https?://\S+|\bTCG\b|\bTPM 2\.0|\bISO/IEC|\bFIPS \d+|man \d)"
    r"|\b[Dd]ecisions? (?P<decision>\d+)"
    r"|§(?P<section>\d+(?:\.\d+)*)")
_FILE = re.compile(r"`([\w./+-]+\.(?:swift|py))`")


class Library:
    """The documents below `root`: which there are, and the numbers of their headings."""

    def __init__(self, root):
        self._root, self._headings = root, {}
        folder = os.path.join(root, "docs/decisions")
        self.decisions = {int(name[:4]) for name in _names(folder) if name[:4].isdigit()}
        # Each file by its path, and by every shorter end of it.
        self.files = {"/".join(parts[start:]) for parts in _paths(root)
                      for start in range(len(parts))}

    def path(self, name, citing):
        """Where the document is that `citing` calls `name`; None if there is none."""
        name = "docs/FORMAT.md" if name == "FORMAT" else name
        places = ("", "docs", os.path.dirname(citing), "docs/spec", "docs/decisions",
                  "Sources/Valet/Valet.docc")
        for place in places:
            path = os.path.normpath(os.path.join(place, name.lstrip("/")))
            if os.path.isfile(os.path.join(self._root, path)):
                return path
        return None

    def headings(self, path):
        if path not in self._headings:
            with open(os.path.join(self._root, path), encoding="utf-8") as file:
                self._headings[path] = set(_HEADING.findall(file.read()))
        return self._headings[path]


def check(path, text, library):
    own = path if path.endswith(".md") and library.headings(path) else None
    document, foreign = own, -2
    for line, content in enumerate(text.splitlines(), 1):
        for name in _FILE.findall(content) if path.endswith(".md") else ():
            if name not in library.files:
                yield line, "citation", f"there is no file {name}"
        document = own or document
        if not _HINT.search(content):
            continue
        for match in _CITED.finditer(content):
            if name := match["document"]:
                named = library.path(name, path)
                if named is None:
                    yield line, "citation", f"there is no document {name}"
                elif library.headings(named):
                    document, foreign = named, -2
            elif match["foreign"]:
                foreign = line
            elif decision := match["decision"]:
                if int(decision) not in library.decisions:
                    yield line, "citation", f"there is no decision {decision}"
            elif line > foreign + 1:
                yield from _section(line, match["section"], document, library)


def _section(line, section, document, library):
    if document is None:
        yield line, "citation", f"§{section} of which document? name it before"
    elif section not in library.headings(document):
        yield line, "citation", f"{document} has no §{section}"


def _paths(root):
    """The parts of the path of each file of code."""
    for top in ("Sources", "Tests", "Benchmarks", "scripts"):
        for where, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                yield os.path.relpath(os.path.join(where, name), root).split(os.sep)


def _names(folder):
    return os.listdir(folder) if os.path.isdir(folder) else []
