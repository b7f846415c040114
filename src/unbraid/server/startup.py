"""Start-up: the options against the model, every check before the first request, and a report."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Literal, cast

from unbraid.check import check_prompt
from unbraid.engines.base import Dialect, Engine
from unbraid.engines.fleet import EngineState
from unbraid.engines.template import TOOL_TEMPLATE, ChatTemplate, knows_tools
from unbraid.errors import IncompatiblePair, InvalidRequest
from unbraid.formats import preset
from unbraid.pair import halves
from unbraid.server.cures import reasoning_cure
from unbraid.server.keys import Keys
from unbraid.server.limits import Limits
from unbraid.server.options import Options
from unbraid.server.setup import Enforce, Setup, StrictLevel
from unbraid.server.vocabulary import check_markers, closing, foreign_ends, markers
from unbraid.syntax import Joint, Reasoning, Switch
from unbraid.variants import variant_names

__all__ = ["prepare"]

HARMONY = ("openai_gptoss", "openai")
DEFAULT_PAIR = ("qwen3", "hermes")
CHATML_TOOLS = ("hermes", "qwen3_json")
STRICT_LEVELS = ("auto", "function", "parameter")
HARMONY_MARKS = ("<|channel|>", "<|start|>assistant")
EFFORT = "reasoning_effort"
GRAMMARS: dict[Dialect, str] = {
    "llguidance": "a grammar (llguidance)",
    "structural_tag": "a structural tag",
    "gbnf": "a grammar (GBNF)",
}
"""The dialects that hold thinking and demands in one, the first is taken."""
PROBE = ({"role": "user", "content": "Hello"},)


@dataclass(frozen=True)
class _Pair:
    reasoning: str | None
    tools: str | None
    why: str
    family: str | None = None


def prepare(engine: Engine, options: Options) -> Setup:
    """Settle the options for an engine's model.

    Raises UnknownParser, BrokenFormat, IncompatiblePair or TokenizerMismatch about the
    formats, InvalidRequest about any other option.
    """
    pair = _pair(engine, options)
    names = variant_names(pair.reasoning, pair.tools, tokenizer=engine.tokenizer)
    pair = _Pair(*names, pair.why, pair.family if names[0] == pair.reasoning else None)
    try:
        reasoning, _, _ = halves(pair.reasoning, pair.tools)
    except IncompatiblePair as error:
        raise IncompatiblePair(f"{error.message}; use {_fix(pair)}", param=error.param) from error
    odd = []
    markers_as = options.markers if engine.tokenizer is not None else "text"
    if markers_as == "tokens" and engine.tokenizer is not None:
        odd = check_markers(pair.reasoning, pair.tools, engine.tokenizer, engine.model)
    if options.tool_strict_level is not None and options.tool_strict_level not in STRICT_LEVELS:
        raise InvalidRequest(f"--tool-strict-level must be one of {', '.join(STRICT_LEVELS)}")
    own = preset(pair.family).switch if pair.family else None
    switch = own or (reasoning.switch if reasoning else None)
    source, where = _template(engine, options, pair)
    template = ChatTemplate(source, engine.template_variables)
    budget = options.thinking_token_budget
    setup = Setup(
        template=template,
        models=options.served_model_name or (engine.model,),
        reasoning_parser=pair.reasoning,
        tool_parser=pair.tools,
        format=pair.family,
        template_kwargs=dict(options.default_chat_template_kwargs),
        effort_map=dict(options.reasoning_effort_map),
        limits=_limits(options),
        strict_level=cast("StrictLevel | None", options.tool_strict_level),
        enforce=cast("Enforce", options.enforce),
        end_text=_end_text(options, reasoning),
        budget=None if budget is None or budget < 0 else budget,
        max_string=options.max_string_length,
        markers=cast(Literal["tokens", "text"], markers_as),
        keys=_keys(options),
        hide_unused_tools=options.exclude_tools_when_tool_choice_none,
        trust_template=options.trust_request_chat_template,
        alias=options.reasoning_content_alias,
        wire_safe=options.wire_safe,
        switch=switch,
        foreign_ends=foreign_ends(pair.reasoning, pair.tools, engine),
        max_running=options.max_running,
        engine_timeout=options.engine_timeout,
        drain_seconds=options.drain_seconds,
        log_prompts=options.log_prompts,
    )
    return _with_report(setup, engine, pair, where, switch, odd)


def _keys(options: Options) -> Keys | None:
    if not options.api_keys and options.api_key_file is None:
        return None
    return Keys(options.api_keys, options.api_key_file)


# -- the pair -------------------------------------------------------------------


def _pair(engine: Engine, options: Options) -> _Pair:
    reasoning = options.reasoning_parser
    unset = reasoning is None
    if reasoning is not None and reasoning.lower() in ("none", ""):
        reasoning = None
    tools = options.tool_call_parser or None
    family = None
    if options.format is not None:
        named = preset(options.format)
        reasoning = named.reasoning if unset else reasoning
        family = options.format if unset else None
        unset, tools = False, tools or named.tools
    if options.enable_auto_tool_choice and tools is None:
        raise InvalidRequest(
            "--enable-auto-tool-choice needs --tool-call-parser NAME (which alone is enough)",
            param="tool_parser",
        )
    if not unset or tools is not None:
        return _Pair(reasoning, tools, "as asked for", family)
    template = options.chat_template or engine.chat_template or ""
    if all(mark in template for mark in HARMONY_MARKS):
        return _Pair(*HARMONY, "because the chat template is that of gpt-oss")
    if options.default_model:
        return _Pair(*DEFAULT_PAIR, "the default for the default model")
    return _Pair(None, None, "no parser is set: everything is content")


def _fix(pair: _Pair) -> str:
    """The flags that would be right instead of a pair that can't be combined."""
    reasoning, _, channels = halves(pair.reasoning, None)
    if channels is not None and reasoning is None:
        return f"--reasoning-parser {pair.reasoning} --tool-call-parser {_partner(channels, tools=True)}"
    _, _, channels = halves(None, pair.tools)
    partner = _partner(channels, tools=False) if channels is not None else "another"
    return f"--reasoning-parser {partner} --tool-call-parser {pair.tools}"


