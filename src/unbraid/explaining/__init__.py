"""What the explainer says of a format: its data, its grammar, its page."""
