"""Calls and arguments that several families write alike but for a few markers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from unbraid.syntax.halves import Calls
from unbraid.syntax.parts import Choice, Envelope, Json, Name, Nothing, Pairs, TypeTag, Ws
from unbraid.syntax.text import NAME_CHARS, UNQUOTED, Lit, lit

__all__ = ["arg_pairs", "function_call", "invoke"]


def invoke(
    prefix: str = "",
    *,
    tag: TypeTag | None = None,
    any_quote: bool = False,
    gap: str = "\n",
    empty: str = "",
    wrappers: tuple[str, ...] = (),
    twice: str = "",
) -> Calls:
    """A call as elements: ``<invoke name="N">``, ``<parameter name="K">V</parameter>`` …, ``</invoke>``.

    ``prefix`` stands before both elements' names, ``gap`` behind every tag but the
    parameter's opener. ``tag``: the attribute that tells a value's type; ``any_quote``: names
    also stand between single quotes or none. ``empty`` and ``wrappers`` are as in ``Pairs``,
    ``twice`` as in ``Name``. An element that closes itself has no arguments, and a JSON object
    may stand in place of the parameters.
    """
    quotes = ('"', "'", "") if any_quote else ('"',)
    close = lit(f"</{prefix}invoke>")
    opener = lit(*(f"<{prefix}parameter name={quote}" for quote in quotes))
    ends = tuple(f"{quote}>" for quote in quotes)
    pairs = Pairs(
        open=opener,
        middle=(lit(*ends),) if tag is None else (lit('"'), tag, lit(">")),
        close=lit(f"</{prefix}parameter>"),
        gap=gap,
        key_chars=r"[^\"'<>\n]" if any_quote else r"[^\"<>\n]",
        early=(*(f"{gap}{one}" for one in opener.spellings), f"\n{close.text}", close.text),
        empty=empty,
        wrappers=wrappers,
    )
    body = Choice(((pairs, close), (Json(), Ws(), close)))
    alone = lit(*(f"{quote}{white}/>" for quote in quotes for white in ("", " ")))
    return Calls(
        (
            lit(*(f"<{prefix}invoke name={quote}" for quote in quotes)),
            Name(UNQUOTED if any_quote else NAME_CHARS, twice=twice),
            Choice(((lit(*ends), Ws(gap), body), (alone, Nothing()))),
        )
    )


def function_call(
    open: Lit, close: Lit, *, gap: str = "\n", pad: str = "", words: Literal["json", "python"] = "python"
) -> Calls:
    """A call as Qwen3-Coder's: ``<function=N>``, ``<parameter=K>V</parameter>`` …, ``</function>``.

    It stands between ``open`` and ``close``, which models leave out; a JSON envelope may stand in its
    place. ``gap`` stands behind every tag but the parameter's opener, ``pad`` and ``words`` are as in
    ``Pairs``.
    """
    pairs = Pairs(
        open=lit("<parameter="),
        middle=(lit(">"),),
        close=lit("</parameter>"),
        gap=gap,
        pad=pad,
        early=(f"{gap}<parameter=", f"{gap}</function>"),
        words=words,
    )
    tagged = (lit("<function="), Name(), lit(">"), Ws(gap), pairs, lit("</function>"), Ws(gap))
    body = Choice(((*tagged, replace(close, optional=True)), (Envelope(), Ws(gap), close)))
    return Calls((replace(open, optional=True), Ws(gap), body))


def arg_pairs(end: str, gap: str = "", *, prefix: str = "", tag: TypeTag | None = None) -> Pairs:
    """Arguments as ``<arg_key>K</arg_key>``, ``<arg_value>V</arg_value>`` …, up to ``end``, the call's own.

    ``prefix`` stands before every element's name, ``gap`` behind every closing tag. ``tag``: the
    element between key and value that tells the value's type.
    """
    typed = () if tag is None else (tag, Ws(gap))
    return Pairs(
        open=lit(f"<{prefix}arg_key>"),
        middle=(lit(f"</{prefix}arg_key>"), Ws(gap), *typed, lit(f"<{prefix}arg_value>")),
        close=lit(f"</{prefix}arg_value>"),
        gap=gap,
        early=(f"<{prefix}arg_key>", end),
    )
