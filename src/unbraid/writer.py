"""The writer: the text that a model would write for a message, from the same declaration as the parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid import validate
from unbraid.inline import separated
from unbraid.message import Message, ToolCall
from unbraid.pair import with_family
from unbraid.prompts import PromptState
from unbraid.syntax import NO_SPACE, Answer, Channels, Reasoning, Space
from unbraid.writing.calls import write_calls
from unbraid.writing.channels import write_channels
from unbraid.writing.pair import Pair, fail, make_pair, start_state
from unbraid.writing.response import write_response
from unbraid.writing.strands import check_content, check_reasoning

__all__ = ["write"]


def write(
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    message: Message | None = None,
    *,
    format: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    thinking: str | PromptState = "absent",
    history_calls: int = 0,
    end: bool = False,
    response_template: object = None,
) -> str:
    """The text of ``message`` in the format's canonical spelling.

    Args:
        reasoning_parser, tool_parser, format: names as for ``Parser``.
        message: what is to be written; its ids are kept where the format writes ids of their shape.
        tools: tools in OpenAI's shape, None when unknown; their schemas decide what raw values mean.
        thinking: what the prompt wrote: ``open`` (the opener and its framing), ``closed``, ``absent``,
            or the state that ``prompt_state`` found.
        history_calls: calls of earlier turns, for ids that count on.
        end: whether to add the turn's end.
        response_template: as for ``Parser``.

    Raises:
        Inexpressible: the format can't carry this message; the reason names the part.
        UnknownParser, BrokenFormat, IncompatiblePair, InvalidRequest: as ``Parser``; the last also for
            a message that holds a value of a wrong type.
    """
    message = _checked(message)
    validate.count("history_calls", history_calls)
    validate.flag("end", end)
    reasoning_parser, tool_parser, _ = with_family(format, reasoning_parser, tool_parser)
    pair = make_pair(reasoning_parser, tool_parser, tools, response_template)
    state = start_state(thinking, pair.reasoning)
    if isinstance(pair.joint, Channels):
        return write_channels(pair, pair.joint, message, state, history_calls, end)
    if pair.joint is not None:
        return write_response(pair, pair.joint, message, state, end)
    if pair.reasoning is not None and pair.reasoning.inline:
        found = separated(message, pair.reasoning, state.thinking == "open")
        if isinstance(found, str):
            raise fail("reasoning" if message.reasoning else "content", found)
        message = found
    return _write_tags(pair, message, state, history_calls, end)


def _checked(message: object) -> Message:
    """The message; refuses what is none, or a part of a wrong type by its path."""
    validate.instance("message", message, Message, "a Message")
    assert isinstance(message, Message)
    validate.text("message.reasoning", message.reasoning, optional=True)
    validate.text("message.content", message.content, optional=True)
    validate.instance("message.tool_calls", message.tool_calls, (list, tuple), "a list of ToolCall")
    for n, call in enumerate(message.tool_calls):
        path = f"message.tool_calls[{n}]"
        validate.instance(path, call, ToolCall, "a ToolCall")
        for name in ("id", "name", "arguments"):
            validate.text(f"{path}.{name}", getattr(call, name))
        validate.flag(f"{path}.complete", call.complete)
    return message


def _write_tags(pair: Pair, message: Message, state: PromptState, history_calls: int, end: bool) -> str:
    reasoning, content = message.reasoning or "", message.content or ""
    if reasoning and pair.reasoning is None:
        raise fail("reasoning", "no reasoning parser is named")
    if message.tool_calls and pair.tools is None:
        raise fail("tool_calls", "no tools are offered, or no tool parser is named")
    behind = bool(content and message.tool_calls and _content_behind(pair))
    answers = bool(content) and not behind
    block, after = _thinking(pair, reasoning, state, called=bool(message.tool_calls), answers=answers)
    begin = "" if block else _begin(pair, state)
    calls = ""
    if message.tool_calls:
        assert pair.tools is not None
        before: Space | None = pair.tools.before if answers else pair.tools.before_bare
        if before is not None and not answers:
            begin = ""
        calls = (before or NO_SPACE).text + write_calls(pair, message.tool_calls, history_calls)
    turn_end = _turn_end(pair, framed=bool(content) and (behind or not calls), end=end)
    if behind:
        if not content.strip():
            raise fail("content", "white space that stands alone is framing")
        check_content(pair, content, "", block=bool(block), after=NO_SPACE, end=turn_end)
        return block + after.text + begin + calls + content + turn_end
    opening, closing = _around(
        pair.setup.answer, content, called=bool(calls), opened=state.answer and not block
    )
    if content:
        check_content(pair, content, closing + calls, block=bool(block), after=after, end=turn_end)
    return block + after.text + begin + opening + content + closing + calls + turn_end


def _thinking(
    pair: Pair, reasoning: str, state: PromptState, *, called: bool, answers: bool
) -> tuple[str, Space]:
    """The block of thinking, and the framing behind it; ``answers``: content follows it."""
    half = pair.reasoning
    if half is None or not (reasoning or _writes_empty(half, state, called=called)):
        return "", state.after
    if reasoning:
        check_reasoning(pair, half, reasoning, state)
    after = half.after if answers or half.after_in != "answer" else NO_SPACE
    return _block(half, reasoning, state), after


def _begin(pair: Pair, state: PromptState) -> str:
    """The framing at the beginning of an output without thinking."""
    alone = state.thinking == "absent" or pair.reasoning is None
    return pair.setup.begin.text if alone else ""


def _turn_end(pair: Pair, *, framed: bool, end: bool) -> str:
    """What stands behind the message: the answer's end, the framing of content, the turn's end."""
    answer = pair.setup.answer
    text = answer.end.text if answer is not None and answer.end is not None else ""
    text += pair.setup.end.text if framed else ""
    return text + (pair.setup.dropped[0] if end and pair.setup.dropped else "")


def _content_behind(pair: Pair) -> bool:
    """Whether content beside calls is written behind them."""
    return pair.tools is not None and pair.tools.content == "behind" and pair.setup.answer is None


def _around(answer: Answer | None, content: str, *, called: bool, opened: bool) -> tuple[str, str]:
    """The markers of the answer where they are written; ``opened``: the prompt wrote the opener."""
    if answer is None:
        return "", ""
    closing = answer.trail.text + answer.close.text
    if opened:
        return "", closing
    wanted = {"always": bool(content), "empty": True, "alone": bool(content) and not called, "calls": called}
    return (answer.open.text + answer.lead.text, closing) if wanted[answer.written] else ("", "")


def _writes_empty(half: Reasoning, state: PromptState, *, called: bool) -> bool:
    """Whether a message without thinking has an empty block: to close it, or because templates write one."""
    if state.thinking == "absent":
        if called and half.empty_before_calls:
            return True
        return half.bare_close or (half.opened_by != "output" and half.open.text in half.empty_when_off)
    return state.thinking == "open"


def _empty(half: Reasoning, *, written: bool) -> str:
    """What stands in a block without thinking, less the framing that the prompt has ``written``."""
    inside = half.empty_when_off.partition(half.close.text)[0].partition(half.open.text)[2]
    inside = inside.removeprefix(half.label)
    return inside.removeprefix(half.lead.text) if written else inside


def _block(half: Reasoning, text: str, state: PromptState) -> str:
    """A block of thinking, without what the prompt wrote of it."""
    if not text and half.bare_close and state.thinking == "absent":
        return half.close.text
    if state.thinking == "open":
        opening = half.label if state.label else ""
        lead = half.lead.text if state.lead or state.label else ""
        if not text and half.close.text in half.empty_when_off:
            return opening + _empty(half, written=not lead) + half.close.text
        opening += lead
    else:
        opening = half.before.text + half.open.text + half.label + half.lead.text
    return opening + text + half.trail.text + half.close.text
