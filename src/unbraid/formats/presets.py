"""Model families, and the pair of halves that each writes: what ``format=`` takes.

A switch here stands for the half's where the family's templates have another default.
"""

from unbraid.syntax import Preset, Switch

PRESETS = {
    "deepseek-r1": Preset("deepseek_r1", "deepseek_v3", models=("DeepSeek-R1", "R1-0528", "R1-Distill")),
    "deepseek-v3": Preset(None, "deepseek_v3", models=("DeepSeek-V3", "DeepSeek-V3-0324")),
    "deepseek-v3.1": Preset("deepseek_v3", "deepseek_v31", models=("DeepSeek-V3.1", "DeepSeek-V3.2-Exp")),
    "deepseek-v3.2": Preset("deepseek_v3", "deepseek_v32", models=("DeepSeek-V3.2",)),
    "deepseek-v4": Preset(
        "deepseek_v4",
        "deepseek_v4",
        models=(
            "DeepSeek-V4",
            "DeepSeek-V4-Flash",
        ),
    ),
    "deepseek-v4.1": Preset(
        "deepseek_v41",
        "deepseek_v41",
        models=(
            "DeepSeek-V4.1",
            "DeepSeek-V4.1-Flash",
        ),
    ),
    "functionary-v3.1": Preset(None, "functionary_v31", models=("Functionary small/medium v3.1",)),
    "gemma-4": Preset("gemma4", "gemma4", models=("Gemma 4",)),
    "gigachat-3": Preset(None, "gigachat3", models=("GigaChat3",)),
    "gigachat-3.5": Preset("gigachat35", "gigachat35", models=("GigaChat 3.5",)),
    "glm-4.5": Preset("glm45", "glm45", models=("GLM-4.5", "GLM-4.5-Air")),
    "glm-4.6": Preset("glm45", "glm45", models=("GLM-4.6",)),
    "glm-4.7": Preset("glm47", "glm47", models=("GLM-4.7", "GLM-4.7-Flash")),
    "glm-5": Preset("glm47", "glm47", models=("GLM-5",)),
    "gpt-oss": Preset("openai_gptoss", "openai", models=("gpt-oss-20b", "gpt-oss-120b")),
    "granite-20b-fc": Preset(None, "granite-20b-fc", models=("Granite 20B FC",)),
    "granite-3.2": Preset("granite", None, models=("Granite 3.2",)),
    "granite-4": Preset(None, "granite4", models=("Granite 4.0", "Granite 4.1")),
    "granite-4.2": Preset("granite_thinking_parser", "qwen3_coder", models=("Granite 4.2",)),
    "hermes": Preset(None, "hermes", models=("Hermes 2 Pro", "Hermes 3")),
    "holo2": Preset("holo2", "hermes", models=("Holo2",)),
    "intern-s1": Preset("qwen3", "internlm", models=("Intern-S1",)),
    "internlm-2.5": Preset(None, "internlm", models=("InternLM2.5",)),
    "iquest-q1": Preset("iquest_q1", "iquest_q1", models=("IQuest Q1",)),
    "kimi-k2": Preset(None, "kimi_k2", models=("Kimi-K2-Instruct",)),
    "kimi-k2-thinking": Preset("kimi_k2", "kimi_k2", models=("Kimi-K2-Thinking",)),
    "kimi-k2.5": Preset("kimi_k2", "kimi_k2", models=("Kimi-K2.5", "Kimi-K2.6")),
    "kimi-vl": Preset("kimi", None, models=("Kimi-VL-Thinking",)),
    "laguna-s": Preset("poolside_laguna_s", "poolside_laguna_s", models=("Laguna S 2.1",)),
    "laguna-xs": Preset(
        "poolside_v1",
        "poolside_v1",
        models=(
            "Laguna XS.2",
            "Laguna XS 2.1",
        ),
    ),
    "lfm2": Preset(None, "lfm2", models=("LFM2",)),
    "lfm2.5": Preset("lfm2_thinking", "lfm2", models=("LFM2.5",)),
    "ling-3": Preset("ling3", "ling3", models=("Ling 3.0 flash",)),
    "llama-3.1": Preset(None, "llama3_json", models=("Llama 3.1", "Llama 3.3")),
    "llama-3.2": Preset(None, "pythonic", models=("Llama 3.2 1B/3B",)),
    "llama-4": Preset(None, "llama4_pythonic", models=("Llama 4 Scout", "Llama 4 Maverick")),
    "longcat": Preset(None, "longcat", models=("LongCat-Flash-Chat",)),
    "magistral": Preset("mistral", "mistral", models=("Magistral", "Ministral 3 Reasoning")),
    "mimo-v2": Preset("mimo", "mimo", models=("MiMo-V2-Flash", "MiMo-V2.6-Flash", "MiMo-V2.6-Pro")),
    "minicpm-v": Preset(
        "minicpmv",
        "qwen3_coder",
        models=(
            "MiniCPM-V 4",
            "MiniCPM-V 4.5",
        ),
    ),
    "mistral": Preset(None, "mistral", models=("Mistral 7B v0.3", "Mistral Small", "Mistral Large")),
    "nemotron-3": Preset("nemotron_v3", "qwen3_coder", models=("Nemotron 3", "Nemotron 3.5")),
    "olmo-3": Preset(None, "olmo3", models=("Olmo 3 Instruct",)),
    "olmo-3-think": Preset("olmo3", "olmo3", models=("Olmo 3 Think",)),
    "plamo-3": Preset("plamo3", "plamo3", models=("PLaMo 3",)),
    "qwen2.5": Preset(None, "hermes", models=("Qwen2.5 Instruct", "Qwen2.5-Coder")),
    "qwen3": Preset("qwen3", "hermes", models=("Qwen3",)),
    "qwen3-coder": Preset(None, "qwen3_coder", models=("Qwen3-Coder",)),
    "qwen3-instruct": Preset(None, "hermes", models=("Qwen3-Instruct-2507", "Qwen3-VL-Instruct")),
    "qwen3-thinking": Preset("qwen3_thinking", "hermes", models=("Qwen3-Thinking-2507",)),
    "qwen3.5": Preset("qwen3", "qwen3_coder", models=("Qwen3.5-4B and larger",)),
    "qwen3.5-small": Preset(
        "qwen3", "qwen3_coder", Switch(("enable_thinking",), default=False), models=("Qwen3.5 under 4B",)
    ),
    "qwen3.6": Preset("qwen3", "qwen3_coder", models=("Qwen3.6",)),
    "qwen3.8": Preset("qwen3", "qwen3_coder", models=("Qwen3.8",)),
    "qwq": Preset("deepseek_r1", "hermes", models=("QwQ-32B",)),
    "seed-oss": Preset("seed_oss", "seed_oss", models=("Seed-OSS-36B",)),
    "spark-x2.5": Preset("spark25", "spark25", models=("Spark X2.5",)),
    "step-3.5": Preset("step3p5", "step3p5", models=("Step-3.5-Flash", "Step-3.7-Flash")),
    "step-5": Preset("step5", "step5", models=("Step 5",)),
}
