"""The driver of a vLLM server over ``/v1/completions``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from unbraid.engines.base import Capabilities, Constraint, Dialect, Generation, Sampling
from unbraid.engines.completions import PATH, CompletionsEngine
from unbraid.engines.http import HttpEngine
from unbraid.engines.probes import PROBE_PROMPT, PROBE_TOKENS, PROBES, tag, within
from unbraid.engines.server_tokenizer import VllmTokenizer
from unbraid.engines.sse import Refused
from unbraid.errors import EngineError, Unsupported

__all__ = ["VllmEngine"]

_PROBE_IDS = (1000, 1001)


class VllmEngine(CompletionsEngine):
    """Generates on a vLLM server, with token ids, and constraints by structural tags.

    ``connect`` asks for what was not given and tries whether constraints are enforced:
    a vLLM that was started with a reasoning parser ignores them on this route.
    """

    _remote_tokenizer = VllmTokenizer
    root = ""
    kind = "vLLM"
    version = ""

    @staticmethod
    def _abilities(context_length: int) -> Capabilities:
        dialects: tuple[Dialect, ...] = ("structural_tag", "json_schema")
        return Capabilities(dialects, True, True, context_length, drafts=True)

    async def connect(self) -> None:
        """Ask for the model's name, context and template where not given, and try the constraints.

        Raises EngineError when the server can't be reached, is no vLLM, serves no such
        model, or ignores constraints.
        """
        try:
            self.version = str((await self._get("/version")).get("version", ""))
        except Refused as error:
            raise EngineError(f"{self.base_url} is no vLLM server, /version: {error}") from error
        card = await self._card()
        if self._chat_template is None:
            await self._ask_template()
        self.root = str(card.get("root") or card["id"])
        await self._find_files(self.root, self.model)
        enforced = [probe.dialect for probe in PROBES if await self._enforces(probe)]
        self.capabilities = replace(
            self.capabilities,
            dialects=tuple(enforced),
            marker_ids="structural_tag" in enforced and await self._tells_ids_apart(),
        )

    async def health(self) -> bool:
        """Whether the server answers ``/health``."""
        return await HttpEngine.health(self)

    async def _ask_template(self) -> None:
        """Take template and variables from the server, where it was started to tell them."""
        try:
            info = await self._get("/tokenizer_info")
        except Refused:
            return
        template = info.get("chat_template")
        self._chat_template = template if isinstance(template, str) else None
        for name in ("bos_token", "eos_token"):
            if isinstance(info.get(name), str):
                self._template_variables.setdefault(name, info[name])

    async def _enforces(self, constraint: Constraint) -> bool:
        """Whether the server takes a constraint; raises EngineError when it takes and ignores it.

        With a reasoning parser it can also fail: it begins to hold the constraint behind what it
        takes for the end of thinking, and refuses that very token.
        """
        try:
            text, ids = await self._probe(constraint, PROBE_TOKENS)
        except Refused as error:
            if error.status in (400, 422):
                return False
            raise EngineError(
                f"the vLLM {self.version} at {self.base_url} fails under a constraint on {PATH} "
                f"({error.detail}): if it was started with --reasoning-parser, start it without "
                "--reasoning-parser, unbraid reads the reasoning"
            ) from error
        self._check_tokenizer(text, ids)
        if within(text, constraint):
            return True
        raise EngineError(
            f"the vLLM {self.version} at {self.base_url} ignores constraints on {PATH} (it wrote "
            f"{text!r} instead): start it without --reasoning-parser, unbraid reads the "
            "reasoning; a vLLM that does not know structured_outputs must be updated"
        )

    async def _tells_ids_apart(self) -> bool:
        """Whether tags that differ only in a token's id are enforced each for itself.

        xgrammar 0.2.8 enforces the second as the first, and then fails the generation.
        """
        for token_id in _PROBE_IDS:
            try:
                _, ids = await self._probe(tag(type="token", token=token_id), 1)
            except Refused:
                return False
            if ids != [token_id]:
                return False
        return True

    async def _probe(self, constraint: Constraint, max_tokens: int) -> tuple[str, list[int] | None]:
        """The text and the ids that the server writes under a constraint. Raises EngineError."""
        sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
        body = {**self._body(Generation(PROBE_PROMPT, sampling, constraint)), "stream": False}
        del body["stream_options"]
        answer = await self._post(PATH, body)
        try:
            choice = answer["choices"][0]
            return str(choice["text"]), choice.get("token_ids")
        except (KeyError, TypeError, IndexError) as error:
            raise EngineError(f"{self.base_url} answered {PATH} in an unknown shape: {error!r}") from error

    def _body(self, generation: Generation) -> dict[str, Any]:
        sampling = generation.sampling
        body = super()._body(generation)
        body.update(
            {
                "top_k": max(0, sampling.top_k),
                "min_p": sampling.min_p,
                "repetition_penalty": sampling.repetition_penalty,
                "ignore_eos": sampling.ignore_eos,
                "add_special_tokens": False,
                "skip_special_tokens": False,
                "spaces_between_special_tokens": False,
                "include_stop_str_in_output": True,
                "return_token_ids": True,
                **self._extra,
            }
        )
        if generation.logprobs is not None and self._spelled:
            body["return_tokens_as_token_ids"] = True
        return body

    def _constrained(self, constraint: Constraint) -> dict[str, Any]:
        dialect: Dialect = constraint.dialect
        if dialect not in self.capabilities.dialects:
            return super()._constrained(constraint)
        if dialect == "structural_tag":
            return {"structured_outputs": {"structural_tag": constraint.grammar}}
        try:
            return {"structured_outputs": {"json": json.loads(constraint.grammar)}}
        except ValueError as error:
            raise Unsupported(f"the schema is no JSON: {error}", param="constraint") from error
