"""Kimi K3: elements between special tokens; values with their types, the answer in an element of its own."""

from unbraid.syntax import (
    ATTRIBUTE,
    Answer,
    Calls,
    Choice,
    Json,
    Name,
    Pairs,
    Reasoning,
    Section,
    Switch,
    Tools,
    TypeTag,
    Word,
    Ws,
    lit,
)

STEMS = ("<|open|>", "<|close|>")
ENDS = ("<|close|>message<|sep|>", "<|end_of_msg|>")

ANSWER = Answer(
    open=lit("<|open|>response<|sep|>", "<|open|> response <|sep|>"),
    close=lit("<|close|>response<|sep|>", "<|close|> response <|sep|>"),
    written="empty",
    end=lit("<|close|>message<|sep|>"),
)

REASONING = Reasoning(
    open=lit("<|open|>think<|sep|>", "<|open|> think <|sep|>"),
    close=lit("<|close|>think<|sep|>", "<|close|> think <|sep|>"),
    opened_by="either",
    tools_inside="end",
    ends_at=("<|open|>tools<|sep|>",),
    switch=Switch(("thinking", "enable_thinking"), default=True),
    turns=('<|open|>message role="assistant"<|sep|>', "<|end_of_msg|>"),
    dropped=ENDS,
    stems=STEMS,
    empty_when_off="<|open|>response<|sep|>",
    answer=ANSWER,
    models=("Kimi-K3",),
)

CLOSE = lit("<|close|>call<|sep|>")

TOOLS = Tools(
    section=Section(lit("<|open|>tools<|sep|>"), lit("<|close|>tools<|sep|>"), bare=True),
    call=Calls(
        (
            lit('<|open|>call tool="'),
            Name(r"[^\"\s]", entities=ATTRIBUTE),
            lit('" index="'),
            Word("{number}"),
            lit('"<|sep|>'),
            Choice(
                (
                    (
                        Pairs(
                            open=lit('<|open|>argument key="'),
                            middle=(
                                lit('"'),
                                TypeTag(
                                    open=lit(' type="'),
                                    words=(
                                        ("string", "string"),
                                        ("number", "number"),
                                        ("boolean", "boolean"),
                                        ("null", "null"),
                                        ("object", "object"),
                                        ("array", "array"),
                                    ),
                                    close=lit('"'),
                                    absent="string",
                                ),
                                lit("<|sep|>"),
                            ),
                            close=lit("<|close|>argument<|sep|>"),
                            key_chars=r"[^\"\n]",
                            early=('<|open|>argument key="', "<|close|>call<|sep|>"),
                            entities=ATTRIBUTE,
                        ),
                        CLOSE,
                    ),
                    (
                        lit('<|open|>json type="object"<|sep|>'),
                        Ws(),
                        Json(),
                        Ws(),
                        lit("<|close|>json<|sep|>"),
                        CLOSE,
                    ),
                )
            ),
        )
    ),
    dropped=ENDS,
    stems=STEMS,
    answer=ANSWER,
    models=("Kimi-K3",),
)
