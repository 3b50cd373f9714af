# SPDX-License-Identifier: Apache-2.0
"""The plans that SQLite has for the statements of the library."""

import pathlib
import re
import sqlite3

from support import expect, scenario

SOURCES = pathlib.Path(__file__).parents[3] / "Sources"
STATEMENT = re.compile(r'"(?:"")?\s*((?:SELECT|INSERT|UPDATE|DELETE)\b[^"]*)"')
# Statements that read all items, a table with few rows, or damaged rows.
OF_ALL = {
    "SELECT item.*, group_hash, service_hash, place_hash FROM item "
    "LEFT JOIN place ON place.id = item.place ORDER BY number",
    # An index may be damaged, and a place is deleted only if it has no row indeed.
    "DELETE FROM place WHERE id NOT IN (SELECT place FROM item NOT INDEXED)",
    "DELETE FROM place WHERE id = ?1 AND ifnull((SELECT max(number) FROM item) - "
    "(SELECT min(number) FROM item), 0) < 4096 AND NOT EXISTS "
    "(SELECT 1 FROM item NOT INDEXED WHERE item.place = ?1)",
    "SELECT epoch, bytes FROM keybag LIMIT 2",
    "SELECT * FROM former WHERE group_hash = ?1 ORDER BY kept DESC",
    "SELECT kept, length(secret) FROM former WHERE reason = 3 ORDER BY kept",
    "SELECT number FROM item ORDER BY number",
    "DELETE FROM attribute WHERE number = ?1",
}


def prepared_statements():
    """Returns the text of the file with the statements that a connection prepares."""
    found = [text for path in SOURCES.glob("Keychain*/**/*.swift")
             if "SELECT number FROM attribute WHERE hash" in (text := path.read_text())]
    expect(len(found) == 1, "files with prepared statements:", len(found))
    return found[0]


@scenario
def of_statements(world):
    """Every search in the database uses an index.

    spec/keys-and-states.md §8, case 18."""
    world.fill("a")
    world.settle()
    database = sqlite3.connect(world.path("keychain.db"))
    plans = {}
    for text in STATEMENT.findall(prepared_statements()):
        text = " ".join(text.split())
        nothing = [None] * len(set(re.findall(r"\?\d+", text)))
        plan = database.execute(f"EXPLAIN QUERY PLAN {text}", nothing)
        plans[text] = [row[3] for row in plan]
    expect(len(plans) > 20, "statements that were not found:", sorted(plans))
    expect(OF_ALL <= set(plans), "not there any more:", OF_ALL - set(plans))
    scans = {text for text, plan in plans.items()
             if any(step.startswith("SCAN") and step != "SCAN CONSTANT ROW" for step in plan)}
    expect(scans <= OF_ALL, "read a whole table:", {text: plans[text] for text in scans - OF_ALL})
    label = [plan for text, plan in plans.items()
             if "SELECT number FROM attribute WHERE hash" in text]
    expect("SEARCH attribute USING PRIMARY KEY" in label[0][0], label)
    print(f"{len(plans)} statements")
