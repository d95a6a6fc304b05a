"""scripts/collect.sh: what it finds, that it names nobody, and that every command accepts its archive.

The archive stands for a workload and a cluster. Small programs of the test stand in for programs and the sysfs that
this machine lacks."""

import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import textwrap
import unittest

import patience
from command import ROOT, SHARED, answer, ddpsim
from held_port import held_port
from torch_python import ENVIRONMENT, python_with_torch, under_newest_torch

COLLECT = ROOT / "scripts" / "collect.sh"
INPUTS = ROOT / "tests" / "golden" / "inputs"
FIXTURES = ROOT / "tests" / "fixtures"
TABLE = ROOT / "scripts" / "environment_variables.json"
USER, HOST, FOLDER = "quillfeather", "marmaladehost", "periwinkle lair"
ADDRESSES = ["10.77.66.55", "fe80::1ff:fe23:4567:890a", "aa:bb:cc:dd:ee:0f"]
SECRETS = [
    USER,
    HOST,
    "example.org",
    "periwinkle",
    "lair",
    "topsecret",
    "tokenofthejob",
    *ADDRESSES,
    "bb:cc:dd",
    "bb-cc-dd",
    "deadbeef77",
    "friends",
    "acme",
    "jane",
    "my proj",
    "001122aabbcc",
]
PROGRAM = "acme_train.py"
SAID = f"seen by {USER} on {HOST}.example.org at /home/{USER}/topsecret/x, '/data/{USER} and friends/x', {' '.join(ADDRESSES)} aa-bb-cc-dd-ee-0f-11-22"
LAUNCHERS = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "OMPI_",
    "PMI",
    "SLURM_",
    "MASTER_",
    "TORCHELASTIC_",
    "NCCL_",
    "CUDA_",
    "DDPSIM_COLLECT",
)

GPUS = """index, name, driver_version, pcie.link.gen.current, pcie.link.width.current, clocks.sm [MHz], power.limit [W]
{rows}"""
MATRIX = (FIXTURES / "topologies" / "four-a100.txt").read_text()
LSPCI = f"""3b:00.0 3D controller: NVIDIA Corporation GV100 (rev a1)
\tSubsystem: {HOST}
\tLnkCap:\tPort #0, Speed 8GT/s, Width x16
\tLnkSta:\tSpeed 8GT/s, Width x8
\tCapabilities: [150] Device Serial Number aa-bb-cc-dd-ee-0f-11-22
5e:00.0 SATA controller: {USER}
\tLnkSta:\tSpeed 5GT/s, Width x1
"""

TRAINING = """\
import torch
torch.distributed.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(6)])
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters())
rate = torch.optim.lr_scheduler.StepLR(optimizer, 10)
for _ in range(100000):
    optimizer.zero_grad()
    model(torch.randn(8, 64)).sum().backward()
    optimizer.step()
    rate.step()
"""


def program(folder, name, text):
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def unpacked(archive):
    """The text of each file by its path in the archive, unzipped."""
    with tarfile.open(archive) as tar:
        files = {}
        for member in tar.getmembers():
            assert (member.uname, member.gname, member.uid, member.gid, member.mtime) == ("", "", 0, 0, 0)
            content = tar.extractfile(member).read()
            files[member.name.partition("/")[2]] = (
                gzip.decompress(content) if member.name.endswith(".gz") else content
            ).decode()
        return files


