"""Code that the parts share: their command line, PyTorch, and a process group of one rank."""

import argparse
import gc
import os
import sys
import tempfile
import warnings

from results import Part


def arguments(text):
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--out", required=True, help="the document of the part; items in it are not measured again")
    parser.add_argument("--seconds", type=float, default=60, help="time limit of the part")
    parser.add_argument("--probe", action="store_true", help="take one step of everything")
    parser.add_argument("--rehearse", action="store_true", help="use tiny sizes, without a GPU")
    parser.add_argument("--programs", default="", help="folder of ddpsim, ddpsim-real and their libraries")
    return parser.parse_args()


def begin(text):
    given = arguments(text)
    name = os.path.basename(sys.argv[0]).removesuffix(".py")
    # The last argument's place says nothing about the measurement.
    part = Part(
        name,
        given.out,
        given.seconds,
        given.probe,
        given.rehearse,
        f"{name}.py" + (" --probe" if given.probe else "") + (" --rehearse" if given.rehearse else ""),
    )
    return part, given


def with_torch(part):
    """Returns PyTorch and the device for the models, and writes their versions to the document of the part."""
    warnings.filterwarnings("ignore")
    import torch

    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() and not part.rehearse else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
    part.versions(torch=torch.__version__)
    if device == "cuda":
        part.versions(
            cuda=torch.version.cuda,
            cudnn=torch.backends.cudnn.version(),
            nccl=".".join(map(str, torch.cuda.nccl.version())),
        )
    for package in ("torchvision", "transformers"):
        try:
            part.versions(**{package: __import__(package).__version__})
        except ImportError:
            pass
    return torch, device


class ProcessGroup:
    """A process group of one rank, with the backend of the device."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.torch.distributed.init_process_group(
            "nccl" if self.device == "cuda" else "gloo",
            rank=0,
            world_size=1,
            init_method=f"file://{self.folder.name}/meeting",
        )

    def __exit__(self, *_):
        self.torch.distributed.destroy_process_group()
        self.folder.cleanup()


def forget(torch, device):
    """Frees the memory of the last model for the next one."""
    gc.collect()
    if hasattr(torch, "_dynamo") and "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
    if device == "cuda":
        torch.cuda.empty_cache()
