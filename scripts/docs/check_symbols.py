# SPDX-License-Identifier: Apache-2.0
"""usage: python3 check_symbols.py FOLDER

Fails if a public symbol in the symbol graphs of FOLDER has no documentation. What the compiler
makes, or a type inherits, has none of its own and is left out.
"""

import copy
import json
import pathlib
import sys


def undocumented(graph):
    """The symbols of a graph without documentation, as their paths."""
    return [
        ".".join(symbol["pathComponents"])
        for symbol in graph["symbols"]
        if "docComment" not in symbol
        # An extension of another module's type is a page, and nothing that is declared.
        and symbol["kind"]["identifier"] != "swift.extension"
        and "::SYNTHESIZED::" not in symbol["identifier"]["precise"]
    ]


def sees(graph):
    """Whether a comment that is taken away from the graph is missed."""
    graph = copy.deepcopy(graph)
    before = len(undocumented(graph))
    symbol = next((s for s in graph["symbols"] if "docComment" in s), None)
    if symbol is None:
        return False
    del symbol["docComment"]
    return len(undocumented(graph)) > before


def main(folder):
    graphs = sorted(pathlib.Path(folder).glob("*.symbols.json"))
    if not graphs:
        sys.exit(f"docs: error: there are no symbol graphs in {folder}")
    bare, count = [], 0
    for path in graphs:
        graph = json.loads(path.read_text(encoding="utf-8"))
        count += len(graph["symbols"])
        module = path.name.removesuffix(".symbols.json")
        if not sees(graph):
            sys.exit(f"docs: error: the check cannot see into {path.name}")
        bare += [f"{module}: {name}" for name in undocumented(graph)]
    if bare:
        print("\n".join(bare), file=sys.stderr)
        sys.exit(f"docs: error: {len(bare)} public symbols have no documentation")
    print(f"docs: {count} public symbols are documented")


if __name__ == "__main__":
    main(sys.argv[1])
