"""Beam: messages of a Harmony-like format, told as a response template."""

from unbraid.syntax import Content, Field, Pattern, ResponseTemplate, lit

BEAM = ResponseTemplate(
    fields=(
        Field(
            "reasoning",
            lit("<|channel|>analysis<|message|>"),
            lit("<|end|><|start|>assistant"),
        ),
        Field(
            "content",
            lit("<|channel|>final<|message|>"),
            lit("<|return|>", "<|end|>", "<|call|>"),
        ),
        Field(
            "call",
            Pattern(r" to=(?P<name>[^\s<]+)<\|channel\|>analysis <\|constrain\|>xml<\|message\|>"),
            lit("<|end|><|start|>assistant", "<|call|>"),
            Content(
                "xml-inline",
                tag=Pattern(
                    r'<rfl:parameter name="(?P<key>[^"]+)">\n(?P<value>.*?)\n'
                    r'(?:</rfl:parameter>|(?=<rfl:parameter name="))'
                ),
            ),
            '{"function": {"name": "{name}", "arguments": "{content}"}}',
            repeats=True,
        ),
    ),
    anchor=Pattern(r"<\|start\|>assistant"),
    demands_thinking=True,
    models=("Beam",),
)
