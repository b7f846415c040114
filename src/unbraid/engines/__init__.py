"""Engines: what runs a model. Only the server and the demo import this package."""
