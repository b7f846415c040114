"""Whether engines run the same model, and what all of them can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from unbraid.engines.base import Capabilities, Engine
from unbraid.errors import EngineError
from unbraid.tokens import Tokenizer

__all__ = ["check_alike", "common"]

PROBES = (
    "The quick brown fox: 1234567890, 3.14e-5!\n\tdef f(x):\n        return {'a': [x, None]}\n",
    "Grüße, élève, Ελλάδα, Привет, 你好，世界, こんにちは, 한국어, مرحبا, 🙂",
    "<think></think><tool_call></tool_call><|im_start|><|im_end|><|channel|>[TOOL_CALLS]<｜tool▁calls▁begin｜>",
)


def check_alike(engines: Mapping[str, Engine]) -> None:
    """Raise EngineError when the engines' models, vocabularies or chat templates differ, naming two.

    Vocabularies are compared by how they encode a few texts of many kinds.
    """
    (first, one), *others = engines.items()
    for name, other in others:
        if one.model != other.model:
            raise _differ("models", first, one.model, name, other.model)
        for probe in PROBES:
            ours, theirs = _encoded(one.tokenizer, probe), _encoded(other.tokenizer, probe)
            if ours != theirs:
                raise _differ("vocabularies", first, f"{ours}", name, f"{theirs}")
        if one.chat_template != other.chat_template:
            raise _differ(
                "chat templates", first, _digest(one.chat_template), name, _digest(other.chat_template)
            )


def common(capabilities: Sequence[Capabilities]) -> Capabilities:
    """What all can do, dialects in the order of the first; 0 is a context length that none knows."""
    first, *others = capabilities
    return replace(
        first,
        dialects=tuple(one for one in first.dialects if all(one in other.dialects for other in others)),
        token_ids=all(one.token_ids for one in capabilities),
        logprobs=all(one.logprobs for one in capabilities),
        context_length=min(filter(None, (one.context_length for one in capabilities)), default=0),
        drafts=any(one.drafts for one in capabilities),
        marker_ids=all(one.marker_ids for one in capabilities),
    )


def _encoded(tokenizer: Tokenizer | None, text: str) -> list[int] | None:
    return None if tokenizer is None else list(tokenizer.encode(text))


def _digest(template: str | None) -> str:
    """A name of a template that is short enough to be shown."""
    if template is None:
        return "none"
    return f"{len(template)} characters, sha256 {sha256(template.encode()).hexdigest()[:12]}"


def _differ(what: str, first: str, one: str, second: str, other: str) -> EngineError:
    return EngineError(
        f"the engines must run the same model, but their {what} differ: "
        f"{first} has {one[:200]}, {second} has {other[:200]}"
    )
