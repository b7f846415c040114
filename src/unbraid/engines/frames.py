"""Frames over a socket: four bytes that tell the length, then as many bytes."""

from __future__ import annotations

import socket
import struct
from time import monotonic

__all__ = ["MEMORY", "MESSAGES", "READY", "TEMPLATE", "TEXT", "Closed", "TooLong", "receive", "send"]

# What a worker answers: the frame's first byte.
READY = b"!"
TEXT = b"="
MESSAGES = b"m"  # a problem of the messages
TEMPLATE = b"t"  # a problem of the template
MEMORY = b"+"

_LENGTH = struct.Struct(">I")
_ALL = (1 << 32) - 1


class Closed(Exception):
    """The other end has closed."""


class TooLong(Exception):
    """A frame is longer than it may be."""


def send(channel: socket.socket, data: bytes, deadline: float | None = None) -> None:
    """Send a frame. Raises TimeoutError at ``deadline`` (of the monotonic clock), Closed, TooLong."""
    if len(data) > _ALL:
        raise TooLong
    _wait_until(channel, deadline)
    try:
        sent = channel.sendmsg([_LENGTH.pack(len(data)), data]) - _LENGTH.size
        if sent < len(data):
            channel.sendall(memoryview(data)[sent:])
    except (BrokenPipeError, ConnectionError):
        raise Closed from None


def receive(channel: socket.socket, deadline: float | None = None, most: int = _ALL) -> bytearray:
    """The next frame. Raises TimeoutError at ``deadline``, Closed, and TooLong above ``most`` bytes."""
    (length,) = _LENGTH.unpack(_exactly(channel, _LENGTH.size, deadline))
    if length > most:
        raise TooLong
    return _exactly(channel, length, deadline)


def _exactly(channel: socket.socket, count: int, deadline: float | None) -> bytearray:
    data = bytearray(count)
    view, filled = memoryview(data), 0
    while filled < count:
        _wait_until(channel, deadline)
        try:
            got = channel.recv_into(view[filled:])
        except ConnectionError:
            raise Closed from None
        if not got:
            raise Closed
        filled += got
    return data


def _wait_until(channel: socket.socket, deadline: float | None) -> None:
    if deadline is None:
        return
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    channel.settimeout(left)
