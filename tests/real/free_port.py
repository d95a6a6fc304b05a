"""A port for rank 0 of a job, and the one behind it: torchrun's agent listens on the first itself."""

import random
import socket


def free_port():
    """Below those that the kernel gives to connections, or one that begins in the meantime may take it."""
    while True:
        port = random.randrange(20000, 30000)
        with socket.socket() as first, socket.socket() as second:
            try:
                first.bind(("", port))
                second.bind(("", port + 1))
            except OSError:
                continue
            return port
