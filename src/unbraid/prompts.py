"""Where a rendered prompt leaves the output: thinking open, closed, or not begun.

One function over the prompt, used by the parser, the grammar, the gate and the
budget alike. Only the last assistant turn counts, so a marker in an earlier turn or
in a user's text decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unbraid import validate
from unbraid.errors import InvalidRequest
from unbraid.syntax import NO_SPACE, WHITE, Reasoning, Space
from unbraid.tokens import Tokenizer

__all__ = ["PromptState", "prompt_state", "prompt_text"]


@dataclass(frozen=True)
class PromptState:
    """``thinking``: open, closed (the prompt holds a finished block) or absent.

    With open thinking, ``lead`` says whether the framing behind the opener, and
    ``label`` whether the label, is still to come in the output. With closed thinking,
    ``after`` is the framing behind the closer that is still to come. ``answer``: the prompt
    wrote the marker in front of content.
    """

    thinking: str
    lead: bool = True
    label: bool = False
    after: Space = NO_SPACE
    answer: bool = False


def prompt_text(prompt: str | Sequence[int], tokenizer: Tokenizer | None) -> str:
    """The prompt as text; ids need a tokenizer, or InvalidRequest is raised."""
    if isinstance(prompt, str):
        return prompt
    ids = validate.token_ids("prompt", prompt)
    if tokenizer is None:
        raise InvalidRequest("a prompt of token ids needs tokenizer=", param="prompt")
    return b"".join(map(tokenizer.token_bytes, ids)).decode("utf-8", "replace")


def prompt_state(reasoning: Reasoning, prompt: str) -> PromptState:
    """How ``prompt`` leaves the thinking of this format."""
    turn = prompt[
        max((prompt.rfind(mark) + len(mark) for mark in reasoning.turns if mark in prompt), default=0) :
    ]
    opened, opener = _last(turn, reasoning.open.spellings)
    closed, closer = _last(turn, reasoning.close.spellings)
    if reasoning.answer and _last(turn, reasoning.answer.open.spellings)[0] > max(opened, closed):
        return PromptState("closed", answer=True)
    if opened < 0 and closed < 0:
        return PromptState("absent")
    if closed > opened and reasoning.after_in != "always":
        return PromptState("closed")
    if closed > opened:
        return PromptState("closed", after=_rest(reasoning.after, turn[closed + len(closer) :]))
    inside = turn[opened + len(opener) :]
    if any(inside.find(end) >= 0 for end in reasoning.ends_at):
        return PromptState("closed")
    label = bool(reasoning.label) and not inside
    inside = inside.removeprefix(reasoning.label) if reasoning.label else inside
    lead = not inside.strip(WHITE) and reasoning.lead.text not in inside
    return PromptState("open", lead=lead and not inside, label=label)


def _rest(space: Space, written: str) -> Space:
    """What is left of framing of which the prompt wrote ``written``."""
    if space.any:
        return NO_SPACE if written.strip(space.chars) else space
    return Space(space.text[len(written) :]) if space.text.startswith(written) else NO_SPACE


def _last(text: str, spellings: tuple[str, ...]) -> tuple[int, str]:
    return max((text.rfind(one), one) for one in spellings)
