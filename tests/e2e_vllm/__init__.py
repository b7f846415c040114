"""``make e2e-vllm``: unbraid in front of the real vLLM for the CPU, with a small model that thinks."""
