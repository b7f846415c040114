"""Whether the branches of a oneOf exclude each other, so that any of them is exactly one."""

from __future__ import annotations

import json
from typing import Any

from unbraid.branches import Branch, Conjunction, expand
from unbraid.constrain.conjunctions import declared, members, required_keys

__all__ = ["disjoint"]


def disjoint(root: Any, branches: Any) -> bool:
    """Whether no value can be valid for two of ``branches``, as far as can be told."""
    if not isinstance(branches, (list, tuple)):
        return True
    expanded = [expand(root, one) for one in branches]
    return not any(
        _meet(root, a, b)
        for n, some in enumerate(expanded)
        for others in expanded[n + 1 :]
        for a in some
        for b in others
    )


def _meet(root: Any, a: Conjunction, b: Conjunction) -> bool:
    """Whether some value may be valid for both."""
    left, right = Branch(a), Branch(b)
    listed, others = members(a), members(b)
    if listed is not None and others is not None:
        texts = {json.dumps(one, sort_keys=True) for one in listed}
        return any(json.dumps(one, sort_keys=True) in texts for one in others)
    if not (left.typed and right.typed):
        return True
    if not all(
        any("type" in part or "enum" in part or "const" in part for part in parts) for parts in (a, b)
    ):
        return True
    kinds = _kinds(left) & _kinds(right)
    return bool(kinds) and not (kinds == {"object"} and _told_apart(root, a, b))


def _kinds(branch: Branch) -> set[str]:
    return {*branch.kinds, *(["integer"] if "number" in branch.kinds else [])}


def _told_apart(root: Any, a: Conjunction, b: Conjunction) -> bool:
    """Whether a required property has different listed values in both."""
    left, right = declared(a), declared(b)
    for key in set(required_keys(a)) & set(required_keys(b)) & set(left) & set(right):
        if all(
            members(parts) is not None for one in (left, right) for parts in expand(root, one[key])
        ) and not any(_meet(root, x, y) for x in expand(root, left[key]) for y in expand(root, right[key])):
            return True
    return False
