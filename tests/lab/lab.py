#!/usr/bin/env python3
"""The lab: real DDP steps between network namespaces with shaped links, as ground truth on one machine.

Each rank has a namespace. veth pairs connect them to a bridge in another namespace, and a token bucket shapes the
egress of each rank. Everything is in private network and mount namespaces, so nothing is left behind. If the system
refuses namespaces, the script says so and ends with 77.

    tests/lab/lab.py --program build/release/real/ddpsim-real -o measured

writes one CSV line per (model, ranks, backend, cap, views, launch) and the all-reduce points of the same job.
"""

import argparse
import csv
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

import compare_reducers
import lab_workloads
import repeated

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402

SKIPPED = 77
PREPARED = "DDPSIM_LAB_PREPARED"
ALL_REDUCES = "4KiB,64KiB,256KiB,1MiB,4MiB,16MiB"
COLUMNS = [
    "model",
    "ranks",
    "rate",
    "backend",
    "launch",
    "kind",
    "name",
    "bucket_cap_mb",
    "gradient_as_bucket_view",
    "size_bytes",
    "median_us",
    "p10_us",
    "p90_us",
    "backward_us",
    "exposed_communication_us",
    "finalize_us",
    "bucket_bytes",
    "comm_hook",
]
# reno is used because BBR leaves a tenth to a quarter of a link unused if both directions are busy.
TCP = (
    ("tcp_congestion_control", "reno"),
    ("tcp_slow_start_after_idle", "0"),
    ("tcp_wmem", "4096 4194304 16777216"),
    ("tcp_rmem", "4096 4194304 16777216"),
)


def skip(reason):
    print(f"lab: skipped, {reason}")
    sys.exit(SKIPPED)


def require_backend(program, backend):
    """Skips the test if this ddpsim-real was built without the backend. The program checks that before the workload."""
    said = subprocess.run(
        [program, "no-such-workload", "--backend", backend], capture_output=True, text=True, check=False
    ).stderr
    if "not in this build" in said:
        skip(said.strip())


