"""The corpus: its lines are well formed and complete, and unbraid gives what each expects."""