def _partner(channels: Joint, tools: bool) -> str:
    """The name of the other half of a format that is both."""
    from unbraid.formats import reasoning_format, reasoning_names, tool_format, tool_names

    if tools:
        names = [name for name in tool_names() if tool_format(name) is channels]
    else:
        names = [name for name in reasoning_names() if reasoning_format(name) is channels]
    return names[0] if names else "another"


def _limits(options: Options) -> Limits:
    """The limits of requests. Raises InvalidRequest for one that isn't there."""
    known = [field.name for field in fields(Limits)]
    for name, value in options.limits.items():
        if name not in known:
            raise InvalidRequest(f"--limits knows no {name!r}: there are {', '.join(known)}", param="limits")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidRequest(f"--limits: {name} must be a number of 1 or more", param="limits")
    return Limits(**options.limits)


# -- the template ---------------------------------------------------------------


def _template(engine: Engine, options: Options, pair: _Pair) -> tuple[str, str]:
    """The template's source and where it comes from."""
    given = options.chat_template
    if given is not None and given != "unbraid":
        return given, "from --chat-template"
    if given == "unbraid":
        return TOOL_TEMPLATE, "unbraid's own with tools"
    source = engine.chat_template
    if source is None:
        if pair.tools in CHATML_TOOLS:
            return TOOL_TEMPLATE, "unbraid's own with tools, for the model carries none"
        raise InvalidRequest(
            "the engine tells no chat template: name the model's folder with --model FOLDER, or a template "
            "with --chat-template FILE"
        )
    if "<|im_start|>" in source and pair.tools in CHATML_TOOLS and not knows_tools(source):
        return TOOL_TEMPLATE, "unbraid's own with tools, for the model's own knows none"
    return source, "the model's own"


def _end_text(options: Options, reasoning: Reasoning | None) -> str | None:
    config = options.reasoning_config or {}
    unknown = set(config) - {"reasoning_start_str", "reasoning_end_str"}
    if unknown:
        raise InvalidRequest(f"--reasoning-config has no field {min(unknown)}")
    end = config.get("reasoning_end_str")
    if end is not None:
        if not isinstance(end, str) or not end:
            raise InvalidRequest("--reasoning-config: reasoning_end_str must be a text")
        return end
    return closing(reasoning)


# -- the report -----------------------------------------------------------------


def _with_report(
    setup: Setup, engine: Engine, pair: _Pair, where: str, switch: Switch | None, odd: list[str]
) -> Setup:
    lines = [
        *_engine_lines(engine),
        f"model: {', '.join(setup.models)}",
        f"reasoning: {pair.reasoning or 'none'}, tool calls: {pair.tools or 'none'} ({pair.why})",
        f"chat template: {where}",
        *_switch_lines(setup, switch),
        *_marker_lines(setup, engine),
        *_tool_lines(setup, engine),
        *_budget_lines(setup),
        "keys: demanded of clients" if setup.keys is not None else "keys: none, whoever reaches it may ask",
        *(f"hint: {one}" for one in (*odd, *_hints(setup))),
        *(f"warning: {one}" for one in _warnings(setup)),
    ]
    return replace(setup, report=tuple(lines))


