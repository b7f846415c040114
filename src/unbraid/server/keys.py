"""The keys that clients must show: several, from the command line and from a file that can be read again."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from unbraid.errors import InvalidRequest

__all__ = ["Keys"]

logger = logging.getLogger("unbraid.server")


class Keys:
    """Keys that are allowed, kept as digests only. ``reload`` reads the file again."""

    def __init__(self, keys: Iterable[str] = (), file: Path | None = None) -> None:
        """``keys`` stay; ``file`` has one key a line, with blank lines and ``#`` comments between.

        Raises InvalidRequest when the file can't be read, when a key is empty (such as a variable
        of the shell that isn't set), or when there is no key at all.
        """
        keys = tuple(keys)
        if not all(key.strip() for key in keys):
            raise InvalidRequest("--api-key is empty: give a key, or leave the flag out", param="api_key")
        self._fixed = frozenset(map(_digest, keys))
        self._file = file
        self._digests = self._fixed | _read(file)
        if not self._digests:
            raise InvalidRequest("no API key is given: the file holds none", param="api_key_file")

    def __repr__(self) -> str:
        return f"Keys({len(self._digests)} keys)"

    def __len__(self) -> int:
        return len(self._digests)

    def allows(self, key: bytes) -> bool:
        """Whether ``key`` is one of them; takes as long for any key of its length."""
        given = sha256(key).digest()
        matches = [hmac.compare_digest(given, one) for one in self._digests]
        return any(matches)

    def reload(self) -> None:
        """Read the file again; the keys stay as they are when it can't be read or holds none."""
        if self._file is None:
            return
        try:
            digests = self._fixed | _read(self._file)
        except InvalidRequest as error:
            logger.error("the API keys stay as they are: %s", error)
            return
        if not digests:
            logger.error("the API keys stay as they are: %s holds none", self._file)
            return
        self._digests = digests
        logger.info("API keys that are allowed now: %d", len(digests))


def _digest(key: str) -> bytes:
    return sha256(key.encode()).digest()


def _read(file: Path | None) -> frozenset[bytes]:
    """The digests of a file's keys."""
    if file is None:
        return frozenset()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"--api-key-file {file} can't be read: {error}", param="api_key_file") from None
    keys = (line.strip() for line in lines)
    return frozenset(_digest(key) for key in keys if key and not key.startswith("#"))
