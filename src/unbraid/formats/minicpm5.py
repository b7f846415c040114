"""MiniCPM 5: calls as XML elements; the tokenizer's glyphs for white space are read inside tags."""

from unbraid.syntax import Calls, Name, Pairs, Tools, Ws, any_space, lit, optional

TOOLS = Tools(
    call=Calls(
        (
            lit(
                '<function name="',
                '<functionname="',
                '<functionĠname="',
                "<function name='",
                "<functionname='",
                "<functionĠname='",
            ),
            Name(),
            lit('">', '">Ċ', "'>", "'>Ċ"),
            Ws(),
            optional("<arguments>", written=False),
            Ws(),
            Pairs(
                open=lit(
                    '<param name="',
                    '<paramname="',
                    '<paramĠname="',
                    "<param name='",
                    "<paramname='",
                    "<paramĠname='",
                ),
                middle=(lit('">', "'>"),),
                close=lit("</param>", "</param>Ċ"),
                key_chars=r"[^<>\n\"']",
                early=('<param name="', "<param name='", "</function>"),
                wrappers=("arguments", "properties"),
                xml=True,
                declared=True,
            ),
            optional("</arguments>", written=False),
            Ws(),
            lit("</function>", "</function>Ċ"),
        ),
        atomic=True,
        needs_required=True,
    ),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("<|im_end|>",),
    models=("MiniCPM5",),
)
