"""Ports for the servers of a job that a test starts: nobody else gets one while the job runs."""

import contextlib
import random
import socket

PORTS = (20000, 29000)  # below PyTorch's default, and below those that the kernel gives to connections


def held_port(at_end):
    """A port, held with the one behind it, since torchrun's agent listens on the first itself. `at_end` is told how to give them
    back: addCleanup of a test case, callback of an ExitStack."""
    while True:
        port = random.randrange(*PORTS)
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for number in (port, port + 1):
                holder = held.enter_context(socket.socket())
                holder.bind(("", number))  # refused where another holder or server is
                # Linux now lets a server that sets this option, too, listen there, since the holder does not listen.
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            at_end(held.pop_all().close)
            return port
