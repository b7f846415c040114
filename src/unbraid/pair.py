"""A pair of names: the declarations that they mean."""

from __future__ import annotations

from unbraid.errors import IncompatiblePair, InvalidRequest
from unbraid.formats import names_of, preset, reasoning_format, tool_format
from unbraid.machine.setup import told_by_id
from unbraid.response.load import carried_template, given_template
from unbraid.syntax import Joint, Reasoning, ResponseTemplate, Switch, Tools
from unbraid.tokens import Tokenizer

__all__ = ["declared_markers", "halves", "read_pair", "with_family"]


def with_family(
    name: str | None, reasoning: str | None, tools: str | None
) -> tuple[str | None, str | None, Switch | None]:
    """The halves that a family and the names beside it mean, and the family's switch if it has one.

    A reasoning half that is named has its own switch. Raises UnknownParser.
    """
    if name is None:
        return reasoning, tools, None
    family = preset(name)
    switch = family.switch if reasoning is None else None
    return (
        family.reasoning if reasoning is None else reasoning,
        family.tools if tools is None else tools,
        switch,
    )


def halves(
    reasoning_name: str | None, tool_name: str | None, template: object = None
) -> tuple[Reasoning | None, Tools | None, Joint | None]:
    """The declarations behind two names: a reasoning and a tools half, or one format that is both.

    ``template`` stands for the response template of these names, if they mean one.

    Raises UnknownParser, BrokenFormat, IncompatiblePair for a pair that makes no sense, or
    InvalidRequest for a template that is wrong.
    """
    reasoning = reasoning_format(reasoning_name) if reasoning_name is not None else None
    tools = tool_format(tool_name) if tool_name is not None else None
    if isinstance(reasoning, Joint) or isinstance(tools, Joint):
        if reasoning is not None and tools is not None and reasoning is not tools:
            both, kind = (
                (reasoning_name, "tools") if isinstance(reasoning, Joint) else (tool_name, "reasoning")
            )
            own = " or ".join(names_of(kind, reasoning if kind == "tools" else tools))
            raise IncompatiblePair(
                f"--reasoning-parser {reasoning_name} and --tool-call-parser {tool_name} cannot be combined: "
                f"{both} reads thinking and calls at once and pairs only with {own or 'no other half'}",
                param="tool_parser",
            )
        joint = reasoning if isinstance(reasoning, Joint) else tools
        assert isinstance(joint, Joint)
        if template is not None and isinstance(joint, ResponseTemplate):
            joint = given_template(joint, template, reasoning_name is not None, tool_name is not None)
        return None, None, joint
    return reasoning, tools, None


def read_pair(
    reasoning_name: str | None,
    tool_name: str | None,
    response_template: object = None,
    tokenizer: Tokenizer | None = None,
) -> tuple[Reasoning | None, Tools | None, Joint | None]:
    """The halves as a request has them: with the response template that is given, or else carried.

    Raises as ``halves``, and InvalidRequest where a template is given and these names read none.
    """
    template = carried_template(tokenizer) if response_template is None else response_template
    found = halves(reasoning_name, tool_name, template)
    if response_template is not None and not isinstance(found[2], ResponseTemplate):
        raise InvalidRequest(
            "a response template is read by hf or beam: name one of them as parser", param="response_template"
        )
    return found


def declared_markers(reasoning_parser: str | None, tool_parser: str | None) -> list[str]:
    """The markers of a pair that its family's tokenizers always hold as one special token."""
    found = told_by_id(*halves(reasoning_parser, tool_parser))
    return list(dict.fromkeys(text for one in found if one.special for text in one.spellings))
