"""The streaming interpreter: reads text by a declaration, piece by piece."""
