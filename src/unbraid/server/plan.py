"""From a normalised request to a job: prompt, parser, constraint, thinking budget.

Everything that can be refused without generating is refused here.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from unbraid.engines.base import Constraint, Dialect, Engine, Generation
from unbraid.engines.sandbox import REQUESTED
from unbraid.engines.template import ChatTemplate
from unbraid.errors import InvalidRequest, Unsupported
from unbraid.pair import halves
from unbraid.parser import Parser
from unbraid.prompts import prompt_state
from unbraid.server.affinity import affinity_of
from unbraid.server.held import check_patterns
from unbraid.server.limits import check_limits, check_names
from unbraid.server.normal import Ask
from unbraid.server.setup import Setup, StrictLevel
from unbraid.server.vocabulary import closing
from unbraid.wire.errors import ApiError

__all__ = ["Budget", "Job", "check_model", "plan"]

MAX_WHITE = 8
"""White space in a row that a grammar allows; formats write two characters at most."""

_SCHEMA = ("response_schema", "response_format.json_schema.schema")
_TOOL_PATH = re.compile(r"tools\[([0-9]+)\]")

Enforced = Literal["grammar", "check", "off", "none"]
ThinkingState = Literal["open", "closed", "optional", "off"]


@dataclass(frozen=True)
class Budget:
    """At most ``tokens`` of thinking; then ``end_text`` and what follows under ``constraint``."""

    tokens: int
    end_text: str
    constraint: Constraint | None


@dataclass(frozen=True)
class Job:
    """A request that is ready to run: each choice is one stream of ``parser``.

    ``id`` is the answer's, without the prefix that an API gives it; ``request_id`` the one in the logs.
    ``patience`` is how many seconds the engine may be silent.
    ``enforced`` says what holds the output to what was demanded: a ``grammar``, a ``check`` of the finished
    answer, nothing (``off``); ``none`` when nothing was demanded. ``level`` is how strictly calls are held.
    ``prompt_token_ids`` are known where the request wants them or their number.
    """

    id: str
    request_id: str
    created: int
    model: str
    ask: Ask
    parser: Parser
    generation: Generation
    budget: Budget | None
    foreign_ends: frozenset[int]
    alias: bool
    patience: float
    enforced: Enforced
    level: StrictLevel
    prompt_token_ids: list[int] | None = None
    wire_safe: bool = False

    @property
    def shows_reasoning(self) -> bool:
        """Whether answers have a field for thinking."""
        return self.parser.reasoning_parser is not None and self.ask.include_reasoning

    @property
    def hides_tokens(self) -> bool:
        """Whether log probabilities and ids would give away thinking that is to be hidden."""
        return self.parser.reasoning_parser is not None and not self.ask.include_reasoning


def check_model(name: str | None, setup: Setup) -> str:
    """The model's name, or a 404 for one that is not served."""
    if name is None:
        return setup.models[0]
    if name not in setup.models:
        known = ", ".join(setup.models)
        raise ApiError(
            404, f"the model {name!r} does not exist here: {known}", code="model_not_found", param="model"
        )
    return name


def plan(ask: Ask, setup: Setup, engine: Engine, request_id: str) -> Job:
    """Make a request ready. Raises ApiError, InvalidRequest or Unsupported for what can't be done."""
    model = check_model(ask.model, setup)
    check_limits(ask, setup.limits)
    check_names(ask.tools.shown, setup.reasoning_parser, setup.tool_parser)
    kwargs = template_kwargs(ask, setup)
    prompt = _prompt(ask, kwargs, setup, engine)
    options = _parser_options(ask, kwargs, prompt, setup, engine)
    parser = Parser(**options)
    constraint, after = None, None
    enforced = _enforced(ask, setup)
    if enforced in ("grammar", "check"):
        try:
            made = _constrain(ask, setup, engine, parser, parser.plan.thinking, prompt)
            constraint = _sized(_exported(made, engine, ask), setup)
        except Unsupported:
            if enforced == "grammar":
                raise
            check_patterns(ask, setup.strict_level or "auto")
        else:
            enforced = "grammar"
            parser = Parser(**{**options, "constrained": True, "markers": made.markers})
    limit, end_text = _budget(ask, setup, parser), _end_text(setup, parser)
    if limit is not None and constraint is not None:
        made = _constrain(ask, setup, engine, parser, "closed", prompt)
        after = _sized(_exported(made, engine, ask), setup)
    affinity = affinity_of(
        ask.messages, ask.tools.shown, prompt_cache_key=ask.prompt_cache_key, user=ask.user
    )
    generation = Generation(prompt, ask.sampling, constraint, ask.logprobs, request_id, affinity)
    return Job(
        id=secrets.token_hex(16),
        request_id=request_id,
        created=int(time.time()),
        model=model,
        ask=ask,
        parser=parser,
        generation=generation,
        budget=None if limit is None or end_text is None else Budget(limit, end_text, after),
        foreign_ends=setup.foreign_ends,
        alias=setup.alias,
        patience=setup.engine_timeout,
        enforced=enforced,
        level=setup.strict_level or "auto",
        prompt_token_ids=_prompt_ids(ask, prompt, engine),
        wire_safe=setup.wire_safe,
    )