def own_namespaces():
    """Runs this script again inside namespaces of its own. In this way root keeps its real-time priority."""
    if os.environ.get(PREPARED):
        return
    # With a process namespace, anything that ends this script also ends its ranks, even SIGKILL.
    flags = ["-mn" if os.geteuid() == 0 else "-rmn", "--pid", "--fork", "--kill-child", "--mount-proc"]
    for tool in ("unshare", "ip", "tc"):
        if shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None:
            skip(f"{tool} is not here (Debian: util-linux, iproute2)")
    probe = subprocess.run(
        [
            "unshare",
            *flags,
            "--",
            "sh",
            "-c",
            "mount -t tmpfs tmpfs /run && ip link add probe0 type "
            "veth peer name probe1 && tc qdisc add dev probe0 root tbf rate 1gbit burst 128kb limit 8mb",
        ],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode != 0:
        skip("network namespaces or traffic shaping are refused here: " + probe.stderr.strip().splitlines()[-1])
    os.execvpe(
        "unshare",
        [
            "unshare",
            *flags,
            "--",
            "sh",
            "-c",
            'mount -t tmpfs tmpfs /run && exec "$@"',
            "lab",
            sys.executable,
            os.path.abspath(sys.argv[0]),
            *sys.argv[1:],
        ],
        dict(environment(), **{PREPARED: "1"}),
    )


def environment():
    return dict(os.environ, PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def do(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def inside(rank, *command):
    return ["ip", "netns", "exec", f"rank{rank}", *command]


def build_network(ranks, rate):
    do("ip", "netns", "add", "switch")
    do("ip", "-n", "switch", "link", "add", "bridge", "type", "bridge")
    do("ip", "-n", "switch", "link", "set", "bridge", "up")
    for rank in range(ranks):
        do("ip", "netns", "add", f"rank{rank}")
        do(
            "ip",
            "link",
            "add",
            "eth0",
            "netns",
            f"rank{rank}",
            "type",
            "veth",
            "peer",
            "name",
            f"port{rank}",
            "netns",
            "switch",
        )
        do("ip", "-n", "switch", "link", "set", f"port{rank}", "master", "bridge", "up")
        do("ip", "-n", f"rank{rank}", "addr", "add", f"10.77.0.{rank + 1}/24", "dev", "eth0")
        do("ip", "-n", f"rank{rank}", "link", "set", "eth0", "up")
        do("ip", "-n", f"rank{rank}", "link", "set", "lo", "up")
        do(
            *inside(
                rank, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "128kb", "limit", "8mb"
            )
        )
        for key, value in TCP:
            do(*inside(rank, "sh", "-c", f"echo '{value}' > /proc/sys/net/ipv4/{key}"))
    for rank in range(ranks):  # lets all learn addresses first
        for other in range(ranks):
            subprocess.run(
                inside(
                    rank,
                    "ip",
                    "neigh",
                    "replace",
                    f"10.77.0.{other + 1}",
                    "dev",
                    "eth0",
                    "nud",
                    "permanent",
                    "lladdr",
                    address_of(other),
                )
                if other != rank
                else ["true"],
                check=True,
            )


def address_of(rank):
    return subprocess.run(
        inside(rank, "cat", "/sys/class/net/eth0/address"), check=True, capture_output=True, text=True
    ).stdout.strip()


def remove_network(ranks):
    for name in ["switch", *(f"rank{rank}" for rank in range(ranks))]:
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def priority():
    """The command for real-time priority, which keeps other load out; empty if it is not allowed."""
    command = ["chrt", "-r", "1"]
    if (
        shutil.which("chrt")
        and subprocess.run([*command, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0
    ):
        return command
    return []


def program(backend, arguments):
    if backend != "torch":
        return [os.path.abspath(arguments.program)]
    runner = pathlib.Path(__file__).resolve().parents[2] / "real" / "torch_runner.py"
    return [arguments.torch_python, str(runner)]


def launch(command, ranks, folder, timeout, scheduling=None):
    """Runs one job with a process in each namespace, and returns its measurement.

    `scheduling`: a command to put in front, by default priority().
    """
    processes = []
    scheduling = priority() if scheduling is None else scheduling
    for rank in range(ranks):
        env = dict(
            environment(),
            RANK=str(rank),
            WORLD_SIZE=str(ranks),
            MASTER_ADDR="10.77.0.1",
            MASTER_PORT="29500",
            GLOO_SOCKET_IFNAME="eth0",
            OMP_NUM_THREADS="1",
        )
        processes.append(
            subprocess.Popen(inside(rank, *scheduling, *command, "-o", str(folder)), env=env, stdout=subprocess.DEVNULL)
        )
    try:
        codes = [process.wait(timeout=patience.seconds(timeout)) for process in processes]
    finally:
        for process in processes:
            process.kill()
    if any(codes):
        sys.exit(f"lab: ranks ended with {codes}: {' '.join(command)}")
    return json.loads((folder / "measurement.json").read_text(encoding="utf-8"))


def rows_of(measurement, common):
    for one in measurement["configurations"]:
        step = one["iteration_us"]
        yield {
            **common,
            "kind": "step",
            "name": one["name"],
            "bucket_cap_mb": one["bucket_cap_mb"],
            "gradient_as_bucket_view": int(one["gradient_as_bucket_view"]),
            "median_us": step["median"],
            "p10_us": step["p10"],
            "p90_us": step["p90"],
            "backward_us": one["backward_us"]["median"],
            "exposed_communication_us": one["exposed_communication_us"]["median"],
            "finalize_us": one["finalize_us"]["median"],
            "bucket_bytes": " ".join(str(bucket["bytes"]) for bucket in one["buckets"]),
        }
    for one in measurement["all_reduces"]:
        time_us = one["time_us"]
        yield {
            **common,
            "kind": "all_reduce",
            "name": "all_reduce",
            "size_bytes": one["size_bytes"],
            "median_us": time_us["median"],
            "p10_us": time_us["p10"],
            "p90_us": time_us["p90"],
        }
        for cast in ("compress", "decompress"):  # of a compression hook
            if f"{cast}_us" in one:
                time_us = one[f"{cast}_us"]
                yield {
                    **common,
                    "kind": cast,
                    "name": cast,
                    "size_bytes": one["size_bytes"],
                    "median_us": time_us["median"],
                    "p10_us": time_us["p10"],
                    "p90_us": time_us["p90"],
                }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="ddpsim-real")
    parser.add_argument("--ranks", default="2", help="2,4")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--models", default="resnet-like,bert-like")
    parser.add_argument("--backends", default="cpu-gloo,c10d-gloo", help="also: torch, real DistributedDataParallel")
    parser.add_argument("--torch-python", default="/usr/bin/python3", help="the Python of backend torch")
    parser.add_argument("--caps", default="1,5,25")
    parser.add_argument("--views", default="both")
    parser.add_argument("--comm-hook", choices=["none", "fp16", "bf16"], default="none")
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=9)
    parser.add_argument("-o", "--output", help="CSV file; default: standard output")
    parser.add_argument(
        "--check", action="store_true", help="compare both reducers; a point counts that differs again (repeated.py)"
    )
    arguments = parser.parse_args()
    own_namespaces()
    if arguments.check:
        sys.exit(check(arguments))
    measure(arguments)


def check(arguments):
    for backend in compare_reducers.BACKENDS:
        require_backend(arguments.program, backend)
    with tempfile.TemporaryDirectory() as folder:
        arguments.output = os.path.join(folder, "measured.csv")

        def attempt():
            measure(arguments)
            return compare_reducers.compare(arguments.output, compare_reducers.BACKENDS, compare_reducers.BOUND)

        failed, _ = repeated.failures(attempt)
    return 4 if failed else 0


def measure(arguments):
    begin, rows, provenance = time.time(), [], {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, value in lab_workloads.all_workloads().items():
            (folder / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
        for ranks in map(int, arguments.ranks.split(",")):
            build_network(ranks, arguments.rate)
            try:
                for model in arguments.models.split(","):
                    for number in range(arguments.launches):
                        for backend in arguments.backends.split(","):
                            command = [
                                *program(backend, arguments),
                                str(folder / f"{model}.json"),
                                "--backend",
                                backend,
                                "--caps",
                                arguments.caps,
                                "--views",
                                arguments.views,
                                "--torch",
                                "1.13",
                                "--iterations",
                                str(arguments.iterations),
                                "--all-reduce",
                                ALL_REDUCES,
                                "--comm-hook",
                                arguments.comm_hook,
                            ]
                            measurement = launch(command, ranks, folder, 600)
                            provenance[backend] = measurement["setup"]
                            common = {
                                "model": model,
                                "ranks": ranks,
                                "rate": arguments.rate,
                                "backend": backend,
                                "launch": number,
                                "comm_hook": arguments.comm_hook,
                            }
                            rows += rows_of(measurement, common)
                            print(
                                f"lab: {model}, {ranks} ranks, {backend}, launch {number}: {time.time() - begin:.0f} s",
                                file=sys.stderr,
                            )
            finally:
                remove_network(ranks)
    out = open(arguments.output, "w", encoding="utf-8", newline="") if arguments.output else sys.stdout
    with out:
        for backend, setup in provenance.items():
            for key in ("program", "communication", "kernel", "iterations", "torch_rules"):
                if key in setup:
                    out.write(f"# {backend} {key}: {setup[key]}\n")
        out.write(
            f"# links: one namespace per rank, tbf {arguments.rate} per egress, reno; priority: "
            f"{' '.join(priority()) or 'none'}; {os.cpu_count()} cores, Python {platform.python_version()}\n"
        )
        out.write(
            "# command: tests/lab/lab.py "
            + " ".join(argument for argument in sys.argv[1:] if "/" not in argument)
            + "\n"
        )
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
