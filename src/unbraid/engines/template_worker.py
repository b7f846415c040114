"""The process in which chat templates run; see ``sandbox.py``.

Started as a module with two arguments: seconds of processor time for one request, and bytes of
its whole memory. Its standard input is a socket. A request is a frame of marshalled data from the
process that started it. An answer is a frame whose first byte says what it is and whose rest is
text, so that nothing a template could send is more than text to the one who reads it. A template
that takes too much processor time ends the process; one that takes too much memory is answered,
and then the process ends.
"""

from __future__ import annotations

import marshal
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

from unbraid.engines.frames import MEMORY, MESSAGES, READY, TEMPLATE, TEXT, Closed, receive, send
from unbraid.engines.jinja import compiled, render, variables_of
from unbraid.errors import InvalidRequest

__all__ = ["main"]

_LONGEST_PROBLEM = 2000
_FILES = 32


def _compile(source: str) -> str:
    compiled(source)
    return ""


def _names(source: str) -> str:
    return "\n".join(sorted(variables_of(source)))


OPERATIONS: dict[str, Callable[..., str]] = {"compile": _compile, "names": _names, "render": render}


def main(cpu_seconds: float, memory_bytes: int) -> None:
    """Answer requests until the other end closes."""
    _limit(memory_bytes)
    with socket.socket(fileno=0) as channel:
        send(channel, READY)
        while True:
            try:
                request = receive(channel)
            except Closed:
                return
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
            try:
                answer = _answer(request)
            except MemoryError:
                send(channel, MEMORY)
                return
            signal.setitimer(signal.ITIMER_PROF, 0)
            send(channel, answer)


def _answer(request: bytearray) -> bytes:
    operation, arguments = marshal.loads(request)
    try:
        text = OPERATIONS[operation](*arguments)
    except InvalidRequest as error:
        problem = error.message
        if len(problem) > _LONGEST_PROBLEM:
            problem = problem[:_LONGEST_PROBLEM] + " …"
        return (MESSAGES if error.param == "messages" else TEMPLATE) + _encoded(problem)
    return TEXT + _encoded(text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _limit(memory_bytes: int) -> None:
    """Take from this process what it doesn't need: memory, files to write, children."""
    wanted = {
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: _FILES,
    }
    for what, most in wanted.items():
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(OSError, ValueError):  # a system that knows no such limit
            resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
