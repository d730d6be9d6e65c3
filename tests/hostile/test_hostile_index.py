"""The catalogue of attacks and faults, number by number: tried here, or said why not."""

from __future__ import annotations

import ast
import re
import sys

from grader import arena

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

NUMBERS = range(1, 71)


def tried() -> dict[int, list[str]]:
    """Number -> where it is tried: the file of an attack, or a test whose docstring begins with the number."""
    found: dict[int, list[str]] = {}
    for group in ("system", "deny", "tamper", "library"):
        for attack in arena.attacks(group):
            for number in attack.numbers:
                found.setdefault(number, []).append(f"{group}/{attack.path.name}")
    for path in sorted(arena.CORPUS.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                numbers = re.match(r"(\d+(?:, \d+)*)\. ", ast.get_docstring(node) or "")
                for number in numbers[1].split(", ") if numbers else ():
                    found.setdefault(int(number), []).append(f"{path.name}::{node.name}")
    return found


def test_every_number_is_tried_or_explained() -> None:
    """Nothing of the catalogue is forgotten, and nothing that is tried is also excused."""
    excused = {int(number) for number in tomllib.loads((arena.CORPUS / "not_run.toml").read_text())}
    covered = set(tried())
    assert covered | excused == set(NUMBERS), sorted(set(NUMBERS) - covered - excused)
    assert not covered & excused


def test_every_attack_says_what_it_is() -> None:
    """Each file begins with its number and what it tries, and says how it must end or what it may be worth."""
    for attack in arena.attacks("deny"):
        assert attack.ends, attack.path
    for attack in arena.attacks("tamper"):
        assert "Worth: " in attack.source, attack.path
