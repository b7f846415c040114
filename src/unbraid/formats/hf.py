"""Response templates: the plain one of ChatML, for tokenizers that carry none of their own."""

from unbraid.syntax import Content, Field, ResponseTemplate, lit, token

HF = ResponseTemplate(
    fields=(
        Field("reasoning", lit("<think>"), lit("</think>")),
        Field("content", close=token("<|im_end|>")),
        Field(
            "call",
            lit("<tool_call>"),
            lit("</tool_call>"),
            Content("json"),
            '{"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}',
            repeats=True,
        ),
    ),
    anchor=lit("<|im_start|>assistant\n"),
    models=("Kolibri-1, and any tokenizer with a response_template",),
)