def _engine_lines(engine: Engine) -> list[str]:
    """What generates, and where."""
    several: tuple[EngineState, ...] | None = getattr(engine, "engines", None)
    if several is not None:
        return [
            f"engine: {one.kind} at {one.url}" if one.healthy else f"engine: {one.url}, not reached yet"
            for one in several
        ]
    product = f"{getattr(engine, 'kind', 'engine')} {getattr(engine, 'version', '')}".strip()
    place = None if product.endswith("process") else getattr(engine, "base_url", None)
    return [f"engine: {product} at {place}" if place else f"engine: {product}"]


def _switch_lines(setup: Setup, switch: Switch | None) -> list[str]:
    reasoning, _, channels = halves(setup.reasoning_parser, None)
    if channels is not None:
        return ["thinking: in messages of its own, always possible"]
    if reasoning is None or switch is None:
        return []
    thinks = switch.on(setup.template_kwargs)
    opened = any(setup.template.opens(one, setup.template_kwargs) for one in reasoning.open.spellings)
    state = "opened by the prompt" if opened else "left to the model" if thinks else "off"
    names = ", ".join(one for one in switch.variables if one != EFFORT)
    by = f"chat_template_kwargs {names}, or {EFFORT}" if names else EFFORT
    turn = f"; a request turns it with {by}" if switch.variables else ""
    return [f"thinking: {state} when a request says nothing{turn}"]


def _marker_lines(setup: Setup, engine: Engine) -> list[str]:
    texts = [one.text for one in markers(setup.reasoning_parser, setup.tool_parser)]
    if not texts:
        return []
    tokenizer = engine.tokenizer
    if tokenizer is None:
        return [
            f"markers: read as text, for the model's vocabulary is not known, {' '.join(texts)}; "
            "--tokenizer FOLDER tells it"
        ]
    if setup.markers == "text":
        return [f"markers: read as text, {' '.join(texts)}"]
    if not engine.capabilities.token_ids:
        return [f"markers: read as text, for the engine sends no token ids, {' '.join(texts)}"]
    tokens = [text for text in texts if tokenizer.token_id(text) is not None]
    plain = [text for text in texts if text not in tokens]
    forced = "" if engine.capabilities.marker_ids else "; text in grammars, which name no token ids here"
    return [
        f"markers: special tokens {' '.join(tokens) or 'none'}; "
        f"ordinary text {' '.join(plain) or 'none'}{forced}"
    ]


def _tool_lines(setup: Setup, engine: Engine) -> list[str]:
    """How demands are held: forced calls, strict tools, and schemas of answers."""
    if setup.tool_parser is None:
        lines = ["tool_choice: auto leaves calls in the content; required and named are refused"]
        what = "response_format"
    else:
        lines = []
        what = "tool_choice required and named, strict tools and response_format"
    dialect = next((one for one in GRAMMARS if one in engine.capabilities.dialects), None)
    level = f"; strict level: {setup.strict_level or 'auto'}" if setup.tool_parser else ""
    if setup.enforce == "off":
        return [*lines, f"{what}: not enforced, for --enforce is off"]
    if dialect is not None:
        how = f"enforced by {GRAMMARS[dialect]} from the first token, thinking included"
        rest = ", else checked" if setup.enforce == "check" else ""
        return [*lines, f"{what}: {how}{rest}{level}"]
    if setup.enforce == "check":
        return [*lines, f"{what}: checked in the finished answer, for the engine takes no grammar{level}"]
    return [
        *lines,
        f"{what}: refused, for the engine takes no grammar; --enforce check checks the finished answer",
    ]


def _budget_lines(setup: Setup) -> list[str]:
    if setup.budget is None:
        return []
    if setup.end_text is None:
        return ["thinking budget: not possible without a text that ends thinking"]
    return [
        f"thinking budget: {setup.budget} tokens when a request says nothing, ended by {setup.end_text!r}"
    ]


def _hints(setup: Setup) -> list[str]:
    if setup.tool_parser is not None and not knows_tools(setup.template.source):
        return ["the chat template doesn't show tools to the model; --chat-template unbraid does"]
    return []


def _warnings(setup: Setup) -> list[str]:
    """What will be misread: thinking that the prompt opens, and that nobody reads."""
    if setup.reasoning_parser is not None or setup.tool_parser in HARMONY:
        return []
    with suppress(InvalidRequest):
        prompt = setup.template.render(PROBE, kwargs=setup.template_kwargs)
        return [
            f"{one.message}: {reasoning_cure(one.marker, setup.tool_parser)}"
            for one in check_prompt(None, prompt)
        ]
    return []
