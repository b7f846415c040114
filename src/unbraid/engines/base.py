"""The driver interface: what the server asks of anything that generates tokens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from unbraid.tokens import Tokenizer

__all__ = ["Capabilities", "Chunk", "Constraint", "Engine", "Generation", "Sampling", "TokenLogprob"]

Dialect = Literal["llguidance", "structural_tag", "json_schema", "gbnf"]


@dataclass(frozen=True)
class Constraint:
    """A grammar for the engine, enforced from the first generated token."""

    dialect: Dialect
    grammar: str


@dataclass(frozen=True)
class Sampling:
    """How to sample. ``max_tokens`` None means as many as the context holds."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: dict[int, float] = field(default_factory=dict)
    ignore_eos: bool = False


@dataclass(frozen=True)
class Generation:
    """One generation: a rendered prompt as text or ids, and what bounds it.

    ``request_id`` names it in logs, here and at the engine; generations with the same
    ``affinity`` begin alike, so that an engine which served one has the next one's prefix at hand.
    """

    prompt: str | list[int]
    sampling: Sampling = Sampling()
    constraint: Constraint | None = None
    logprobs: int | None = None
    request_id: str | None = None
    affinity: str | None = None


@dataclass(frozen=True)
class TokenLogprob:
    """The log probability of one token and of the likeliest others at its place."""

    token_id: int
    token: bytes
    logprob: float
    top: tuple[tuple[int, bytes, float], ...] = ()


@dataclass(frozen=True)
class Chunk:
    """A piece of output: its text, its token ids, and on the last one why it ended.

    ``text`` holds whole characters only; special tokens are spelled out in it.
    ``token_ids`` are exactly the tokens of ``text``, or empty when not all are known.
    ``finish_reason`` is ``stop`` or ``length`` on the last chunk; ``stop_reason`` is
    the stop string that matched, if one did; ``prompt_tokens`` comes on the last, and
    ``completion_tokens`` too: the tokens generated in all, which can be a few more than
    the ids seen (half a character at the end is not shown).
    Text that a stop string cut within a token comes without that token's id. ``engine`` names,
    on the last chunk, which of several engines generated.
    """

    text: str = ""
    token_ids: tuple[int, ...] = ()
    finish_reason: str | None = None
    stop_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    logprobs: tuple[TokenLogprob, ...] = ()
    engine: str | None = None


@dataclass(frozen=True)
class Capabilities:
    """What an engine can do: which grammar dialects, whether it streams token ids and logprobs.

    ``dialects`` are in the order of preference. ``drafts``: the engine may draft tokens, so a
    grammar for it must not count tokens of free text. ``marker_ids``: a grammar
    may name tokens by id; where it may not, markers in it are spelled as text.
    """

    dialects: tuple[Dialect, ...] = ()
    token_ids: bool = True
    logprobs: bool = False
    context_length: int = 0
    drafts: bool = False
    marker_ids: bool = True


class Engine(Protocol):
    """Something that generates. Closing the generator of ``generate`` aborts the generation."""

    model: str
    capabilities: Capabilities

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer; None when its vocabulary is not known, and markers are read as text."""
        ...

    @property
    def chat_template(self) -> str | None:
        """The model's own chat template (Jinja source), if it carries one."""
        ...

    @property
    def template_variables(self) -> dict[str, Any]:
        """Names for the template, such as ``bos_token`` and ``eos_token``."""
        ...

    def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Start generating; raises EngineError when the engine refuses or fails."""
        ...

    async def health(self) -> bool:
        """Whether the engine answers."""
        ...

    async def close(self) -> None:
        """Stop the engine and free what it holds."""
        ...
