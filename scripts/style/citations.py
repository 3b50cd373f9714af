# SPDX-License-Identifier: Apache-2.0
"""Citations lead somewhere: documents, their sections, decisions, and files of code that documents
name. Yields (line, rule, message).

A section (§) belongs to the numbered document that was named last, else to the file itself. Those
of a standard that is named on the line or the line before are not looked up.
"""

import os
import re

_HEADING = re.compile(r"^##+ (\d+(?:\.\d+)*)\b", re.MULTILINE)
_CITED = re.compile(
    r"(?P<document>(?<![\w./-])[\w./-]+\.md\b|\bFORMAT\b)"
    r"|(?P<foreign>\bRFC \d+|https?://\S+|\bTCG\b|\bTPM 2\.0|\bISO/IEC|\bFIPS \d+|man \d)"
    r"|\b[Dd]ecisions? (?P<decision>\d+)"
    r"|§(?P<section>\d+(?:\.\d+)*)")
_FILE = re.compile(r"`([\w./+-]+\.(?:swift|py))`")


class Library:
    def __init__(self, root):
        self._root, self._headings = root, {}
        names = os.listdir(os.path.join(root, "docs/decisions"))
        self.decisions = {int(name[:4]) for name in names if name[:4].isdigit()}
        self.decisions |= {int(number) for number in self.headings("docs/decisions/in-brief.md")}
        # Each file by its path, and by every shorter end of it.
        self.files = set()
        for top in ("Sources", "Tests", "Benchmarks", "scripts"):
            for where, _, found in os.walk(os.path.join(root, top)):
                for name in found:
                    parts = os.path.relpath(os.path.join(where, name), root).split(os.sep)
                    self.files.update("/".join(parts[start:]) for start in range(len(parts)))

    def path(self, name, citing):
        """Where the document is that `citing` calls `name`; None if there is none."""
        name = "docs/FORMAT.md" if name == "FORMAT" else name
        for place in ("", "docs", os.path.dirname(citing), "docs/spec", "docs/decisions",
                      "Sources/Libraries/Valet/Valet.docc"):
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
            elif line > foreign + 1 and document is None:
                yield line, "citation", f"§{match['section']} of which document? name it before"
            elif line > foreign + 1 and match["section"] not in library.headings(document):
                yield line, "citation", f"{document} has no §{match['section']}"
