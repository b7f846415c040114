"""Wire shapes: pure functions from events and messages to what an API sends."""