def _prompt_ids(ask: Ask, prompt: str, engine: Engine) -> list[int] | None:
    """The prompt's tokens, where the request wants them or their number."""
    wanted = ask.return_token_ids or ask.counts_prompt
    return engine.tokenizer.encode(prompt) if wanted and engine.tokenizer is not None else None


def template_kwargs(ask: Ask, setup: Setup) -> dict[str, Any]:
    """The template's variables: the server's, the request's, and what its thinking and its effort mean."""
    kwargs = {**setup.template_kwargs, **ask.template_kwargs}
    on = ask.thinking
    effort = None if ask.effort is None else setup.effort_map.get(ask.effort, ask.effort)
    if effort is not None:
        kwargs.setdefault("reasoning_effort", effort)
        on = effort != "none" if on is None else on
    if on is None:
        return kwargs
    turned = {"enable_thinking": on, **(setup.switch.turned(on) if setup.switch else {})}
    if on and effort is not None:
        turned.pop("reasoning_effort", None)
    if not turned.keys() & ask.template_kwargs.keys():
        kwargs.update(turned)
    return kwargs


def _prompt(ask: Ask, kwargs: Mapping[str, Any], setup: Setup, engine: Engine) -> str:
    template = setup.template
    if ask.template is not None:
        if not setup.trust_template:
            raise InvalidRequest(
                "this server takes no template from a request: start it with --trust-request-chat-template",
                param="chat_template",
            )
        template = ChatTemplate(ask.template, engine.template_variables, REQUESTED)
    hidden = ask.tools.choice == "none" and setup.hide_unused_tools
    return template.render(
        ask.messages,
        None if hidden else ask.tools.shown,
        kwargs,
        add_generation_prompt=ask.add_generation_prompt,
        continue_final_message=ask.continue_final_message,
    )


def _parser_options(
    ask: Ask, kwargs: Mapping[str, Any], prompt: str, setup: Setup, engine: Engine
) -> dict[str, Any]:
    return {
        "reasoning_parser": setup.reasoning_parser if setup.format is None else None,
        "tool_parser": setup.tool_parser,
        "format": setup.format,
        "tools": ask.tools.callable,
        "tool_choice": ask.tools.choice,
        "parallel_tool_calls": ask.parallel_tool_calls,
        "chat_template_kwargs": kwargs,
        "prompt": prompt,
        "tokenizer": engine.tokenizer if engine.capabilities.token_ids else None,
        "include_reasoning": ask.include_reasoning,
        "markers": setup.markers,
        "history_calls": ask.history_calls,
        "constrained": False,
        "spans": True,
    }


# -- constraint ---------------------------------------------------------------


def _enforced(ask: Ask, setup: Setup) -> Enforced:
    """How the server wants the request's demands held, ``none`` when it makes none."""
    return setup.enforce if _demands(ask, setup) else "none"


def _demands(ask: Ask, setup: Setup) -> bool:
    tools = ask.tools
    if (
        tools.choice != "none"
        and setup.tool_parser is None
        and (tools.forced or tools.limited or tools.strict)
    ):
        raise InvalidRequest(
            "this tool_choice needs a tool parser: start the server with --tool-call-parser NAME",
            param="tool_choice",
        )
    offered = tools.choice != "none" and setup.tool_parser is not None
    strict = offered and (tools.strict or setup.strict_level in ("function", "parameter"))
    return ask.schema is not None or tools.forced or tools.limited or strict


