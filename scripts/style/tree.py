# SPDX-License-Identifier: Apache-2.0
"""Walks a tree and applies every rule to what it finds."""

import os

from . import citations, code, documents, imports, tests, text
from .swift import SwiftFile

_SOURCES = ("Sources", "Tests", "Benchmarks", "Fuzz")
_SCRIPTS = ("scripts", ".ci", "Bindings", "Examples")
_SCENARIOS = "Tests/IntegrationTests/scenarios/"


def findings(root):
    """Every finding in the tree at `root`, as sorted (path, line, rule, message)."""
    found, swift_files = [], []

    def collect(path, results):
        found.extend((path, *result) for result in results)

    for path in _files(root, _SOURCES):
        if path.endswith((".swift", ".h")):
            body = _read(root, path)
            collect(path, text.check(path, body))
        if path.endswith(".swift"):
            file = SwiftFile(path, body)
            swift_files.append(file)
            collect(path, code.check(file))
            collect(path, text.check_comments(file))
    found.extend(code.check_together(swift_files))
    for path in _files(root, _SCRIPTS):
        body = _read(root, path)
        if path.endswith((".py", ".h", ".m")) or body.startswith("#!"):
            collect(path, text.check(path, body))
        if body.startswith("#!"):
            collect(path, text.check_script(path, body))
    for path, check in _documents(root).items():
        if os.path.exists(os.path.join(root, path)):
            collect(path, check(_read(root, path)))
    library = citations.Library(root)
    for path in _files(root, (*_SOURCES, *_SCRIPTS, "docs")):
        is_sample = "/Fixtures/" in path or path.endswith("style/selftest.py")
        if path.endswith((".swift", ".h", ".py", ".md")) and not is_sample:
            collect(path, citations.check(path, _read(root, path), library))
    for path in _markdown(root):
        collect(path, documents.check_links(path, _read(root, path), root))
    return sorted(found)


def _markdown(root):
    pages = [path for path in sorted(os.listdir(root)) if path.endswith(".md")]
    folders = ("docs", "Bindings", "Examples")
    return pages + [path for path in _files(root, folders) if path.endswith(".md")]


def _documents(root):
    threats = os.path.join(root, "docs/THREAT-MODEL.md")
    threats = _read(root, threats) if os.path.exists(threats) else ""
    names = [name for path in _files(root, ("Tests",))
             if path.endswith(".swift") and "/Fixtures/" not in path
             or path.startswith(_SCENARIOS) and path.endswith(".py")
             for name in tests.names(path, _read(root, path))]
    return {
        "Package.swift": imports.check_manifest,
        "CHANGELOG.md": documents.check_changelog,
        "CONTRIBUTING.md": documents.check_contributing,
        "docs/THREAT-MODEL.md": documents.check_threat_model,
        "docs/THREAT-MODEL-TESTS.md":
            lambda body: documents.check_threat_model_tests(body, threats, names, root),
    }


def _files(root, folders):
    for folder in folders:
        for where, names, files in os.walk(os.path.join(root, folder)):
            names[:] = sorted(n for n in names if not n.startswith(".") and n != "__pycache__")
            for name in sorted(files):
                yield os.path.relpath(os.path.join(where, name), root)


def _read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()
