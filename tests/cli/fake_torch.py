"""The part of torch 2.x that the recorder uses, on a GPU with exactly known times.

Kernels take the time that they are given, one after another on one stream. An event is reached when everything that was
enqueued before it is done."""

import contextlib
import itertools
import types


class Gpu:
    def __init__(self):
        self.host_ns = 1_000_000
        self.stream_ns = 0  # end of the last enqueued kernel
        self.nccl_ns = 0  # the same on NCCL's stream
        self.current = "stream"
        self.events = self.synchronized = 0
        self.capturing = False
        self.fail_events = False

    def launch(self, kernel_us, host_us=0):
        """Enqueues a kernel. This also takes host time."""
        self.host_ns += round(1000 * host_us)
        self.stream_ns = max(self.stream_ns, self.host_ns) + round(1000 * kernel_us)


class Handle:
    def __init__(self, hooks, hook):
        self._hooks, self._key = hooks, object()
        hooks[self._key] = hook

    def remove(self):
        self._hooks.pop(self._key, None)


class Node:
    def __init__(self, name, children=()):
        self.hooks = {}
        self.next_functions = [(child, 0) for child in children]
        self.__class__ = type(name, (Node,), {})

    def register_hook(self, hook):
        return Handle(self.hooks, hook)


class Dtype(str):
    is_floating_point = True


class Device:
    def __init__(self, text):
        self.type, self.text = text.split(":")[0], text

    def __str__(self):
        return self.text


def fake_torch(gpu, version="2.8.0+cu128", device="cuda:0", post_accumulate=True):
    torch = types.ModuleType("torch")
    torch.__version__ = version

    class Tensor:
        def __init__(self, shape=(), grad_fn=None, requires_grad=False):
            self.shape, self.grad_fn, self.requires_grad, self.hooks = tuple(shape), grad_fn, requires_grad, {}

        def dim(self):
            return len(self.shape)

        def register_hook(self, hook):
            return Handle(self.hooks, hook)

        def backward(self):
            torch.autograd.backward(self)

    class Parameter(Tensor):
        def __init__(self, shape, requires_grad=True, on=device):
            super().__init__(shape, requires_grad=requires_grad)
            self.dtype, self.device = Dtype("torch.float32"), Device(on)
            self.accumulator = Node("AccumulateGrad")
            self.post_hooks = {}
            if post_accumulate:
                self.register_post_accumulate_grad_hook = lambda hook: Handle(self.post_hooks, hook)

        def numel(self):
            count = 1
            for size in self.shape:
                count *= size
            return count

        def element_size(self):
            return 4

        def view_as(self, _):
            return Tensor(grad_fn=Node("ViewBackward0", [self.accumulator]))

        def accumulate(self, ddp_copy=None):
            """Accumulates like autograd for a leaf: its hooks, the store, hooks after it, and hooks of the node."""
            for hook in list(self.hooks.values()):
                hook(None)
            for hook in list(self.post_hooks.values()):
                hook(self)
            if ddp_copy:
                ddp_copy()
            for hook in list(self.accumulator.hooks.values()):
                hook((), (None,))

    class Module:
        def __init__(self, **children):
            self.own, self.own_buffers, self.submodules = {}, {}, children
            self.pre_hooks, self.forward_hooks = {}, {}

        def named_modules(self, prefix=""):
            yield prefix, self
            for name, child in self.submodules.items():
                yield from child.named_modules(f"{prefix}.{name}" if prefix else name)

        def modules(self):
            return (module for _, module in self.named_modules())

        def children(self):
            return iter(self.submodules.values())

        def named_parameters(self, recurse=True):
            for prefix, module in self.named_modules() if recurse else [("", self)]:
                for name, parameter in module.own.items():
                    yield (f"{prefix}.{name}" if prefix else name), parameter

        def parameters(self):
            return (parameter for _, parameter in self.named_parameters())

        def named_buffers(self):
            return list(self.own_buffers.items())

        def buffers(self):
            return (buffer for _, buffer in self.named_buffers())

        def register_forward_pre_hook(self, hook, with_kwargs=False):
            return Handle(self.pre_hooks, lambda *a, **k: hook(self, a, k) if with_kwargs else hook(self, a))

        def register_forward_hook(self, hook):
            return Handle(self.forward_hooks, hook)

        def __call__(self, *arguments, **keywords):
            for hook in list(self.pre_hooks.values()):
                hook(*arguments, **keywords)
            output = self.forward(*arguments, **keywords)
            for hook in list(self.forward_hooks.values()):
                hook(self, arguments, output)
            return output

    class DistributedDataParallel(Module):
        def __init__(self, module, **options):
            super().__init__(module=module)
            self.module, self.process_group = module, "group"
            vars(self).update(options)

        def forward(self, *arguments, **keywords):
            return self.module(*arguments, **keywords)

        def register_comm_hook(self, state, hook):
            self.comm_hook = lambda bucket: hook(state, bucket)

        def _get_ddp_logging_data(self):
            return {"rebuilt_bucket_sizes": "400, 800"}

    class Event:
        def __init__(self, enable_timing=False):
            assert enable_timing
            self.at = None

        def record(self, stream):
            if gpu.fail_events:
                raise RuntimeError("CUDA error: out of\nevents")
            gpu.events += 1
            self.at = max(gpu.stream_ns if stream == "stream" else gpu.nccl_ns, gpu.host_ns)

        def synchronize(self):
            gpu.synchronized += 1
            gpu.host_ns = max(gpu.host_ns, self.at)

        def elapsed_time(self, other):
            assert gpu.host_ns >= other.at, "an event is read before it is reached"
            return (other.at - self.at) / 1e6

    def backward(root):
        root.fill()  # the gradient of the loss is 1
        for hook in list(root.hooks.values()):
            hook(None)
        root.run()

    torch.Tensor, torch.dtype = Tensor, Dtype
    torch.nn = types.SimpleNamespace(
        Module=Module,
        Parameter=Parameter,
        Embedding=type("Embedding", (Module,), {"sparse": True}),
        EmbeddingBag=type("EmbeddingBag", (Module,), {}),
        parallel=types.SimpleNamespace(DistributedDataParallel=DistributedDataParallel),
    )
    torch.autograd = types.SimpleNamespace(backward=backward)
    torch.cuda = types.SimpleNamespace(
        Event=Event,
        current_stream=lambda device: gpu.current,
        is_current_stream_capturing=lambda: gpu.capturing,
        get_device_name=lambda device: "Tesla V100-SXM2-16GB",
    )
    torch.backends = types.SimpleNamespace(
        cuda=types.SimpleNamespace(matmul=types.SimpleNamespace(allow_tf32=False)),
        cudnn=types.SimpleNamespace(allow_tf32=True),
    )
    torch.distributed = types.SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: torch.world > 1,
        get_rank=lambda group: torch.rank,
        get_world_size=lambda group: torch.world,
        get_backend=lambda group: "nccl",
        all_reduce=lambda buffer, group, async_op: AllReduce(gpu, buffer),
    )
    torch.rank, torch.world = 0, 1
    torch.grad = True
    torch.is_grad_enabled = lambda: torch.grad
    torch.enable_grad = contextlib.nullcontext
    torch.autocast = None
    torch.is_autocast_enabled = lambda device_type: torch.autocast is not None
    torch.get_autocast_dtype = lambda device_type: torch.autocast
    return torch


