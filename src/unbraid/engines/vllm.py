"""The driver of a vLLM server over ``/v1/completions``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Constraint, Dialect, Generation, Sampling
from unbraid.engines.completions import PATH, CompletionsEngine
from unbraid.engines.server_tokenizer import RemoteTokenizer, VllmTokenizer
from unbraid.engines.sse import Refused
from unbraid.errors import EngineError, Unsupported
from unbraid.tokens import Tokenizer

__all__ = ["VllmEngine"]

_PROBE_PROMPT = "The capital of France is"
_PROBE_TEXT = "~unbraid~"
_PROBE_TOKENS = 16
_PROBE_IDS = (1000, 1001)


def _tag(**written: Any) -> Constraint:
    return Constraint("structural_tag", json.dumps({"type": "structural_tag", "format": written}))


_PROBES = (
    _tag(type="const_string", value=_PROBE_TEXT),
    Constraint("json_schema", json.dumps({"const": _PROBE_TEXT})),
)


class VllmEngine(CompletionsEngine):
    """Generates on a vLLM server, with token ids, and constraints by structural tags.

    ``connect`` asks for what was not given and tries whether constraints are enforced:
    a vLLM that was started with a reasoning parser ignores them on this route.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        tokenizer: Tokenizer | None = None,
        chat_template: str | None = None,
        template_variables: dict[str, Any] | None = None,
        model: str = "",
        context_length: int = 0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``base_url`` like ``http://127.0.0.1:8000``; without a ``tokenizer`` the server's own is asked."""
        if tokenizer is None:
            sync = transport if isinstance(transport, httpx.BaseTransport) else None
            key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
            tokenizer = VllmTokenizer(base_url.rstrip("/"), key, sync)
        super().__init__(
            base_url,
            api_key,
            model=model,
            tokenizer=tokenizer,
            chat_template=chat_template,
            template_variables=template_variables,
            capabilities=Capabilities(
                dialects=("structural_tag", "json_schema"),
                logprobs=True,
                context_length=context_length,
                drafts=True,
            ),
            transport=transport,
        )
        self.root = ""
        self.version = ""

    async def connect(self) -> None:
        """Ask for the model's name, context and template where not given, and try the constraints.

        Raises EngineError when the server can't be reached, is no vLLM, serves no such
        model, or ignores constraints.
        """
        self.version = str((await self._get("/version")).get("version", ""))
        card = self._card(await self._get("/v1/models"))
        self.model, self.root = str(card["id"]), str(card.get("root") or card["id"])
        if not self.capabilities.context_length:
            length = int(card.get("max_model_len") or 0)
            self.capabilities = replace(self.capabilities, context_length=length)
        if self._chat_template is None:
            await self._ask_template()
        enforced = [probe.dialect for probe in _PROBES if await self._enforces(probe)]
        self.capabilities = replace(
            self.capabilities,
            dialects=tuple(enforced),
            marker_ids="structural_tag" in enforced and await self._tells_ids_apart(),
        )

    def _card(self, answer: dict[str, Any]) -> dict[str, Any]:
        """The entry of the model that is wanted, or of the first."""
        cards = [one for one in answer.get("data") or () if isinstance(one, dict) and one.get("id")]
        if not cards:
            raise EngineError(f"{self.base_url} serves no model: /v1/models lists none")
        if not self.model:
            return cards[0]
        for card in cards:
            if card["id"] == self.model:
                return card
        known = ", ".join(str(card["id"]) for card in cards)
        raise EngineError(f"{self.base_url} serves no model {self.model!r}, only {known}")

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
        """Whether the server takes a constraint; raises EngineError when it takes and ignores it."""
        try:
            text, ids = await self._probe(constraint, _PROBE_TOKENS)
        except Refused as error:
            if error.status in (400, 422):
                return False
            raise
        self._check_tokenizer(text, ids)
        wanted = json.dumps(_PROBE_TEXT) if constraint.dialect == "json_schema" else _PROBE_TEXT
        got = text.strip()
        if got and (got.startswith(wanted) or wanted.startswith(got)):
            return True
        raise EngineError(
            f"the vLLM {self.version} at {self.base_url} ignores constraints on {PATH} (it was to write "
            f"{wanted!r} and wrote {text!r}): start it without --reasoning-parser, unbraid reads the "
            "reasoning; a vLLM that does not know structured_outputs must be updated"
        )

    async def _tells_ids_apart(self) -> bool:
        """Whether tags that differ only in a token's id are enforced each for itself.

        xgrammar 0.2.8 enforces the second as the first, and then fails the generation.
        """
        for token_id in _PROBE_IDS:
            try:
                _, ids = await self._probe(_tag(type="token", token=token_id), 1)
            except Refused:
                return False
            if ids != [token_id]:
                return False
        return True

    async def _probe(self, constraint: Constraint, max_tokens: int) -> tuple[str, list[int] | None]:
        """The text and the ids that the server writes under a constraint. Raises EngineError."""
        sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
        body = {**self._body(Generation(_PROBE_PROMPT, sampling, constraint)), "stream": False}
        del body["stream_options"]
        answer = await self._post(PATH, body)
        try:
            choice = answer["choices"][0]
            return str(choice["text"]), choice.get("token_ids")
        except (KeyError, TypeError, IndexError) as error:
            raise EngineError(f"{self.base_url} answered {PATH} in an unknown shape: {error!r}") from error

    def _check_tokenizer(self, text: str, ids: list[int] | None) -> None:
        """Note whether ids come; raises EngineError when they spell another text here."""
        if not ids:
            self.capabilities = replace(self.capabilities, token_ids=False)
            return
        if isinstance(self._tokenizer, RemoteTokenizer):
            return
        spelled = b"".join(map(self._tokenizer.token_bytes, ids)).decode("utf-8", "replace")
        if spelled.strip() != text.strip():
            raise EngineError(
                f"the tokenizer is not that of {self.model}: what the engine wrote is {text!r} "
                f"by its own and {spelled!r} by this one"
            )

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
            }
        )
        if generation.logprobs is not None and not isinstance(self._tokenizer, RemoteTokenizer):
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
