#!/usr/bin/env python3
"""Writes the licenses of all crates that are part of the program, or of the Python package with its program:

    python3 packaging/notices.py [OUT] [--target TRIPLE] [--wheel]

Fails if a crate has no license text, or a license that deny.toml does not allow. Without OUT, only checks.
"""

import argparse
import pathlib
import re
import sys
import tomllib

from crates import ROOT, linked, linked_into_wheel

FILES = re.compile(r"(licen[cs]e|copying|notice|unlicense)", re.IGNORECASE)


def chosen(expression, allowed):
    """The licenses of an expression under which the crate is used; None if not allowed."""
    expression = expression.replace("/", " OR ")
    exceptions = re.sub(r" WITH [\w.-]+", "", expression)
    terms = re.split(r"\s+AND\s+", exceptions.replace("(", " ").replace(")", " ").strip())
    result = []
    for term in terms:
        options = [option.strip() for option in re.split(r"\s+OR\s+", term)]
        option = next((option for option in options if option in allowed), None)
        if option is None:
            return None
        result.append(option)
    return result


def texts(package):
    """The license texts in the package of a crate."""
    directory = pathlib.Path(package["manifest_path"]).parent
    found = sorted(p for p in directory.iterdir() if p.is_file() and FILES.match(p.name))
    return [path.read_text(errors="replace").strip() for path in found if path.suffix not in {".rs", ".toml"}]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", nargs="?")
    parser.add_argument("--target", default="x86_64-unknown-linux-musl", help="target of the program")
    parser.add_argument("--wheel", action="store_true", help="of the Python package")
    args = parser.parse_args()
    rules = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]
    exceptions = {rule["crate"]: rule["allow"] for rule in rules["exceptions"]}
    packages = linked_into_wheel(args.target) if args.wheel else linked(args.target)[1]
    failures, groups, without = [], {}, []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        licenses = chosen(package["license"] or "", rules["allow"] + exceptions.get(package["name"], []))
        if licenses is None:
            failures.append(f"{name}: license {package['license']!r} is not allowed by deny.toml")
            continue
        found = texts(package)
        if not found:
            without.append((name, package["license"], package["repository"]))
        source = f"; source: {package['repository']}" if package["name"] in exceptions else ""
        groups.setdefault("\n\n".join(found), []).append((name, package["license"] + source))
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    notices = ["perfconv contains the following software, under these licenses.", ""]
    for text, names in sorted(groups.items(), key=lambda group: group[1]):
        if text:
            notices += ["=" * 80, *(f"{name} ({license})" for name, license in names), "-" * 80, text, ""]
    for name, license, repository in without:
        notices += ["=" * 80, f"{name} ({license}), whose package contains no license text: {repository}", ""]
    if args.out:
        pathlib.Path(args.out).write_text("\n".join(notices))
    print(f"{len(packages)} crates, {len(groups)} license texts, {len(without)} without a text: " + ", ".join(n for n, _, _ in without))
    if len(packages) < 50:
        failures.append("too few crates")
    return 1 if failures else 0


sys.exit(main())