class AllReduce:
    """An all-reduce of 250 us on NCCL's stream. It starts when the bucket is full and earlier ones have ended."""

    def __init__(self, gpu, buffer):
        self.gpu, self.buffer = gpu, buffer
        gpu.nccl_ns = max(gpu.nccl_ns, gpu.stream_ns, gpu.host_ns) + 250_000

    def get_future(self):
        return self

    def then(self, callback):
        self.gpu.current = "nccl"
        callback(self)
        self.gpu.current = "stream"

    def value(self):
        return [self.buffer]


class Bucket:
    """A bucket with the gradient of one parameter, which the hook divides in 3 us."""

    def __init__(self, gpu, parameter):
        self.gpu, self.numel, self.element_size = gpu, parameter.numel, parameter.element_size

    def buffer(self):
        return self

    def mul_(self, _):
        self.gpu.launch(3, 1)


class Job:
    """A model of layers with known kernel times, trained on the fake GPU."""

    FORWARD_US, LOSS_US, FILL_US, GRADIENT_US, COPY_US, FINALIZE_US, OPTIMIZER_US = 300, 20, 2, 100, 7, 30, 50

    def __init__(self, torch, gpu, layers=3, ddp=None, host_us=5):
        self.torch, self.gpu, self.host_us = torch, gpu, host_us
        module = torch.nn.Module()
        module.own = {f"weight{i}": torch.nn.Parameter((10, i + 1)) for i in range(layers)}
        module.forward = self.forward
        self.module = module
        self.ddp, self.model = None, module
        if ddp is not None:
            self.under_ddp(ddp)
        self.jitter = itertools.repeat(0)
        self.unused, self.twice = set(), set()

    def under_ddp(self, options):
        self.ddp = self.model = self.torch.nn.parallel.DistributedDataParallel(self.module, **options)

    def forward(self, *arguments, **keywords):
        self.gpu.launch(self.FORWARD_US, self.host_us)
        return self.torch.Tensor((32, 10), grad_fn=Node("MseLossBackward0"), requires_grad=True)

    def run_backward(self):
        self.gpu.launch(self.GRADIENT_US, self.host_us)  # the loss itself
        copy = (lambda: self.gpu.launch(self.COPY_US, 1)) if self.ddp is not None else None
        for name, parameter in reversed(list(self.module.own.items())):
            if name not in self.unused:
                self.gpu.launch(self.GRADIENT_US, self.host_us)
                parameter.accumulate(copy)
                if hasattr(self.ddp, "comm_hook"):
                    self.ddp.comm_hook(Bucket(self.gpu, parameter))
        for name in self.twice:  # like reentrant checkpoints
            self.gpu.launch(self.GRADIENT_US, self.host_us)
            self.module.own[name].accumulate(copy)
        if self.ddp is not None:
            self.gpu.stream_ns = max(self.gpu.stream_ns, self.gpu.nccl_ns)
            self.gpu.launch(self.FINALIZE_US, self.host_us)

    def backward(self, output):
        self.gpu.launch(self.LOSS_US, self.host_us)
        loss = self.torch.Tensor(grad_fn=Node("NllLossBackward0", [output.grad_fn]), requires_grad=True)
        loss.fill = lambda: self.gpu.launch(self.FILL_US, self.host_us)
        loss.run = self.run_backward
        loss.backward()

    def step(self, backwards=1):
        for _ in range(backwards):
            self.backward(self.model(self.torch.Tensor((32, 3))))
        self.gpu.launch(self.OPTIMIZER_US + next(self.jitter), self.host_us)
