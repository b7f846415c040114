"""Argument codecs: how a value is written in a format's text, read piece by piece into JSON text."""