def _constrain(
    ask: Ask, setup: Setup, engine: Engine, parser: Parser, thinking: ThinkingState, prompt: str
) -> Any:
    from unbraid.constrain import constrain

    level = setup.strict_level or "auto"
    with _paths_of_the_request(ask):
        made = constrain(
            parser.reasoning_parser,
            parser.tool_parser,
            tools=ask.tools.callable,
            tool_choice=ask.tools.choice,
            parallel_tool_calls=ask.parallel_tool_calls,
            thinking=thinking,
            strict_level="function" if ask.tools.limited and level == "auto" else level,
            response_schema=ask.schema,
            tokenizer=engine.tokenizer,
            markers=setup.markers if engine.capabilities.marker_ids else "text",
            max_white=MAX_WHITE,
            max_string=setup.max_string,
            bound_raw=_dialect(engine) != "gbnf",
            label=thinking == "open" and _label_to_come(parser, prompt),
        )
    if made is None:
        raise Unsupported("this request can't be enforced by a grammar", param="tool_choice")
    return made


@contextmanager
def _paths_of_the_request(ask: Ask) -> Iterator[None]:
    """A refusal names what is wrong as the request does.

    The answer's schema has another name there, and the tools that may be called may be only some of it.
    """
    try:
        yield
    except InvalidRequest as error:
        message, param = error.message, error.param or ""
        found = _TOOL_PATH.match(param)
        if param.startswith(_SCHEMA[0]):
            old, new = _SCHEMA
        elif found:
            tool = ask.tools.callable[int(found[1])]
            at = next(n for n, one in enumerate(ask.tools.shown) if one is tool)
            old, new = found[0], f"tools[{at}]"
        else:
            raise
        raise type(error)(message.replace(old, new, 1), param=param.replace(old, new, 1)) from error


def _label_to_come(parser: Parser, prompt: str) -> bool:
    """Whether the prompt opened thinking without the label that stands behind the opener."""
    reasoning, _, _ = halves(parser.reasoning_parser, None)
    return reasoning is not None and prompt_state(reasoning, prompt).label


def _sized(constraint: Constraint, setup: Setup) -> Constraint:
    """The constraint. Raises Unsupported for one that is larger than an engine should be given."""
    most = setup.limits.grammar_chars
    if len(constraint.grammar) > most:
        raise Unsupported(
            f"the grammar for these tools and schemas is larger than {most} characters", param="tools"
        )
    return constraint


def _dialect(engine: Engine) -> Dialect | None:
    """The dialect in which the engine gets a grammar of the whole output, thinking included."""
    whole = ("llguidance", "structural_tag", "gbnf")
    return next((one for one in engine.capabilities.dialects if one in whole), None)


def _exported(constraint: Any, engine: Engine, ask: Ask) -> Constraint:
    """A constraint in a dialect of the engine."""
    dialect = _dialect(engine)
    if dialect == "llguidance":
        return Constraint("llguidance", constraint.lark())
    if dialect == "structural_tag":
        return Constraint("structural_tag", json.dumps(constraint.structural_tag()))
    if dialect == "gbnf":
        return Constraint("gbnf", constraint.gbnf())
    dialects = engine.capabilities.dialects
    can = f"only {', '.join(dialects)}" if dialects else "none"
    raise Unsupported(
        f"this request must be enforced by a grammar, and the engine {engine.model} takes {can}: "
        "use tool_choice auto without strict tools or a schema for the answer, an engine with grammars, or "
        "a server started with --enforce check",
        param="response_format" if ask.tools.choice == "none" else "tool_choice",
    )


# -- thinking budget ----------------------------------------------------------


def _end_text(setup: Setup, parser: Parser) -> str | None:
    """What ends thinking whose budget is spent: the variant's own closing, unless another text was set."""
    if setup.end_text != closing(halves(setup.reasoning_parser, None)[0]):
        return setup.end_text
    return closing(halves(parser.reasoning_parser, None)[0])


def _budget(ask: Ask, setup: Setup, parser: Parser) -> int | None:
    """The tokens of thinking that the request may spend, None for no limit."""
    limit = setup.budget if ask.budget is None else ask.budget
    if ask.thinking is False:
        limit = 0
    if limit is None or limit < 0:
        return None
    if setup.end_text is None:
        if ask.budget is None:
            return None
        raise InvalidRequest(
            "this server knows no end of thinking: use --reasoning-parser NAME or --reasoning-config",
            param="thinking_token_budget",
        )
    return limit if parser.plan.thinking in ("open", "optional") else None


def seeded(generation: Generation, index: int) -> Generation:
    """The generation of choice ``index``: with a seed each choice gets another one."""
    seed = generation.sampling.seed
    if seed is None or index == 0:
        return generation
    return replace(generation, sampling=replace(generation.sampling, seed=seed + index))
