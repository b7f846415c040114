"""The errors of unbraid: one small tree.

    UnbraidError
    ├── UnknownParser      (also KeyError)     a name that no format carries
    ├── IncompatiblePair   (also TypeError)    two halves that cannot be combined
    ├── TokenizerMismatch  (also TypeError)    markers are missing from, or split by, the tokenizer
    ├── BrokenFormat       (also ImportError)  a format's module cannot be loaded
    ├── InvalidRequest     (also ValueError)   a wrong value for an option, a tool or a schema
    │   └── Unsupported                        a constraint that this format or dialect can't enforce
    ├── Inexpressible      (also ValueError)   a message that the format cannot write
    └── EngineError        (also RuntimeError) the model could not be fetched, started or driven
        ├── EngineUnavailable                  no engine can be reached now: try again later
        ├── EngineTimeout                      an engine was silent for too long
        └── NotEnforced                        an output broke what was demanded of it

Model output never raises: what goes wrong in it is a diagnostic of the message.
"""

from __future__ import annotations

__all__ = [
    "BrokenFormat",
    "EngineError",
    "EngineTimeout",
    "EngineUnavailable",
    "IncompatiblePair",
    "Inexpressible",
    "InvalidRequest",
    "NotEnforced",
    "TokenizerMismatch",
    "UnbraidError",
    "UnknownParser",
    "Unsupported",
]


class UnbraidError(Exception):
    """Base of every error that unbraid raises.

    ``code`` is a stable snake_case name for programs; ``param`` names the option
    or the path of the value that was wrong, if there is one.
    """

    code = "unbraid_error"

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param

    def __str__(self) -> str:
        return self.message


class UnknownParser(UnbraidError, KeyError):
    """No format has this name."""

    code = "unknown_parser"


class IncompatiblePair(UnbraidError, TypeError):
    """The reasoning half and the tools half cannot be combined."""

    code = "incompatible_pair"


class TokenizerMismatch(UnbraidError, TypeError):
    """The tokenizer does not carry a format's markers."""

    code = "tokenizer_mismatch"


class BrokenFormat(UnbraidError, ImportError):
    """A format's module failed to load; the cause is chained."""

    code = "broken_format"

    def __init__(self, message: str, *, param: str | None = None) -> None:
        ImportError.__init__(self, message)
        self.message = message
        self.param = param


class InvalidRequest(UnbraidError, ValueError):
    """An option, a tool or a schema has a wrong value."""

    code = "invalid_request"


class Unsupported(InvalidRequest):
    """A constraint that this format, or this grammar dialect, can't enforce."""

    code = "unsupported"


class Inexpressible(UnbraidError, ValueError):
    """A message that the format cannot write, with the reason."""

    code = "inexpressible"


class EngineError(UnbraidError, RuntimeError):
    """The embedded or remote engine could not be fetched, started or driven."""

    code = "engine_error"


class EngineUnavailable(EngineError):
    """No engine can be reached or has room now; the same request may succeed later."""

    code = "engine_unavailable"


class NotEnforced(EngineError):
    """An output broke what was demanded of it, although it was to be held to that."""

    code = "not_enforced"


class EngineTimeout(EngineError):
    """An engine was silent for longer than it may be."""

    code = "engine_timeout"
