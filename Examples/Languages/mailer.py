# SPDX-License-Identifier: Apache-2.0
"""Stores a password and reads it back, with the package valet-keyring."""

import valet

valet.configure("Mailer")
mailer = valet.Valet("Mailer", accessibility=valet.Accessibility.AFTER_FIRST_UNLOCK)
mailer.set_text("python", "correct horse")
with mailer.secret("python") as password:  # Wiped at the end.
    print(str(password, "utf-8"))
try:
    mailer.get("no such key")
except valet.ItemNotFound as error:
    print(error)