class Collects(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / FOLDER
        self.programs, self.sysfs = self.folder / "programs", self.folder / "sysfs"
        self.programs.mkdir(parents=True)
        self.sysfs.mkdir()
        for name in (
            "bash",
            "sh",
            "env",
            "python3",
            "timeout",
            "grep",
            "sed",
            "awk",
            "cat",
            "mkdir",
            "rm",
            "rmdir",
            "touch",
            "find",
            "wc",
            "tr",
            "id",
            "uname",
            "nproc",
            "sleep",
            "dirname",
            "setsid",
            "mv",
            "head",
            "tail",
        ):
            (self.programs / name).symlink_to(shutil.which(name))
        program(self.programs, "hostname", f'[ "$1" = -f ] && echo {HOST}.example.org || echo {HOST}\n')

    def collect(self, *arguments, **variables):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(LAUNCHERS)}
        run = subprocess.run(
            [str(COLLECT), *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=patience.seconds(170),
            check=False,
            env={
                **environment,
                "USER": USER,
                "LOGNAME": USER,
                "HOME": f"/home/{USER}",
                "DDPSIM_SYSFS": str(self.sysfs),
                "PATH": str(self.programs),
                **variables,
            },
        )
        return run

    def archive(self, *arguments, **variables):
        run = self.collect(*arguments, **variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout, unpacked(self.folder / "ddpsim-collect.tar.gz")

    def machine(self, gpus=4, model="Tesla V100-SXM2-16GB", matrix=MATRIX):
        """Makes the programs and the sysfs of a node with GPUs."""
        (self.folder / "matrix").write_text(matrix + f"  {SAID}\n")
        rows = "\n".join(f"{index}, {model}, 535.86, 3, 16, 1380 MHz, 300.00 W" for index in range(gpus))
        (self.folder / "gpus").write_text(GPUS.format(rows=rows) + "\n")
        (self.folder / "lspci").write_text(LSPCI)
        log = (INPUTS / "n1.txt").read_text().replace("node0", HOST)
        (self.folder / "log").write_text(f"# {SAID}\n" + log)
        shutil.copy(FIXTURES / "topologies" / "two-v100.xml", self.folder / "dump.xml")
        here = str(self.folder)
        program(
            self.programs,
            "nvidia-smi",
            textwrap.dedent(f"""\
            case "$*" in
              *clocks_event*|*clocks.applications*) exit 2 ;;
              --query-gpu*) cat '{here}/gpus' ;;
              "topo -m") cat '{here}/matrix' ;;
              -L) for i in {" ".join(map(str, range(gpus)))}; do echo "GPU $i: {model} (UUID: GPU-deadbeef77)"; done ;;
            esac
            """),
        )
        program(self.programs, "lspci", f"cat '{here}/lspci'\n")
        program(self.programs, "all_reduce_perf", f"cat '{here}/log'\n")
        for path, value in {
            "bus/pci/devices/0000:3b:00.0/class": "0x030200",
            "bus/pci/devices/0000:3b:00.0/current_link_speed": "5.0 GT/s PCIe",
            "bus/pci/devices/0000:3b:00.0/max_link_speed": "8.0 GT/s PCIe",
            "bus/pci/devices/0000:5e:00.0/class": "0x010601",
            "bus/pci/devices/0000:5e:00.0/current_link_speed": "5.0 GT/s PCIe",
            "class/infiniband/mlx5_0/ports/1/rate": "100 Gb/sec (4X EDR)",
            "class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
            "class/infiniband/mlx5_0/ports/1/link_layer": "InfiniBand",
            "class/infiniband/mlx5_0/node_guid": "aabb:ccdd:dead:beef",
            "class/infiniband/mlx5_2/ports/1/rate": "100 Gb/sec (4X EDR)",
            "class/infiniband/mlx5_2/ports/1/state": "4: ACTIVE",
            "class/infiniband/mlx5_2/ports/1/link_layer": "InfiniBand",
            "class/net/enx001122aabbcc/mtu": "1500",
            "class/net/enx001122aabbcc/device/x": "",
            "class/net/ens3/mtu": "9000",
            "class/net/ens3/device/x": "",
            f"class/net/{USER}0/mtu": "1500",
            f"class/net/{USER}0/device/x": "",
        }.items():
            place = self.sysfs / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(value + "\n")

    def evidence(self):
        """The files of a user's job with three ranks. Names of people are in all of them."""
        given = self.folder / "given"
        given.mkdir()
        for rank in range(3):
            trace = json.loads((INPUTS / f"rank{rank}.json").read_text())
            trace["traceName"] = f"/home/{USER}/topsecret/trace.json"
            trace["traceEvents"].append(
                {"ph": "M", "name": "process_labels", "ts": 0, "pid": 7, "tid": 0, "args": {"labels": SAID}}
            )
            trace["traceEvents"].append(
                {
                    "ph": "X",
                    "cat": "python_function",
                    "name": f"/home/{USER}/train.py(12): step",
                    "pid": 7,
                    "tid": 3,
                    "ts": 1712195495500010,
                    "dur": 1,
                    "args": {f"{USER}": 1},
                }
            )
            for name in (
                f"{PROGRAM}(12): <module>",
                "acmepkg/models/x.py(34): forward",
                "/home/jane doe/my proj/train.py(3): main",
                "/home/jane doe/my proj/run(3): main",
                "/opt/jane doe/my proj/x.so",
                f"python {PROGRAM}",
                "by jane@corp.example.org",
                f"{PROGRAM}(12): a;acmepkg/y.py(7): b",
                'File "/home/jane doe/x", line 3',
                "nn.Module: Linear_0",
                "/opt/jane/megatron/core/distributed/acme.py(5): f",
                "deepspeed/runtime/engine.py(7): forward",
            ):
                trace["traceEvents"].append(
                    {
                        "ph": "X",
                        "cat": "python_function",
                        "name": name,
                        "pid": 7,
                        "tid": 3,
                        "ts": 1712195495500010,
                        "dur": 1,
                        "args": {"said": f"here\n{name}", "schema": f"/home/{USER}"},
                    }
                )
            (given / f"rank{rank}-of-{USER}.json").write_text(json.dumps(trace))
            (given / f"log{rank}.txt").write_text(
                f"{HOST}:12:34 [{rank}] NCCL INFO Bootstrap : Using eth0:{ADDRESSES[0]}<0>\n"
                f"{HOST}:12:34 [{rank}] NCCL INFO NCCL_NET_PLUGIN set by environment to {SAID}\n"
                f"{HOST}:12:34 [{rank}] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"
                f"{HOST}:12:34 [{rank}] NCCL INFO NET/Socket : Using enx001122aabbcc:{ADDRESSES[0]}<0>\n"
                f'{PROGRAM}:12: UserWarning\n  File "/opt/jane doe/my proj/x.py", line 4\n'
                f"at {self.folder}/deep/x\n"
            )
        log = json.loads((FIXTURES / "ddp-log-resnet18.json").read_text())
        (given / "ddp.json").write_text(json.dumps({**log, "master_addr": f"{HOST}.example.org", "module_name": SAID}))
        (given / "steps.csv").write_text("step_time_ms\n" + "104.5\n" * 20)
        return ["--trace", f"given/rank*-of-{USER}.json", "--nccl-log", "given/log*.txt", "--ddp-log", "given/ddp.json"]

    def test_it_names_nobody(self):
        self.machine()
        (self.folder / "topology.xml").write_text(
            (FIXTURES / "topologies" / "two-v100.xml")
            .read_text()
            .replace('guid="0x1f"', 'guid="0xdeadbeef77"')
            .replace("</system>", f"<!-- {SAID} --></system>")
        )
        said, files = self.archive(
            *self.evidence(),
            "--topology",
            "topology.xml",
            "--step-time",
            "given/steps.csv",
            "--batch-size",
            32,
            NCCL_ALGO="Ring",
            NCCL_TOPO_FILE=f"/home/{USER}/x",
            NCCL_IB_HCA="enx001122aabbcc",
            DDPSIM_JOB_TOKEN="tokenofthejob",
            NCCL_SOCKET_IFNAME=HOST,
            LD_PRELOAD="",
        )
        for name, text in files.items():
            for secret in SECRETS:
                self.assertNotIn(secret, name)
                self.assertNotIn(secret, text, f"{secret} is in {name}")
            self.assertNotIn(str(self.folder.parent), text)
            if name != "manifest.json":
                self.assertIn(f"ddpsim-collect/{name} ", said)  # listed before it is written
        manifest = json.loads(files["manifest.json"])
        self.assertEqual(
            (manifest["schema"], manifest["ranks"], manifest["nodes"], manifest["batch_size"]),
            ("ddpsim.collect/1", 3, 1, 32),
        )
        self.assertEqual(
            sorted(member["path"] for member in manifest["members"]), sorted(set(files) - {"manifest.json"})
        )
        kinds = {member["kind"] for member in manifest["members"]}
        self.assertEqual(
            kinds,
            {
                "trace",
                "ddp_log",
                "nccl_log",
                "environment",
                "versions",
                "pinning",
                "gpus",
                "devices",
                "lspci",
                "topology",
                "matrix",
                "all_reduce_log",
                "step_times",
            },
        )
        # Facts that affect speed stay.
        self.assertIn("NCCL_ALGO=Ring\n", files["environment/rank0.txt"])
        self.assertIn("NCCL_TOPO_FILE=<path>\n", files["environment/rank0.txt"])
        self.assertNotIn("JOB_TOKEN", files["environment/rank0.txt"])
        self.assertIn("LnkSta:\tSpeed 8GT/s, Width x8", files["hardware/node0-lspci.txt"])
        self.assertNotIn("5GT/s", files["hardware/node0-lspci.txt"])
        devices = files["hardware/node0-devices.txt"]
        self.assertIn("/sys/bus/pci/devices/0000:3b:00.0/current_link_speed: 5.0 GT/s PCIe\n", devices)
        self.assertIn("/sys/class/infiniband/mlx5_0/ports/1/rate: 100 Gb/sec (4X EDR)\n", devices)
        self.assertIn("/sys/class/net/ens3/mtu: 9000\n", devices)
        self.assertNotIn("0000:5e", devices)
        self.assertIn("node0:12:34 [1] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC", files["nccl/rank1.txt"])
        names = {event.get("name") for event in json.loads(files["traces/rank0.json.gz"])["traceEvents"]}
        for name in (
            "<path>(12): <module>",
            "<path>(34): forward",
            "<path>(3): main",
            "nn.Module: Linear_0",
            "megatron/core/distributed/_.py(5): f",
            "deepspeed/runtime/engine.py(7): forward",
        ):  # these tell the scheme
            self.assertIn(name, names)
        self.assertIn('<path>:12: UserWarning\n  File "<path>", line 4\nat <path>\n', files["nccl/rank0.txt"])
        self.assertRegex(files["pinning/rank0.txt"], r"cores=\d+\nCpus_allowed_list=\d")
        self.assertRegex(files["versions/rank0.txt"], r"python=3\.")

    def test_the_same_answer_as_from_the_traces_themselves(self):
        arguments = self.evidence()
        self.archive(*arguments)
        archive = self.folder / "ddpsim-collect.tar.gz"
        plain = ddpsim("import", *(INPUTS / f"rank{rank}.json" for rank in range(3)))
        packed = ddpsim("import", archive)
        self.assertEqual(packed.code, 0, packed.err)
        own = re.compile(r'^  "provenance": .*?^  \}|^  "name": .*?$', re.DOTALL | re.MULTILINE)  # its origin
        self.assertEqual(
            own.sub("", packed.out).replace(str(archive), ""), own.sub("", plain.out).replace(str(INPUTS), "")
        )
        self.assertIn("3 of 3 ranks on 1 node left a trace", packed.err)

    def test_the_topology_dump_makes_a_cluster(self):
        self.machine()
        self.archive("--trace", INPUTS / "three-layers.json", "--topology", "dump.xml", "--step-time", "104ms")
        archive = self.folder / "ddpsim-collect.tar.gz"
        document = answer("topo", archive)
        self.assertEqual((document["cluster"]["name"], document["cluster"]["gpus_per_node"]), ("ddpsim-collect", 2))
        run = ddpsim("simulate", archive, archive)
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("--measured-step 104ms", run.out + run.err)
        folder = self.folder / "unpacked"
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        again = ddpsim("simulate", folder / "ddpsim-collect", folder / "ddpsim-collect", "--json")
        self.assertEqual(again.code, 0, again.err)
        first, second = (json.loads(text) for text in (ddpsim("simulate", archive, archive, "--json").out, again.out))
        self.assertEqual(first["iteration_us"], second["iteration_us"])

    def test_the_matrix_makes_a_cluster_that_the_log_calibrates(self):
        self.machine()
        self.archive("--trace", INPUTS / "three-layers.json")
        archive, here = "ddpsim-collect.tar.gz", {"cwd": self.folder}
        calibrated = answer("allreduce", archive, "-b", "1M", "-e", "16M", "--nccl", "2.18.3", **here)
        specified = answer("allreduce", f"{archive}:spec", "-b", "1M", "-e", "16M", "--nccl", "2.18.3", **here)
        times = {row["size_bytes"]: row["time_us"] for row in calibrated["rows"]}
        self.assertAlmostEqual(times[16777216], 259.67, delta=0.1 * 259.67)  # the time in the log
        self.assertNotEqual(
            [row["time_us"] for row in specified["rows"]], [row["time_us"] for row in calibrated["rows"]]
        )
        run = ddpsim("simulate", archive, archive, **here)
        self.assertEqual(run.code, 0, run.err)
        two = ddpsim("simulate", archive, f"{archive}@2", **here)
        self.assertEqual(two.code, 3)
        self.assertIn("nic", two.err)
        self.assertEqual(ddpsim("simulate", archive, f"{archive}@2 nic:100Gbps:ib", **here).code, 0)
        done = ddpsim("calibrate", archive, "--cluster", archive, "-o", "lab.json", **here)
        self.assertEqual(done.code, 0, done.err)

    def test_a_log_that_cannot_calibrate_is_named(self):
        self.machine()
        rows = (INPUTS / "n1.txt").read_text().splitlines(keepends=True)
        (self.folder / "perf.txt").write_text(
            "".join(row for row in rows if not re.match(r"\s+\d+\s+\d+ ", row) or " 1048576 " in row)
        )
        self.archive("--trace", INPUTS / "three-layers.json", "--all-reduce", "perf.txt")
        for command in (
            ["simulate", "ddpsim-collect.tar.gz", "ddpsim-collect.tar.gz"],
            ["allreduce", "ddpsim-collect.tar.gz"],
        ):
            document = answer(*command, cwd=self.folder)
            said = [
                warning
                for warning in document["warnings"]
                if "do not calibrate ddpsim-collect.tar.gz, so data sheet values are used" in warning
            ]
            self.assertEqual(len(said), 1, document["warnings"])

    def test_many_nodes_are_one_cluster(self):
        self.machine()
        (self.folder / "job.out").write_text(
            f"{HOST}0:12:34 [0] NCCL INFO {USER} and another{USER} met {HOST}1.example.org\n"
        )
        for rank in (1, 0):
            program(self.programs, "hostname", f"echo {HOST}{rank}.example.org\n")
            run = self.collect(
                "--step-time",
                "104ms",
                "--nccl-log",
                "job.out",
                RANK=str(rank),
                WORLD_SIZE="2",
                LOCAL_RANK="0",
                SLURM_JOB_ID="7",
                USER=f"{'another' if rank else ''}{USER}",
            )
            self.assertEqual(run.returncode, 0, run.stderr)
        files = unpacked(self.folder / "ddpsim-collect.tar.gz")
        manifest = json.loads(files["manifest.json"])
        self.assertEqual((manifest["ranks"], manifest["nodes"], manifest["step_us"]), (2, 2, 104000))
        self.assertIn("hardware/node1-gpus.csv", files)
        self.assertEqual(files["nccl/rank0.txt"], "node0:12:34 [0] NCCL INFO <hidden> and <hidden> met node1\n")
        document = answer("topo", self.folder / "ddpsim-collect.tar.gz")
        self.assertEqual((document["cluster"]["nodes"], document["cluster"]["gpus_per_node"]), (2, 4))

    def test_a_rank_that_left_nothing_is_named(self):
        run = self.collect(
            "--step-time", "104ms", RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", SLURM_JOB_ID="8", DDPSIM_COLLECT_WAIT="1"
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("rank 1 left nothing in the folder", run.stdout)

    def test_ranks_of_a_host_without_a_local_rank(self):
        """Each rank takes itself for the first and describes the node. The archive has this description once."""
        self.machine()
        for rank in (1, 0):
            run = self.collect("--step-time", "104ms", RANK=str(rank), WORLD_SIZE="2", SLURM_JOB_ID="9")
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(answer("topo", self.folder / "ddpsim-collect.tar.gz")["cluster"]["nodes"], 1)

    def listed(self, script=ROOT / "scripts" / "job_archive.py", **variables):
        return subprocess.run(
            [script, "environment"], env={**os.environ, **variables}, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    def test_every_variable_of_the_table_is_collected(self):
        """The number is that of the file, which is the number that ddpsim reads from it
        (environment_table_test.cpp)."""
        text = TABLE.read_text(encoding="utf-8")
        names = re.findall(r'"name": "([A-Z0-9_]+)"', text)
        self.assertEqual(len(names), text.count('"name":'))
        self.assertEqual(len(names), len(set(names)))
        packed = [line.split("=")[0] for line in self.listed(**dict.fromkeys(names, "1"))]
        self.assertEqual(packed, sorted(names))

    def test_the_scripts_alone_collect_variables(self):
        shutil.copytree(ROOT / "scripts", self.folder / "elsewhere")
        script = self.folder / "elsewhere" / "job_archive.py"
        self.assertIn("NCCL_ALGO=Ring", self.listed(script, NCCL_ALGO="Ring"))

    def test_how_many_ranks_a_node_has_is_collected(self):
        groups = json.loads(TABLE.read_text(encoding="utf-8"))["groups"]
        of_launchers = [row["name"] for one in groups if one["group"] == "launchers" for row in one["variables"]]
        self.assertIn("LOCAL_WORLD_SIZE", of_launchers)
        said = {
            **dict.fromkeys(of_launchers, "8"),
            "SLURM_NTASKS_PER_NODE": "8(x2)",
            "TORCHELASTIC_RUN_ID": f"{USER}-run",
        }
        listed = self.listed(**said)
        for name, value in said.items():
            self.assertIn(f"{name}={'<hidden>' if USER in value else value}", listed)

    def test_hosts_that_only_a_log_names(self):
        """A job of two nodes was collected on one node. The other never ran collect.sh."""
        log = "".join(
            f"{HOST}{node}:12:34 [{gpu}] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via NET/Socket/0\n"
            for node in ("", "-b")
            for gpu in (0, 1)
        )
        for before in ("[1,0]<stdout>:", "[default1]:", "0: "):  # mpirun --tag-output, torchrun --tee, srun -l
            log += f"{before}{HOST}:12:34 [0] NCCL INFO Bootstrap : Using eth0\n"
            log += f"{before}{HOST}-e:12:34 [0] NCCL INFO Bootstrap : Using eth0\n"
        (self.folder / "job.out").write_text(log)
        (self.folder / "perf.txt").write_text((INPUTS / "n1.txt").read_text().replace("node0", f"{HOST}-c"))
        (self.folder / "ddp.json").write_text(
            json.dumps({"master_addr": f"{HOST}-d.example.org", "bucket_cap_bytes": 1})
        )
        _, files = self.archive("--nccl-log", "job.out", "--all-reduce", "perf.txt", "--ddp-log", "ddp.json")
        for name, text in files.items():
            self.assertNotIn(HOST, text, name)
            self.assertNotIn("example.org", text, name)
        self.assertIn("node1:12:34 [0] NCCL INFO", files["nccl/rank0.txt"])
        self.assertEqual(json.loads(files["manifest.json"])["nodes"], 3)

    def test_missing_files_are_named_once(self):
        said, files = self.archive("--step-time", "104ms")
        for kind in ("gpus", "matrix", "topology", "trace", "nccl_log", "ddp_log", "all_reduce_log", "lspci"):
            self.assertEqual(len(re.findall(rf"not found: {kind}: ", said)), 1, f"{kind}: {said}")
        archive = self.folder / "ddpsim-collect.tar.gz"
        run = ddpsim("simulate", archive, "2xv100-nvlink")
        self.assertEqual(run.code, 3)
        self.assertIn(
            "holds neither a trace nor DDP logging data, so there is no workload in it: neither --trace nor --run was given",
            run.err,
        )
        run = ddpsim("simulate", "resnet50-v100-b32", archive)
        self.assertEqual(run.code, 3)
        self.assertIn("holds neither NCCL's topology dump nor the matrix of nvidia-smi", run.err)
        self.assertIn("--topology FILE", run.err)

    def test_ddp_logging_data_stand_in_for_a_trace(self):
        (self.folder / "given").mkdir()
        shutil.copy(FIXTURES / "ddp-log-resnet18.json", self.folder / "given" / "ddp.json")
        self.archive("--ddp-log", "given/ddp.json")
        run = ddpsim("import", self.folder / "ddpsim-collect.tar.gz")
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("holds no trace (neither --trace nor --run was given): DDP logging data stand in", run.err)

    def test_a_step_time_as_it_is_written_everywhere(self):
        steps = self.folder / "given:1"  # file names may have colons
        steps.mkdir()
        (steps / "train.log").write_text("".join(f"step {step} took 0.1{step} loss 2.3\n" for step in range(1, 4)))
        _, files = self.archive("--step-time", "given:1/train.log:took=s")
        stated = [member for member in json.loads(files["manifest.json"])["members"] if member["kind"] == "step_times"]
        self.assertEqual(stated, [{"path": "step_times/stated.txt", "kind": "step_times", "key": "took=s"}])
        self.assertEqual(answer("diff", self.folder / "ddpsim-collect.tar.gz", "240ms")["before"]["step_us"], 120000)
        self.archive("--step-time", "given:1/train.log:took")
        self.assertIn('"took" has no unit', ddpsim("diff", self.folder / "ddpsim-collect.tar.gz", "240ms").err)
        self.archive("--step-time", "given:1/train.log:took=h")
        self.assertIn("not a unit of step times", ddpsim("diff", self.folder / "ddpsim-collect.tar.gz", "240ms").err)
        _, files = self.archive("--step-time", "8it/s")
        self.assertEqual(json.loads(files["manifest.json"])["step_us"], 125000)
        for text in ("given:1/other.log:took=s", "given:1/train.log:", "0it/s", ":"):
            run = self.collect("--step-time", text)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn(f"collect: --step-time {text}: ", run.stderr)

    def test_binary_files_are_left_out(self):
        shutil.copy(INPUTS / "tiny.sqlite", self.folder / "step.sqlite")
        said, files = self.archive("--trace", "step.sqlite")
        self.assertNotIn("traces/rank0.json.gz", files)
        self.assertIn("binary, so names in it cannot be replaced", said)

    def test_unknown_options_are_refused(self):
        for arguments in (["--trace"], ["--colour", "red"], ["--seconds", "soon"]):
            run = self.collect(*arguments)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn("scripts/collect.sh", run.stderr)
        run = self.collect("--step-time", "soon")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("neither a time such as 104ms nor a file", run.stderr)

    def test_hostile_archives(self):
        self.archive(*self.evidence())
        whole = (self.folder / "ddpsim-collect.tar.gz").read_bytes()
        hostile = self.folder / "hostile.tar.gz"

        def with_entry(change=None, extra=None):
            out = io.BytesIO()
            with tarfile.open(fileobj=io.BytesIO(whole)) as old, tarfile.open(fileobj=out, mode="w:gz") as new:
                for member in old.getmembers():
                    content = old.extractfile(member).read()
                    if member.name.endswith("manifest.json") and change:
                        content = content.replace(*change)
                    member.size = len(content)
                    new.addfile(member, io.BytesIO(content))
                if extra is not None:
                    new.addfile(extra, io.BytesIO(bytes(extra.size)) if extra.size else None)
            return out.getvalue()

        link = tarfile.TarInfo("ddpsim-collect/x")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        outside, bomb = tarfile.TarInfo("../../x"), tarfile.TarInfo("ddpsim-collect/bomb")
        bomb.size = 300 << 20
        for content, message in (
            (with_entry(extra=link), "is a link"),
            (with_entry(extra=outside), "outside its folder"),
            (with_entry(extra=bomb), "unpacks to more than 256 MiB"),
            (whole[: len(whole) * 2 // 3], "the gzip data ends early"),
            (with_entry((b"ddpsim.collect/1", b"ddpsim.collect/2")), 'another version, "ddpsim.collect/2"'),
        ):
            hostile.write_bytes(content)
            for command in (
                ["simulate", hostile, "2xv100-nvlink"],
                ["simulate", "resnet50-v100-b32", hostile],
                ["topo", hostile],
            ):
                run = ddpsim(*command)
                self.assertEqual(run.code, 3, f"{message}: {run.out}")
                self.assertIn(message, run.err)
                self.assertEqual(len(run.err.strip().splitlines()), 1, run.err)

    def attack(self, name):
        file = SHARED / "data" / "attack" / name
        if not file.exists():
            self.skipTest("shared/data/attack is not beside the checkout")
        return file

    def test_a_recording_that_is_cut_off_is_left_out_and_all_else_is_packed(self):
        trace = (INPUTS / "rank0.json").read_bytes()
        whole, zipped = gzip.compress(trace), self.folder / "cut.json.gz"
        for content in (whole[: len(whole) // 2], whole[:12], whole[:100] + b"\0" * 100 + whole[200:]):
            zipped.write_bytes(content)
            said, files = self.archive("--trace", "cut.json.gz", "--step-time", "104ms")
            self.assertIn("left out: traces/rank0.json.gz: its gzip stream is cut off or damaged", said)
            self.assertIn("versions/rank0.txt", files)
            self.assertEqual(json.loads(files["manifest.json"])["step_us"], 104000)

    def test_the_cut_recording_of_the_attack(self):
        said, files = self.archive("--trace", self.attack("cut.json.gz"))
        self.assertIn("its gzip stream is cut off or damaged", said)
        self.assertIn("its gzip stream is cut off or damaged", files["manifest.json"])  # not the name "cut" of the file
        self.assertIn("versions/rank0.txt", files)

    def test_an_impossible_rank_is_named(self):
        for number in (99999999999, 10**40):
            (self.folder / "big.json").write_text(json.dumps({"distributedInfo": {"rank": number}, "traceEvents": []}))
            said, files = self.archive("--trace", "big.json")
            self.assertIn("a job has at most 1000000 ranks", said)
            self.assertEqual(json.loads(files["manifest.json"])["ranks"], 1)

    def test_the_big_rank_of_the_attack(self):
        said, files = self.archive("--trace", self.attack("bigrank.json"))
        self.assertIn("a job has at most 1000000 ranks", said)
        self.assertEqual(json.loads(files["manifest.json"])["ranks"], 1)

    def test_a_date_in_a_file_name_is_not_a_rank(self):
        (self.folder / "rank_20261126181917.json").write_text(
            (INPUTS / "rank0.json").read_text().replace('"rank"', '"other"')
        )
        _, files = self.archive("--trace", "rank_20261126181917.json")
        self.assertIn("traces/rank0.json.gz", files)

    def test_ranks_that_left_nothing_are_not_listed_without_end(self):
        (self.folder / "rank900000.json").write_text((INPUTS / "rank0.json").read_text().replace('"rank"', '"other"'))
        _, files = self.archive("--trace", "rank900000.json")
        manifest = json.loads(files["manifest.json"])
        self.assertEqual(manifest["ranks"], 900001)
        self.assertLess(len(files["manifest.json"]), 1 << 20)

    def test_a_command_with_a_bad_escape_is_hidden(self):
        for command in (r"a\q", r"a\u12", r"\ud800 x", "a 'b"):
            (self.folder / "cmd.json").write_text('{"schemaVersion":1,"command":"%s","traceEvents":[]}' % command)
            _, files = self.archive("--trace", "cmd.json")
            self.assertNotIn("'b", files["traces/rank0.json.gz"])
            json.loads(files["traces/rank0.json.gz"])
        _, files = self.archive("--trace", self.attack("cmd.json"))
        self.assertIn('"command":"<hidden>"', files["traces/rank0.json.gz"])

    def test_an_archive_never_replaces_its_own_input(self):
        trace = INPUTS / "rank0.json"
        place = self.folder / "job.tar.gz"
        shutil.copy(trace, place)
        (self.folder / "link.json").symlink_to(place)
        for name in ("job.tar.gz", "link.json", "*.json"):
            run = self.collect("--trace", name, "-o", "job")
            self.assertEqual(run.returncode, 1, run.stdout)
            self.assertIn("job.tar.gz is also an input", run.stderr)
            self.assertEqual(place.read_bytes(), trace.read_bytes())

    def test_a_planted_link_is_not_written_through(self):
        precious = self.folder / "precious"
        precious.write_text("mine\n")
        (self.folder / "ddpsim-collect.tar.gz.partial").symlink_to(precious)
        self.archive("--step-time", "104ms")
        self.assertEqual(precious.read_text(), "mine\n")

    def test_a_pipe_is_written_to_and_a_link_stays_one(self):
        os.mkfifo(self.folder / "pipe")
        place = self.folder / "ddpsim-collect.tar.gz"
        place.symlink_to("pipe")
        with open(os.open(self.folder / "pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as reading:
            run = self.collect("--step-time", "104ms")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(reading.read(2), b"\x1f\x8b")
        place.unlink()
        place.symlink_to("made.tar.gz")
        self.archive("--step-time", "104ms")
        self.assertTrue(place.is_symlink() and (self.folder / "pipe").is_fifo())
        unpacked(self.folder / "made.tar.gz")

    def test_the_mode_of_an_archive_that_is_replaced_stays(self):
        self.archive("--step-time", "104ms")
        place = self.folder / "ddpsim-collect.tar.gz"
        (self.folder / "new").write_text("")
        self.assertEqual(place.stat().st_mode, (self.folder / "new").stat().st_mode)
        place.chmod(0o600)
        self.archive("--step-time", "104ms")
        self.assertEqual(place.stat().st_mode & 0o777, 0o600)

    def test_a_folder_that_others_may_write_or_a_link_to_one_is_refused(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        parts = self.folder / "ddpsim-collect" / "parts-7"
        parts.parent.mkdir()
        job = {"SLURM_JOB_ID": "7", "WORLD_SIZE": "2", "RANK": "0", "DDPSIM_COLLECT_WAIT": "0"}
        parts.symlink_to(elsewhere)
        run = self.collect("--step-time", "104ms", **job)
        self.assertEqual((run.returncode, list(elsewhere.iterdir())), (1, []))
        self.assertIn("is a link, or others can write to it", run.stderr)
        parts.unlink()
        parts.mkdir()
        parts.chmod(0o777)
        run = self.collect("--step-time", "104ms", **job)
        self.assertEqual((run.returncode, list(parts.iterdir())), (1, []))

    def test_what_others_left_in_the_folder_is_data(self):
        parts = self.folder / "ddpsim-collect" / "parts-7"
        parts.mkdir(parents=True)
        secret = self.folder / "secret"
        secret.write_text("a password\n")
        for number, (file, text) in enumerate(
            {
                "host": "\xff\xfe",
                "missing.txt": "trace\n\ttab\n",
                "step_times.csv": "step_time_ms\nnan\nx\n1e400\n",
            }.items(),
            1,
        ):
            (parts / f"rank{number}").mkdir()
            (parts / f"rank{number}" / file).write_bytes(text.encode("latin-1"))
        (parts / "rank\u00b2").mkdir()
        (parts / "rank4").symlink_to(self.folder)
        (parts / "rank5").mkdir()
        (parts / "rank5" / "environment.txt").symlink_to(secret)
        (parts / "rank6").write_text("no folder")
        (parts / "world").write_text("a[$(touch pwned)]")
        job = {"SLURM_JOB_ID": "7", "WORLD_SIZE": "6", "RANK": "0", "DDPSIM_COLLECT_WAIT": "0"}
        _, files = self.archive("--step-time", "104ms", **job)
        self.assertEqual(json.loads(files["manifest.json"])["ranks"], 6)
        self.assertFalse(any("password" in text for text in files.values()))
        self.assertFalse((self.folder / "pwned").exists())

    def test_numbers_of_the_environment_are_data(self):
        for name in ("RANK", "WORLD_SIZE", "DDPSIM_COLLECT_WAIT"):
            for value in ("a[$(touch pwned)]", "../x", "-1", "99999999999", "1 2", "08"):
                run = self.collect("--step-time", "104ms", **{name: value})
                self.assertEqual(run.returncode, 2, f"{name}={value}: {run.stderr}")
                self.assertIn("the environment has", run.stderr)
                self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["programs", "sysfs"])

    def test_numbers_of_options_that_no_archive_may_hold(self):
        for option, value in (
            ("--batch-size", "0"),
            ("--batch-size", "9" * 20),
            ("--batch-size", "1.5"),
            ("--step-time", "0ms"),
            ("--step-time", "9" * 400 + "s"),
            ("--seconds", "9" * 30),
        ):
            run = self.collect(option, value)
            self.assertNotEqual(run.returncode, 0, option)
            self.assertNotIn("Traceback", run.stderr)
            self.assertFalse((self.folder / "ddpsim-collect.tar.gz").exists())

    def test_names_of_files_reach_the_terminal_as_text(self):
        name = b"rank0\x1b]0;owned\x07\xff\xc2\x9b\xe2\x80\xae.json"
        (pathlib.Path(os.fsdecode(bytes(self.folder) + b"/" + name))).write_bytes(b"\0")
        for arguments in (
            ["--trace", "rank0*"],
            ["--trace", os.fsdecode(name)],
            ["--step-time", os.fsdecode(name)],
            ["--step-time", os.fsdecode(name) + "x"],
            ["--trace", os.fsdecode(name) + "x"],
        ):
            run = self.collect(*arguments)
            self.assertNotIn("Traceback", run.stderr)
            self.assertNotRegex(run.stdout + run.stderr, "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")

    def test_a_full_disk_is_said_and_leaves_nothing(self):
        (self.folder / "parts" / "rank0").mkdir(parents=True)
        (self.folder / "parts" / "rank0" / "environment.txt").write_text("WORLD_SIZE=1\n")
        packing = [ROOT / "scripts" / "collected_parts.py", "parts", "out.tar.gz"]
        # A limit on the file size stands for a full disk: the write fails after its first bytes.
        run = subprocess.run(
            ["bash", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "", *packing],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 1)
        self.assertIn("collect: cannot write out.tar.gz: File too large", run.stderr)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["parts", "programs", "sysfs"])

    def test_a_folder_on_a_full_disk_is_named(self):
        run = subprocess.run(
            ["bash", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "", COLLECT, "--step-time", "104ms"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": str(self.programs), "DDPSIM_SYSFS": str(self.sysfs)},
        )
        self.assertEqual(run.returncode, 1)
        self.assertIn("collect: stopped for the reason above. If ", run.stderr)
        self.assertFalse((self.folder / "ddpsim-collect.tar.gz").exists())

    def test_what_a_command_says_reaches_the_terminal_as_text(self):
        run = self.collect("--run", r"printf '\033[31mred\a\r\n'")
        self.assertIn("?[31mred??", run.stdout)
        self.assertNotIn("\x1b", run.stdout)

    def test_urls_shares_drives_and_serial_numbers_are_hidden(self):
        who = f"host={HOST}\nuser={USER}\nhome=/home/{USER}\n"
        lines = [
            "https://quill:pass:word@vault.example.org:8443/secret/page?token=secret#secret",
            "s3://secret-bucket/secret/x",
            "postgres://quill:secret@db/secret",
            "quill:secret@dbhost:5432/secret",
            "git@example.org:secret/secret.git",
            "quill@example.org:/secret/x",
            r"\\server\secret\x.txt",
            r"\\server\secret share\x",
            r"C:\Users\secret\x.py",
            r"'C:\Users\secret person\x'",
            r"D:\\secret\\x",
            USER.upper(),
            USER.title(),
            f"{HOST.upper()}.example.org",
            "GPU-8a1c2b3d-1111-2222-3333-444455556666",
            "GPU-8a1c2b3d",
            "MIG-GPU-8a1c2b3d-1111-2222-3333-444455556666/1/0",
            "MIG-8a1c2b3d-1111-2222-3333-444455556666",
            "8A1C2B3D-1111-2222-3333-444455556666",
        ]
        log = "".join(f"kept {number} {line} kept\n" for number, line in enumerate(lines))
        trace = {
            "schemaVersion": 1,
            "traceEvents": [{"ph": "M", "name": line, "args": {"said": f"here {line}"}} for line in lines],
            "wholes": [r"C:\Users\secret person\x", r"\\server\secret share\x"],
        }
        _, files = self.packed(
            1,
            {
                "rank0": {
                    "host": who,
                    "nccl.txt": log,
                    "trace.json": json.dumps(trace),
                    "environment.txt": f"WORLD_SIZE=1\nNCCL_ALGO={USER}\n",
                }
            },
        )
        for name in ("nccl/rank0.txt", "traces/rank0.json.gz"):
            for secret in (
                "quill",
                "pass",
                "vault",
                "secret",
                "token",
                "server",
                "Users",
                "dbhost",
                "marmalade",
                "8a1c2b3d",
                "4444",
            ):
                self.assertNotIn(secret, files[name].lower(), name)
        self.assertEqual(files["environment/rank0.txt"], "WORLD_SIZE=1\nNCCL_ALGO=<hidden>\n")
        for number, line in enumerate(files["nccl/rank0.txt"].splitlines()):
            self.assertRegex(line, f"^kept {number} .*kept$")

    def test_names_of_people_do_not_hide_names_of_settings(self):
        who = f"host={HOST}\nuser=world\n"
        _, files = self.packed(1, {"rank0": {"host": who, "environment.txt": "WORLD_SIZE=1\n"}})
        self.assertEqual(files["environment/rank0.txt"], "WORLD_SIZE=1\n")

    def test_an_option_without_its_value_is_usage_in_every_script(self):
        options = {
            "collect.sh": [
                "--trace",
                "--ddp-log",
                "--nccl-log",
                "--topology",
                "--all-reduce",
                "--step-time",
                "--batch-size",
                "--run",
                "--seconds",
                "-o",
            ],
            "validate.sh": ["--ranks", "--workload", "--cluster", "--backend", "--caps", "--sizes", "--torch", "-o"],
            "release.sh": ["-o"],
        }
        for script, names in options.items():
            for name in names:
                for value in ([], [""]):
                    with self.subTest(script=script, name=name, value=value):
                        run = subprocess.run(
                            [ROOT / "scripts" / script, name, *value],
                            cwd=self.folder,
                            capture_output=True,
                            text=True,
                            check=False,
                        )
                        self.assertEqual((run.returncode, run.stdout), (2, ""))
                        self.assertIn(f"scripts/{script}", run.stderr)
                        self.assertNotRegex(run.stderr, r"unbound variable|line \d+:")

    def packed(self, ranks, folders):
        """Packs these folders, as ranks and launchers leave them. Each has its files by name."""
        for name, files in folders.items():
            (self.folder / "parts" / name).mkdir(parents=True)
            for file, text in files.items():
                (self.folder / "parts" / name / file).write_text(text)
        run = subprocess.run(
            [ROOT / "scripts" / "collected_parts.py", "parts", "out.tar.gz", "--ranks", str(ranks)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        files = unpacked(self.folder / "out.tar.gz")
        return json.loads(files["manifest.json"]), files

    def test_a_launcher_on_a_host_without_ranks(self):
        manifest, files = self.packed(
            2,
            {
                "launcher0": {
                    "host": f"host={HOST}-login\n",
                    "devices.txt": "/sys/class/net/ens3/mtu: 1500\n",
                    "environment.txt": "NCCL_ALGO=Tree\n",
                },
                "rank0": {
                    "host": f"host={HOST}-a\n",
                    "environment.txt": "NCCL_ALGO=Ring\n",
                    "nccl.txt": f"{HOST}-login met {HOST}-b\n",
                },
                "rank1": {"host": f"host={HOST}-b\n", "environment.txt": "NCCL_ALGO=Ring\n"},
            },
        )
        self.assertEqual(manifest["nodes"], 2)
        self.assertNotIn("hardware/node0-devices.txt", files)
        self.assertEqual(files["nccl/rank0.txt"], "node2 met node1\n")
        self.assertIn(
            "on a host without a rank", "".join(gap["why"] for gap in manifest["missing"] if gap["kind"] == "gpus")
        )

    def test_a_rank_that_was_not_recorded_is_what_its_launcher_saw(self):
        manifest, files = self.packed(
            2,
            {
                "launcher0": {
                    "host": f"host={HOST}-a\n",
                    "environment.txt": "NCCL_ALGO=Tree\n",
                    "pinning.txt": "cores=4\n",
                },
                "launcher1": {"host": f"host={HOST}-b\n", "environment.txt": "NCCL_ALGO=Tree\n"},
                "rank0": {"host": f"host={HOST}-a\n", "environment.txt": "NCCL_ALGO=Ring\n"},
            },
        )
        self.assertEqual(manifest["nodes"], 2)
        self.assertEqual(
            [files[f"environment/rank{rank}.txt"] for rank in (0, 1)], ["NCCL_ALGO=Ring\n", "NCCL_ALGO=Tree\n"]
        )
        self.assertEqual(files["pinning/rank0.txt"], "cores=4\n")

    def test_a_launcher_on_each_node(self):
        """The launcher of node 0 starts rank 1, that of node 1 rank 0. Files of a rank belong to the node it ran on."""
        python = python_with_torch()
        if python is None:
            self.skipTest("no python3 here has PyTorch (scripts/setup.sh --torch)")
        script = self.folder / "train.py"
        script.write_text("import os, socket\nsocket.gethostname = lambda: os.environ['HOST_OF_RANK']\n" + TRAINING)
        port = held_port(self.addCleanup)
        running = []
        for launcher in (1, 0):
            host, rank = f"{HOST}{launcher}", 1 - launcher
            programs, sysfs = self.folder / f"programs{launcher}", self.folder / f"sysfs{launcher}"
            shutil.copytree(self.programs, programs, symlinks=True)
            program(programs, "hostname", f"echo {host}\n")
            (sysfs / "class/net/ens3/device").mkdir(parents=True)
            (sysfs / "class/net/ens3/mtu").write_text(f"900{launcher}\n")
            line = f"RANK={rank} WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={port} HOST_OF_RANK={host} {python} -W ignore train.py"
            running.append(
                subprocess.Popen(
                    [str(COLLECT), "--run", line, "--seconds", str(patience.seconds(100))],
                    cwd=self.folder,
                    text=True,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    env={
                        **{key: value for key, value in ENVIRONMENT.items() if not key.startswith(LAUNCHERS)},
                        "PATH": str(programs),
                        "DDPSIM_SYSFS": str(sysfs),
                        "SLURM_PROCID": str(launcher),
                        "SLURM_NTASKS": "2",
                        "SLURM_LOCALID": "0",
                        "SLURM_JOB_ID": "10",
                        "DDPSIM_COLLECT_WAIT": str(patience.seconds(60)),
                    },
                )
            )
        for process in running:
            said, _ = process.communicate(timeout=patience.seconds(170))
            self.assertEqual(process.returncode, 0, said)
        files = unpacked(self.folder / "ddpsim-collect.tar.gz")
        manifest = json.loads(files["manifest.json"])
        self.assertEqual((manifest["ranks"], manifest["nodes"]), (2, 2))
        node_of = {member["path"]: member["node"] for member in manifest["members"]}
        for rank in (0, 1):  # nodes are numbered by their ranks
            for path in (f"traces/rank{rank}.json.gz", f"pinning/rank{rank}.txt", f"environment/rank{rank}.txt"):
                self.assertEqual(node_of[path], rank)
            self.assertIn(f"mtu: 900{1 - rank}\n", files[f"hardware/node{rank}-devices.txt"])

    @under_newest_torch
    def test_a_training_is_recorded(self, version, python, folder):
        script = folder / "train.py"
        script.write_text(TRAINING)
        port = held_port(self.addCleanup)
        ranks = (
            f"for rank in 0 1; do RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={port} {python} -W ignore {script} & done; "
            "wait"
        )
        run = subprocess.run(
            [str(COLLECT), "--run", ranks, "--seconds", str(patience.seconds(100))],
            cwd=folder,
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
            timeout=patience.seconds(170),
            check=False,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        archive = folder / "ddpsim-collect.tar.gz"
        files = unpacked(archive)
        manifest = json.loads(files["manifest.json"])
        self.assertEqual(manifest["ranks"], 2, run.stdout)
        self.assertGreater(manifest["step_us"], 100)
        self.assertTrue(files["versions/rank1.txt"].startswith(f"torch={version}"))
        self.assertNotIn("NCCL_DEBUG", files["environment/rank0.txt"])  # set by collect.sh
        self.assertNotIn("all_reduce_hook", files["ddp/rank0.json"])  # set by the recorder
        document = answer("simulate", archive, "node:1 gpu:2xV100 nvlink:2x25GBps:pair", "--compute-scale", "1")
        self.assertEqual(len(document["buckets"]), 1)
        imported = ddpsim("import", archive)
        self.assertIn("2 ranks of one job of 2", imported.err)


if __name__ == "__main__":
    unittest.main()
