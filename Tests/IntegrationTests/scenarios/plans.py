# SPDX-License-Identifier: Apache-2.0
"""How SQLite goes about our statements."""

import os
import re
import sqlite3

from support import expect

SOURCE = os.path.join(os.path.dirname(__file__), *[".."] * 3, "Sources", "KeychainStore", "Engine",
                      "StoreConnection.swift")
STATEMENT = re.compile(r'"(?:"")?\s*((?:SELECT|INSERT|UPDATE|DELETE)\b[^"]*)"')
# What all items are read for, or a table that has next to no rows, or what is damaged.
OF_ALL = {
    "SELECT * FROM item ORDER BY number",
    "SELECT epoch, bytes FROM keybag ORDER BY epoch LIMIT 3",
    "SELECT count(*) FROM quarantine",
    "DELETE FROM attribute WHERE number = ?1",
}


def of_statements(world):
    """spec/keys-and-states.md §8, case 18: what is searched for is found by an index."""
    world.fill("a")
    world.settle()
    database = sqlite3.connect(world.path("keychain.db"))
    plans = {}
    for text in STATEMENT.findall(open(SOURCE).read()):
        text = " ".join(text.split())
        nothing = [None] * len(set(re.findall(r"\?\d+", text)))
        plan = database.execute(f"EXPLAIN QUERY PLAN {text}", nothing)
        plans[text] = [row[3] for row in plan]
    expect(len(plans) > 20, "statements that were not found:", sorted(plans))
    expect(OF_ALL <= set(plans), "not there any more:", OF_ALL - set(plans))
    scans = {text for text, plan in plans.items() if any(step.startswith("SCAN") for step in plan)}
    expect(scans <= OF_ALL, "read a whole table:", {text: plans[text] for text in scans - OF_ALL})
    label = [plan for text, plan in plans.items() if "WHERE attribute.hash" in text]
    expect("SEARCH attribute USING PRIMARY KEY" in label[0][0], label)
    print(f"{len(plans)} statements")
