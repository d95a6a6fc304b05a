#!/usr/bin/env python3
"""Measures the cost of DDP's own kernels, and how much compute slows down while other thread blocks move memory.

The kernels copy into a bucket, divide, copy out, and cast for compression hooks. Their cost is measured by bytes and by
number of tensors, together with the host time of a launch. Then matrix products, convolutions, layer norm and attention
run alone and at the same time as 2 to 32 thread blocks. These copy at a set rate, as the kernel of a collective
does."""

import ctypes
import threading
import time

import command
from programs import Programs
from results import quantiles

KIB, MIB = 1 << 10, 1 << 20
SIZES = (4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
TENSORS = (1, 10, 100)
BLOCKS = (2, 4, 8, 16, 24, 32)
RATES_GBPS = (0, 25, 50, 100, 200, 400)  # bytes read; as many are written
# The memory of one thread block. Together they exceed the cache.
REGION_BYTES = 16 * MIB
CHUNK_BYTES = 64 * KIB


class Timer:
    """Times work on the current stream in microseconds: device time by events, host time by the clock."""

    def __init__(self, torch, device):
        self.torch, self.cuda = torch, device == "cuda"

    def of(self, work):
        if not self.cuda:
            begun = time.perf_counter_ns()
            work()
            spent = (time.perf_counter_ns() - begun) / 1000
            return spent, spent
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.torch.cuda.synchronize()
        begin.record()
        begun = time.perf_counter_ns()
        work()
        host = (time.perf_counter_ns() - begun) / 1000
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1000, host

    def median(self, work, repetitions):
        work()
        pairs = [self.of(work) for _ in range(repetitions)]
        return {"device_us": quantiles([pair[0] for pair in pairs]), "host_us": quantiles([pair[1] for pair in pairs])}


def kernels(torch, gradients, views):
    """Functions that do one kind of work over all tensors, in the calls of PyTorch's reducer and its default hooks."""
    half = [torch.empty_like(view, dtype=torch.float16) for view in views]
    return {
        "copy_in": lambda: [torch.mul(gradient, 0.5, out=view) for gradient, view in zip(gradients, views)],
        "divide": lambda: [view.div_(2) for view in views],
        "copy_out": lambda: [gradient.copy_(view) for gradient, view in zip(gradients, views)],
        "compress": lambda: [small.copy_(view) for small, view in zip(half, views)],
        "decompress": lambda: [view.copy_(small) for small, view in zip(half, views)],
        "empty": lambda: [view.narrow(0, 0, 1).add_(0) for view in views],
    }


def copies(torch, timer, device, size, tensors, repetitions):
    elements = max(1, size // 4 // tensors)
    gradients = [torch.rand(elements, device=device) for _ in range(tensors)]
    bucket = torch.rand(elements * tensors, device=device)
    views = [bucket.narrow(0, i * elements, elements) for i in range(tensors)]
    return [
        {"kernel": kind, "bytes": 4 * elements * tensors, "tensors": tensors, **timer.median(work, repetitions)}
        for kind, work in kernels(torch, gradients, views).items()
    ]


def compute(torch, device, tiny):
    """Kernels of about 50 to 500 us, each a function with its own tensors."""
    n = 64 if tiny else 4096
    a, b = (torch.rand(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    out = torch.empty_like(a)
    side = 8 if tiny else 56
    channels = 8 if tiny else 256
    images = torch.rand(4 if tiny else 64, channels, side, side, device=device, dtype=torch.bfloat16).to(
        memory_format=torch.channels_last
    )
    weights = torch.rand(channels, channels, 3, 3, device=device, dtype=torch.bfloat16).to(
        memory_format=torch.channels_last
    )
    rows = torch.rand(64 if tiny else 32768, 64 if tiny else 1024, device=device, dtype=torch.bfloat16)
    scale = torch.ones(rows.shape[1], device=device, dtype=torch.bfloat16)
    q, k, v = (
        torch.rand(1 if tiny else 8, 4 if tiny else 16, 16 if tiny else 1024, 64, device=device, dtype=torch.bfloat16)
        for _ in range(3)
    )
    functional = torch.nn.functional
    return {
        "matrix_product": lambda: torch.matmul(a, b, out=out),
        "convolution": lambda: functional.conv2d(images, weights, padding=1),
        "layer_norm": lambda: functional.layer_norm(rows, (rows.shape[1],), scale),
        "attention": lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        "elementwise": lambda: rows * 1.5,
    }


class PacedCopy:
    """The thread blocks that copy: our own kernel on a stream of its own, or without a GPU a thread that copies."""

    def __init__(self, torch, programs, device):
        self.torch, self.device = torch, device
        if device != "cuda":
            return
        self.launch = ctypes.CDLL(str(programs.paced_copy)).ddpsim_paced_copy
        self.launch.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int] + [ctypes.c_int64] * 4
        self.stream = torch.cuda.Stream()
        self.source, self.target = (
            torch.empty(max(BLOCKS) * REGION_BYTES, dtype=torch.uint8, device=device) for _ in range(2)
        )

    def start(self, blocks, rate_gbps, seconds):
        """Launches the copy. Returns events before and after it, and the number of bytes that it reads."""
        vectors = CHUNK_BYTES // 16 if rate_gbps else 0
        period_ns = round(blocks * CHUNK_BYTES / rate_gbps) if rate_gbps else 1000
        rounds = max(1, round(seconds * 1e9 / period_ns))
        begins, ends = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        with self.torch.cuda.stream(self.stream):
            begins.record()
            status = self.launch(
                self.stream.cuda_stream,
                self.source.data_ptr(),
                self.target.data_ptr(),
                blocks,
                REGION_BYTES // 16,
                vectors,
                period_ns,
                rounds,
            )
            if status:
                raise RuntimeError(f"launching the paced copy: CUDA error {status}")
            ends.record()
        return begins, ends, 16 * vectors * blocks * rounds

    def beside(self, work, blocks, rate_gbps, seconds):
        """Runs `work` repeatedly during a copy of `seconds`, or without a copy if `blocks` is 0.

        Returns the device time of each run that lies within the copy, and the rate that the copy reached.
        """
        if self.device != "cuda":
            thread = threading.Thread(target=lambda: bytes(bytearray(MIB)))
            thread.start()
            begun = time.perf_counter_ns()
            work()
            thread.join()
            return [(time.perf_counter_ns() - begun) / 1000], rate_gbps
        self.torch.cuda.synchronize()
        begins, ends, read = self.start(blocks, rate_gbps, seconds) if blocks else (None, None, 0)
        marks = []
        stops = time.monotonic() + (2 * seconds + 0.2 if blocks else seconds)
        while time.monotonic() < stops and not (blocks and ends.query()):
            marks.append(self.torch.cuda.Event(enable_timing=True))
            marks[-1].record()
            work()
            if len(marks) > 8:
                marks[-8].synchronize()  # stay a few launches ahead only
        self.torch.cuda.synchronize()
        pairs = list(zip(marks, marks[1:]))
        lasted_ms = begins.elapsed_time(ends) if blocks else 0
        if blocks:
            pairs = [
                (first, second)
                for first, second in pairs
                if begins.elapsed_time(first) > 0 and begins.elapsed_time(second) < lasted_ms
            ]
        times = [first.elapsed_time(second) * 1000 for first, second in pairs]
        return times, read / (lasted_ms * 1e6) if read else 0


def interference(paced, timer, name, work, blocks_and_rates, seconds):
    timer.median(work, 5)
    alone = quantiles(paced.beside(work, 0, 0, seconds)[0])["median"]
    rows = []
    for blocks, rate in blocks_and_rates:
        times, kept = paced.beside(work, blocks, rate, seconds)
        if times:
            beside = quantiles(times)
            rows.append(
                {
                    "kernel": name,
                    "alone_us": round(alone, 3),
                    "blocks": blocks,
                    "rate_gbps": rate,
                    "kept_gbps": round(kept, 1),
                    "beside_us": beside,
                    "slowdown": round(beside["median"] / alone, 4),
                    "n": len(times),
                }
            )
    return rows


def main():
    part, given = command.begin(__doc__)
    torch, device = command.with_torch(part)
    timer = Timer(torch, device)
    tiny = given.rehearse
    sizes = SIZES[:2] if tiny else (SIZES[3],) if part.probe else SIZES
    repetitions = 2 if tiny or part.probe else 15
    for size in sizes:
        for tensors in TENSORS:
            part.measure(
                f"copies of {size} bytes, {tensors} tensors",
                lambda: copies(torch, timer, device, size, tensors, repetitions),
            )  # noqa: B023
    paced = None
    if device == "cpu" or Programs(given.programs).paced_copy.exists():
        paced = PacedCopy(torch, Programs(given.programs), device)
    grid = [(blocks, rate) for blocks in BLOCKS for rate in RATES_GBPS if rate <= 25 * blocks]
    if tiny or part.probe:
        grid = [(2, 0), (8, 50)]
    for name, work in compute(torch, device, tiny).items():
        if paced is None:
            part.problem(f"{name} beside a copy", "the archive lacks the kernel that copies at a set rate")
        else:
            part.measure(f"{name} beside a copy", lambda: interference(paced, timer, name, work, grid, 0.02))  # noqa: B023
    part.end()


if __name__ == "__main__":
    main()
