"""A small trace of PyTorch's profiler: ResNet-18's 62 gradients on one V100, one millisecond each."""

GRADIENTS = 62
STEP_US = 104_000


def profiler_trace(steps=3):
    events = []
    correlation = 0

    def event(category, name, thread, begin, duration, **args):
        events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 7 if category != "kernel" else 0,
                "tid": thread,
                "ts": begin,
                "dur": duration,
                "args": args,
            }
        )

    def kernel(thread, launched, begin, duration):
        nonlocal correlation
        correlation += 1
        event("cuda_runtime", "cudaLaunchKernel", thread, launched, 2, correlation=correlation)
        event("kernel", "void elementwise()", 7, begin, duration, device=0, stream=7, correlation=correlation)

    for step in range(steps):
        start = 1_000_000 + step * STEP_US
        event("user_annotation", f"ProfilerStep#{step}", 1, start, STEP_US - 1)
        kernel(1, start + 10, start + 20, 31_000)
        for k in range(GRADIENTS):
            launched = start + 100 + 20 * k
            event("cpu_op", "autograd::engine::evaluate_function: ConvolutionBackward0", 2, launched, 9)
            kernel(2, launched + 2, start + 31_020 + 1000 * k, 1000)
            event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 2, launched + 10, 8)
            event("cpu_op", "torch::autograd::AccumulateGrad", 2, launched + 11, 5)
        kernel(1, start + 2_000, start + 31_020 + 1000 * GRADIENTS + 10, 1_100)
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Tesla V100-SXM2-16GB"}], "traceEvents": events}
