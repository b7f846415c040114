"""The HTTP server's processes: one, or several on one port, with an orderly end."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from socket import socket
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from unbraid.errors import UnbraidError

__all__ = ["Listening", "Made", "serve_here", "serve_workers"]

logger = logging.getLogger("unbraid.server")

STARTUP_FAILURE = 3
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
Made = tuple[ASGIApp, Callable[[], None]]
"""An app, and what a reload does."""
