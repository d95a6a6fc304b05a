"""Ports for the servers of a job that a test starts. Nobody else can get one while the job runs."""

import contextlib
import random
import socket

# Below PyTorch's default, and below the ports that the kernel gives to connections.
PORTS = (20000, 29000)


def held_port(at_end):
    """A port that is held together with the next one, because torchrun's agent itself listens on the first.

    `at_end` gets a function that releases both: pass addCleanup of a test case, or callback of an ExitStack.
    """
    while True:
        port = random.randrange(*PORTS)
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for number in (port, port + 1):
                holder = held.enter_context(socket.socket())
                holder.bind(("", number))  # fails if the port is taken
                # The holder does not listen, so Linux lets a server that also sets this option listen on the port.
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            at_end(held.pop_all().close)
            return port
