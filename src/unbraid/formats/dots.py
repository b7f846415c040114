"""dots: calls as elements in a section, or as one JSON object in it."""

from unbraid.syntax import Calls, Choice, Envelope, Section, Tools, any_space, invoke, lit

TOOLS = Tools(
    call=Calls((Choice((invoke(any_quote=True).parts, (Envelope(),))),)),
    section=Section(lit("<dots_function_call>"), lit("</dots_function_call>"), pad="\n", noise=False),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("<|endofresponse|>", "<|im_end|>"),
    models=("dots.llm", "dots.vlm"),
)
