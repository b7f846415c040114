"""Whether the branches of a oneOf exclude each other, so that any of them is exactly one."""

from __future__ import annotations

import json
from functools import cached_property
from itertools import combinations
from typing import Any

from unbraid.branches import Branch, Conjunction, expand
from unbraid.constrain.conjunctions import declared, members, required_keys
from unbraid.effort import spend

__all__ = ["disjoint"]


def disjoint(root: Any, branches: Any) -> bool:
    """Whether no value can be valid for two of ``branches``, as far as can be told."""
    if not isinstance(branches, (list, tuple)):
        return True
    sides = [[_Side(root, parts) for parts in expand(root, one)] for one in branches]
    return not any(a.meets(b) for some, others in combinations(sides, 2) for a in some for b in others)


class _Side:
    """What one conjunction says, each thing found when it is first asked for."""

    def __init__(self, root: Any, parts: Conjunction) -> None:
        self.root = root
        self.parts = parts
        self.values: dict[str, list[_Side]] = {}

    @cached_property
    def listed(self) -> set[str] | None:
        """Its values as JSON texts, if it lists them."""
        found = members(self.parts)
        return None if found is None else {json.dumps(one, sort_keys=True) for one in found}

    @cached_property
    def kinds(self) -> set[str] | None:
        """The kinds that it names; None if it names none."""
        branch = Branch(self.parts)
        if not branch.typed or not any(
            "type" in part or "enum" in part or "const" in part for part in self.parts
        ):
            return None
        return {*branch.kinds, *(["integer"] if "number" in branch.kinds else [])}

    @cached_property
    def declared(self) -> dict[str, Any]:
        """The schemas of its keys."""
        return declared(self.parts)

    @cached_property
    def required(self) -> set[str]:
        """The keys that are declared and must be there."""
        return set(required_keys(self.parts)) & set(self.declared)

    def value(self, key: str) -> list[_Side]:
        """What it says of the value of a key, branch by branch."""
        if key not in self.values:
            self.values[key] = [_Side(self.root, parts) for parts in expand(self.root, self.declared[key])]
        return self.values[key]

    def meets(self, other: _Side) -> bool:
        """Whether some value may be valid for both."""
        spend(1)
        if self.listed is not None and other.listed is not None:
            return not self.listed.isdisjoint(other.listed)
        if self.kinds is None or other.kinds is None:
            return True
        kinds = self.kinds & other.kinds
        return bool(kinds) and not (kinds == {"object"} and self.differs(other))

    def differs(self, other: _Side) -> bool:
        """Whether a required property has different listed values in both."""
        for key in self.required & other.required:
            left, right = self.value(key), other.value(key)
            if all(one.listed is not None for one in (*left, *right)) and not any(
                x.meets(y) for x in left for y in right
            ):
                return True
        return False
