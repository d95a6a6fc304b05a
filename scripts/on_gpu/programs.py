"""Runs the packed programs with our libraries, PyTorch's CUDA runtime, and the chosen NCCL."""

import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess

SHARES_A_GPU = {"NCCL_MULTI_RANK_GPU_ENABLE": "1"}  # read by NCCL 2.30 and later


class Programs:
    """The packed programs. scripts/on_gpu.sh --pack fills `folder` with bin/, lib/, nccl/ and paced_copy.so."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.ddpsim = str(self.folder / "bin/ddpsim")
        self.ddpsim_real = str(self.folder / "bin/ddpsim-real")
        self.paced_copy = self.folder / "lib/paced_copy.so"
        self.newer_nccl = self.folder / "nccl/libnccl.so.2"

    def environment(self, shared=False, **variables):
        """The environment of a process that runs our programs. `shared`: ranks may share the GPU."""
        # In a rehearsal, the simulated GPU replaces the CUDA runtime and NCCL.
        first = os.environ.get("SIMULATED_GPU_LIBRARIES", "")
        places = [
            first,
            self.newer_nccl.parent if self.newer_nccl.exists() else "",
            *nvidia_libraries(),
            self.folder / "lib",
        ]
        path = ":".join(str(place) for place in places if place)
        return {
            **os.environ,
            "LD_LIBRARY_PATH": path,
            "CUDA_DEVICE_MAX_CONNECTIONS": "32",
            **(SHARES_A_GPU if shared else {}),
            **variables,
        }

    def run(self, *arguments, timeout, **environment):
        """Runs a program and returns what it printed.

        Raises RuntimeError with the end of its output if it fails or takes longer than `timeout`.
        """
        with subprocess.Popen(
            [str(argument) for argument in arguments],
            env=self.environment(**environment),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        ) as process:
            try:
                out, said = process.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                stacks = "".join(stacks_of(pid) for pid in (process.pid, *children_of(process.pid)))
                for pid in (*children_of(process.pid), process.pid):
                    os.kill(pid, signal.SIGKILL)
                out, said = process.communicate()
                raise RuntimeError(
                    f"took longer than {timeout:.0f} s: {(said or out)[-500:]}\n{stacks}".rstrip()
                ) from None
        if process.returncode != 0:
            raise RuntimeError(f"exit code {process.returncode}: {(said or out)[-900:].strip()}")
        return out


def children_of(pid):
    try:
        return [
            int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
        ]
    except OSError:
        return []


def stacks_of(pid):
    """The stacks of a program that hangs, from cuda-gdb or gdb; empty if neither is installed."""
    for debugger in ("cuda-gdb", "gdb"):
        if shutil.which(debugger):
            try:
                run = subprocess.run(
                    [debugger, "-p", str(pid), "-batch", "-ex", "thread apply all bt 14"],
                    capture_output=True,
                    text=True,
                    timeout=25,
                    stdin=subprocess.DEVNULL,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return f"{debugger} of {pid} took longer than 25 s\n"
            return "\n".join(line[:160] for line in run.stdout.splitlines() if line.startswith(("#", "Thread"))) + "\n"
    return ""


def nvidia_libraries():
    """Folders of the CUDA runtime and of NCCL that were installed as Python packages with PyTorch."""
    found = importlib.util.find_spec("nvidia")
    places = []
    for root in found.submodule_search_locations if found else []:
        for pattern in ("*/lib/libcudart.so.*", "*/lib/libnccl.so.2"):
            places += sorted({str(path.parent) for path in pathlib.Path(root).glob(pattern)})
    return places
