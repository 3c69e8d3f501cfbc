#!/usr/bin/env python3
"""Writes the crates of the program as a CycloneDX bill of materials: python3 packaging/sbom.py OUT [--target TRIPLE]

The same source gives the same bytes. Checksums are those of Cargo.lock.
"""

import argparse
import json
import pathlib
import tomllib

from crates import ROOT, linked


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--target", default="x86_64-unknown-linux-musl")
    args = parser.parse_args()
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock}
    root, packages = linked(args.target)

    def component(package, kind):
        name, version = package["name"], package["version"]
        entry = {"type": kind, "bom-ref": f"pkg:cargo/{name}@{version}", "name": name, "version": version}
        entry["purl"] = f"pkg:cargo/{name}@{version}"
        if package["description"]:
            entry["description"] = " ".join(package["description"].split())
        if package["license"]:
            entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        if checksums.get((name, version)):
            entry["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
        return entry

    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root, "application")},
        "components": [component(package, "library") for package in packages],
    }
    pathlib.Path(args.out).write_text(json.dumps(bom, indent=1) + "\n")


main()
