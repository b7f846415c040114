"""The HTTP server: OpenAI's chat completions over any engine."""
