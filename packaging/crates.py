"""The crates that are part of the program, and of the Python package."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FEATURES = "cli,debuginfod,parquet,push"


def linked(target, features=FEATURES, manifest="Cargo.toml"):
    """The packages that are linked into the program, without build and test dependencies and procedural macros."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--no-default-features", "--manifest-path", manifest]
    command += ["--features", features, "--filter-platform", target]
    data = json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    packages = {package["id"]: package for package in data["packages"]}
    reached, pending = set(), [data["resolve"]["root"]]
    while pending:
        for dependency in nodes[pending.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            is_macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            if is_linked and not is_macro and dependency["pkg"] not in reached:
                reached.add(dependency["pkg"])
                pending.append(dependency["pkg"])
    order = lambda package: (package["name"], package["version"])
    # The packages of the workspace have no source.
    others = [packages[id] for id in reached if packages[id]["source"]]
    return packages[data["resolve"]["root"]], sorted(others, key=order)


def linked_into_wheel(target):
    """The packages that are linked into the Python package and its program."""
    _, of_program = linked(target)
    _, of_module = linked(target, "", "python/Cargo.toml")
    packages = {package["id"]: package for package in of_program + of_module}
    return sorted(packages.values(), key=lambda package: (package["name"], package["version"]))
