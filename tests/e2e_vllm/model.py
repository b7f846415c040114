"""The thinking SmolLM2 as a Hugging Face folder, for engines that want safetensors.

It thinks and calls: ``</think>`` is as likely as a line break, and ``<tool_call>`` somewhat likelier.

``python -m tests.e2e_vllm.model FOLDER`` runs in the environment that ``install`` makes:
it needs torch, safetensors, tokenizers and gguf. Weights become bfloat16.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unbraid.engines.gguf import CONTROL, GGUF, make_thinking_model
from unbraid.engines.models import fetch_model
from unbraid.engines.template import TOOL_TEMPLATE

LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
EAGER = 1.05
OUTSIDE = {"token_embd": "embed_tokens", "output_norm": "norm"}


def make(folder: Path) -> Path:
    """The folder with the model in it; one that is there already is kept."""
    if (folder / "config.json").is_file():
        return folder
    source = make_thinking_model(fetch_model())
    gguf = GGUF(source)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".make-", dir=folder.parent) as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        _weights(source, gguf, made / "model.safetensors")
        _tokenizer(gguf).save(str(made / "tokenizer.json"))
        for name, value in _configs(gguf).items():
            (made / name).write_text(json.dumps(value, indent=2) + "\n")
        (made / "chat_template.jinja").write_text(TOOL_TEMPLATE)
        os.replace(made, folder)
    return folder


def _weights(source: Path, gguf: GGUF, target: Path) -> None:
    """Unpack all tensors; GGUF has the rows of a head's query and key in pairs for its own rotation."""
    import torch
    from gguf import GGUFReader, dequantize
    from safetensors.torch import save_file

    heads = {
        "attn_q": int(gguf.metadata["llama.attention.head_count"]),
        "attn_k": int(gguf.metadata["llama.attention.head_count_kv"]),
    }

    def tensors() -> Iterator[tuple[str, Any]]:
        for tensor in GGUFReader(str(source)).tensors:
            values = torch.tensor(dequantize(tensor.data, tensor.tensor_type))
            *layer, part, _ = tensor.name.split(".")
            if part == "token_embd":
                values[gguf.tokens.index("<tool_call>")] = EAGER * values[gguf.tokens.index("Ċ")]
            if part in heads:
                rows, columns = values.shape
                values = values.reshape(heads[part], -1, 2, columns).swapaxes(1, 2).reshape(rows, columns)
            name = f"layers.{layer[1]}.{LAYER[part]}" if layer else OUTSIDE[part]
            yield f"model.{name}.weight", values.to(torch.bfloat16).contiguous()

    save_file(dict(tensors()), str(target), metadata={"format": "pt"})


def _tokenizer(gguf: GGUF) -> Any:
    """The byte-level BPE of the file, digits one by one as SmolLM2 reads them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {text: index for index, text in enumerate(gguf.tokens)}
    merges = [tuple(one.split(" ")) for one in gguf.metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [t for t, kind in zip(gguf.tokens, gguf.token_types, strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    return tokenizer


def _configs(gguf: GGUF) -> dict[str, dict[str, Any]]:
    """The three configuration files."""

    def number(key: str) -> Any:
        return gguf.metadata[f"llama.{key}"]

    bos, eos = gguf.special_id("bos"), gguf.special_id("eos")
    return {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "dtype": "bfloat16",
            "hidden_act": "silu",
            "hidden_size": number("embedding_length"),
            "intermediate_size": number("feed_forward_length"),
            "num_hidden_layers": number("block_count"),
            "num_attention_heads": number("attention.head_count"),
            "num_key_value_heads": number("attention.head_count_kv"),
            "head_dim": number("rope.dimension_count"),
            "rms_norm_eps": 1e-5,
            "rope_theta": number("rope.freq_base"),
            "max_position_embeddings": number("context_length"),
            "vocab_size": len(gguf.tokens),
            "tie_word_embeddings": True,
            "attention_bias": False,
            "mlp_bias": False,
            "bos_token_id": bos,
            "eos_token_id": eos,
            "pad_token_id": eos,
        },
        "generation_config.json": {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": eos},
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": number("context_length"),
            "clean_up_tokenization_spaces": False,
            **gguf.template_variables,
            "pad_token": gguf.template_variables["eos_token"],
            "unk_token": gguf.tokens[gguf.special_id("unknown") or 0],
        },
    }


if __name__ == "__main__":
    print(make(Path(sys.argv[1])))
