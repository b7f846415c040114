"""Formats that a tokenizer carries as data: loading them, their expressions, and their values."""
