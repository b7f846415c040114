"""SGLang's names for parsers, and the names here of the formats that they read.

A name that vLLM has too means vLLM's format; ``sglang:NAME`` is SGLang's meaning of any of these names.
"""

TOOLS = {
    "deepseekv3": "deepseek_v3",
    "deepseekv31": "deepseek_v31",
    "gemma4": "gemma4",
    "gigachat3": "gigachat3",
    "glm": "glm45",
    "glm45": "glm45",
    "glm47": "glm47",
    "gpt-oss": "openai",
    "hermes": "hermes",
    "interns1": "internlm",
    "kimi_k2": "kimi_k2",
    "lfm2": "lfm2",
    "llama3": "llama3_json",
    "mimo": "mimo",
    "mistral": "mistral",
    "nanbeige": "qwen3_coder",
    "pythonic": "pythonic",
    "qwen": "hermes",
    "qwen25": "hermes",
    "qwen3_coder": "qwen3_coder",
    "step3p5": "step3p5",
}

REASONING = {
    "deepseek-r1": "deepseek_r1",
    "deepseek-v3": "deepseek_v3",
    "dots": "qwen3",
    "gemma4": "gemma4",
    "glm45": "glm45",
    "gpt-oss": "openai_gptoss",
    "granite_thinking_parser": "granite_thinking_parser",
    "interns1": "qwen3",
    "kimi": "kimi",
    "kimi_k2": "kimi_k2",
    "mimo": "mimo",
    "mistral": "mistral",
    "nanbeige": "qwen3",
    "nemotron_3": "nemotron_v3",
    "qwen3": "qwen3",
    "qwen3-thinking": "qwen3_thinking",
    "step3p5": "step3p5",
}
