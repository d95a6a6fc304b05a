"""Tests of the archive that scripts/validate.sh packs. One is a whole run whose user, host and folders have unique
names. Others use files as clusters write them."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import patience  # noqa: E402

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
REAL = os.environ.get("DDPSIM_REAL_BIN", "")
PROGRAM = os.environ.get("DDPSIM_BIN", "")
BACKENDS = os.environ.get("DDPSIM_REAL_BACKENDS", "").split()

USER, HOST, FOLDER, MODEL = "quillfeather", "marmaladehost", "periwinkle lair", "hushhushmodel"
SECRETS = [USER, HOST, "periwinkle", "lair", MODEL, "topsecret", "10.77.66.55", "tokenofthejob", "vendorplugin"]


def unpacked(archive):
    with tarfile.open(archive) as tar:
        return {member.name: (member, tar.extractfile(member).read().decode()) for member in tar.getmembers()}


class ValidationArchive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / FOLDER
        self.folder.mkdir()

    def assertSecret(self, name, text):
        for secret in SECRETS:
            self.assertNotIn(secret, name)
            self.assertNotIn(secret, text, f"{secret} is in {name}")

    def run_line(self, line, **variables):
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("NCCL_", "CUDA_", "UCX_", "FI_"))
        }
        return subprocess.run(
            line,
            cwd=self.folder,
            env={**environment, "USER": USER, "LOGNAME": USER, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=patience.seconds(120),
        )

    def pack(self, files, *arguments):
        for name, text in files.items():
            path = self.folder / "out" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        run = self.run_line([sys.executable, str(SCRIPTS / "job_archive.py"), "pack", "out", "out.tar.gz", *arguments])
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout, unpacked(self.folder / "out.tar.gz")

    def test_an_invalid_measurement_is_reported(self):
        place = self.folder / "out" / "measured" / "measurement.json"
        place.parent.mkdir(parents=True)
        good = {
            "name": "default",
            "bucket_cap_mb": None,
            "gradient_as_bucket_view": False,
            "buckets": [{"bytes": 4}],
            "iteration_us": {"median": 5.0, "p10": 4.0, "p90": 6.0},
        }
        bad = [
            json.dumps({"configurations": [{**good, **other}]})
            for other in (
                {"iteration_us": {"median": float("nan"), "p10": 4.0, "p90": 6.0}},
                {"iteration_us": {"median": float("inf"), "p10": 4.0, "p90": 6.0}},
                {"iteration_us": {"median": 0, "p10": 0, "p90": 0}},
                {"iteration_us": 5},
                {"bucket_cap_mb": float("nan")},
                {"bucket_cap_mb": "5"},
                {"buckets": 3},
                {"name": 5},
            )
        ]
        for text in (*bad, "", "[]", "{", '{"configurations": []}', '{"configurations": {}}', "[" * 100000):
            place.write_text(text)
            line = [
                sys.executable,
                str(SCRIPTS / "validation_table.py"),
                "--program",
                "/bin/false",
                "--workload",
                "w",
                "--cluster",
                "c",
                str(place),
            ]
            run = self.run_line(line)
            self.assertEqual(run.returncode, 1, text[:80])
            self.assertRegex(run.stderr, r"^validate: .*Measure again\n$")
        for text in ("", "[]", "{", "{}", "[" * 100000):
            place.write_text(text)
            run = self.run_line([sys.executable, str(SCRIPTS / "job_archive.py"), "pack", "out", "out.tar.gz"])
            self.assertEqual(run.returncode, 1, text[:80])
            self.assertRegex(run.stderr, r"^validate: .*Measure again into an empty folder \(-o FOLDER\)\n$")

    def test_a_failing_program_is_noticed_if_ended_children_are_ignored(self):
        good = {
            "name": "default",
            "bucket_cap_mb": None,
            "gradient_as_bucket_view": False,
            "buckets": [{"bytes": 4}],
            "iteration_us": {"median": 5.0, "p10": 4.0, "p90": 6.0},
        }
        (self.folder / "measurement.json").write_text(json.dumps({"configurations": [good]}))
        program = self.folder / "program"
        program.write_text("#!/bin/sh\necho 'ddpsim: no such workload' >&2\nexit 3\n")
        program.chmod(0o755)
        ignoring = (
            "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.executable, sys.argv)"
        )
        run = self.run_line(
            [
                sys.executable,
                "-c",
                ignoring,
                str(SCRIPTS / "validation_table.py"),
                "--program",
                str(program),
                "--workload",
                "w",
                "--cluster",
                "c",
                "measurement.json",
            ]
        )
        self.assertEqual((run.returncode, run.stderr), (1, "ddpsim: no such workload\n"))

    @unittest.skipUnless("cpu-gloo" in BACKENDS, "this build has no gloo (Debian: libgloo-dev)")
    def test_the_archive_of_a_whole_run_is_anonymous(self):
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "ddpsim-real").symlink_to(REAL)
        (programs / "ddpsim").symlink_to(PROGRAM)
        (self.folder / f"{MODEL}.json").write_text(
            json.dumps(
                {
                    "schema": "ddpsim.workload/1",
                    "name": f"{MODEL} of {USER}",
                    "gpu": "V100",
                    "parameters": [{"name": f"topsecret.{i}", "shape": [5000], "dtype": "float32"} for i in range(3)],
                    "forward": {"duration_us": 1000},
                    "backward": {"duration_us": 2000, "ready": [{"parameter": i, "at_us": 2000} for i in (2, 1, 0)]},
                }
            ),
            encoding="utf-8",
        )
        line = [
            str(SCRIPTS / "validate.sh"),
            "--ranks",
            "2",
            "--backend",
            "cpu-gloo",
            "--workload",
            f"{MODEL}.json",
            "--cluster",
            "2xv100-nvlink",
            "--caps",
            "0.01,25",
            "--sizes",
            "64KiB",
            "-o",
            f"results of {USER}",
        ]
        own_host = [*"unshare --map-root-user --uts sh -c".split(), f'hostname {HOST} && exec "$@"', "sh"]
        if shutil.which("unshare") and self.run_line([*own_host, "true"]).returncode == 0:
            line = [*own_host, *line]
        else:
            print("a host name of our own is refused here: the test goes on without", file=sys.stderr)
        run = self.run_line(
            line,
            PATH=f"{programs}:{os.environ['PATH']}",
            NCCL_ALGO="Ring",
            CUDA_VISIBLE_DEVICES="0,1",
            NCCL_TOPO_FILE=f"/home/{USER}/topology.xml",
            NCCL_COMM_ID="10.77.66.55:4000",
            UCX_TLS="rc,topsecret",
            NCCL_SOCKET_IFNAME="eth0",
            DDPSIM_JOB_TOKEN="tokenofthejob",
            NCCL_NET_PLUGIN="vendorplugin",
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        files = unpacked(self.folder / f"results of {USER}.tar.gz")
        for name in (
            "topology.txt",
            "environment.txt",
            "errors.txt",
            "measured-0.csv",
            "measured/measurement.json",
            "measured/cap25.timeline.json",
            "measured/all_reduce.txt",
        ):
            self.assertIn(f"ddpsim-validation/{name}", files)
            self.assertIn(f"ddpsim-validation/{name} ", run.stdout)  # shown before
        for name, (member, text) in files.items():
            self.assertSecret(name, text)
            self.assertNotIn(str(self.folder.parent), text)
            self.assertEqual((member.uname, member.gname, member.uid, member.gid, member.mtime), ("", "", 0, 0, 0))
        measured = json.loads(files["ddpsim-validation/measured/measurement.json"][1])
        self.assertEqual(measured["schema"], "ddpsim.measurement/1")
        self.assertEqual(measured["setup"]["hosts"], "node0 node0")
        self.assertEqual(measured["setup"]["workload"], "<hidden>")
        self.assertIn("ddpsim-real <path> --backend cpu-gloo --caps 0.01,25 --views both", measured["setup"]["command"])
        own = json.loads(
            (self.folder / f"results of {USER}" / "measured" / "measurement.json").read_text(encoding="utf-8")
        )
        self.assertEqual(measured["configurations"], own["configurations"])  # values are unchanged
        settings = files["ddpsim-validation/environment.txt"][1]
        for shown in (
            "NCCL_ALGO=Ring",
            "CUDA_VISIBLE_DEVICES=0,1",
            "NCCL_TOPO_FILE=<path>",
            "NCCL_SOCKET_IFNAME=eth0",
            "UCX_TLS=<hidden>",
            "NCCL_NET_PLUGIN=<hidden>",
        ):
            self.assertIn(shown + "\n", settings)
        self.assertNotIn("NCCL_COMM_ID", settings)

    def test_files_as_clusters_write_them(self):
        setup = {
            "hosts": f"{HOST}-1.lab.example.org {HOST}-2.lab.example.org {HOST}-2.lab.example.org",
            "workload": "resnet50",
            "command": f"ddpsim-real resnet50 -o results-of-{USER}",
        }
        said, files = self.pack(
            {
                "measured/measurement.json": json.dumps({"schema": "ddpsim.measurement/1", "setup": setup, "ranks": 3}),
                "measured/all_reduce.txt": f"#  Rank  1 Group  0 Pid      2 on {HOST}-2 device  0 [0x00] Tesla V100\n 65536 16384 float sum\n",
                "measured/cap25.timeline.json": json.dumps({"provenance": setup}),
                "nccl-topology.xml": '<cpu host_hash="0x1f00d" arch="x86_64"/>\n<net name="mlx5_0" guid="0xabcdef123" speed="100000"/>\n'
                '<cpu host_hash="0xbeef"/><cpu host_hash="0x1f00d"/>\n<gpu busid="0000:3b:00.0"/>\n</cpu>\n',
                "messages-0.txt": f"{HOST}-1:123:456 [0] NCCL INFO Bootstrap : Using eth0:10.77.66.55<0>\n"
                f"gloo: [/home/{USER}/gloo/pair.cc:589] Read error [10.77.66.55]:4711, [fe80::1ff:fe23:4567:890a]:9\n"
                f"cannot read '/data/{USER} and friends/x'; ~{USER}/y; ./topsecret/z; at 12:34:56 5.1 GB/s\n",
                f"notes of {USER}.txt": "topsecret",
            }
        )
        for name, (_, text) in files.items():
            self.assertSecret(name, text)
            for secret in ("example.org", "abcdef123", "1f00d", "beef", "890a", "friends"):
                self.assertNotIn(secret, text)
        at = lambda name: files[f"ddpsim-validation/{name}"][1]
        manifest = json.loads(at("manifest.json"))  # an archive of scripts/collect.sh
        self.assertEqual((manifest["schema"], manifest["ranks"], manifest["nodes"]), ("ddpsim.collect/1", 3, 2))
        kinds = {member["path"]: member["kind"] for member in manifest["members"]}
        self.assertEqual(set(kinds) | {"manifest.json"}, {name.partition("/")[2] for name in files})
        self.assertEqual(
            (kinds["nccl-topology.xml"], kinds["measured/all_reduce.txt"], kinds["messages-0.txt"]),
            ("topology", "all_reduce_log", "nccl_log"),
        )
        shown = json.loads(at("measured/measurement.json"))
        self.assertEqual(shown["setup"]["hosts"], "node0 node1 node1")
        self.assertEqual(shown["setup"]["command"], "ddpsim-real resnet50 -o <path>")
        self.assertEqual(shown["setup"]["workload"], "resnet50")
        self.assertIn("on node1 device", at("measured/all_reduce.txt"))
        self.assertIn("65536 16384 float sum", at("measured/all_reduce.txt"))
        self.assertIn('host_hash="0x1" arch="x86_64"', at("nccl-topology.xml"))
        self.assertIn('guid="0x2" speed="100000"', at("nccl-topology.xml"))
        # Equal values stay equal.
        self.assertIn('<cpu host_hash="0x3"/><cpu host_hash="0x1"/>', at("nccl-topology.xml"))
        self.assertIn('busid="0000:3b:00.0"/>\n</cpu>\n', at("nccl-topology.xml"))  # XML still
        self.assertIn("node0:123:456 [0] NCCL INFO", at("messages-0.txt"))
        self.assertIn("at 12:34:56 5.1 GB/s", at("messages-0.txt"))
        self.assertNotIn("ddpsim-validation/notes", "".join(files))
        self.assertIn(f"left out: notes of {USER}.txt", said)

    def test_the_same_folder_gives_the_same_archive(self):
        self.pack({"topology.txt": "GPU0 GPU1\n"})
        first = (self.folder / "out.tar.gz").read_bytes()
        self.pack({"topology.txt": "GPU0 GPU1\n"})
        self.assertEqual((self.folder / "out.tar.gz").read_bytes(), first)
        self.assertNotIn(b"out.tar.gz", first)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith(".ddpsim")], [])

    def test_the_archive_follows_no_link_and_keeps_permissions(self):
        (self.folder / "victim").write_text("precious")
        (self.folder / "out.tar.gz.partial").symlink_to("victim")
        (self.folder / "out.tar.gz").touch(0o600)
        self.pack({"topology.txt": "GPU0 GPU1\n"})
        self.assertEqual((self.folder / "victim").read_text(), "precious")
        self.assertEqual((self.folder / "out.tar.gz").stat().st_mode & 0o777, 0o600)

    def test_a_host_with_a_common_name_works(self):
        setup = {"hosts": "float sum", "command": "ddpsim-real resnet50", "workload": "resnet50"}
        _, files = self.pack(
            {
                "measured/measurement.json": json.dumps({"schema": "ddpsim.measurement/1", "setup": setup}),
                "measured/all_reduce.txt": " 65536 16384 float sum\n",
            }
        )
        self.assertEqual(files["ddpsim-validation/measured/all_reduce.txt"][1], " 65536 16384 float sum\n")

    def test_variables_are_shown_by_name_and_kind(self):
        shown = self.run_line(
            [sys.executable, str(SCRIPTS / "job_archive.py"), "environment"],
            NCCL_IB_HCA="=mlx5_0:1,mlx5_1:1",
            NCCL_SOCKET_IFNAME=HOST,
            NCCL_DEBUG="INFO",
            NCCL_PROTO="^LL128",
            NCCL_P2P_LEVEL="NVL",
            NCCL_BUFFSIZE="4M",
            CUDA_HOME="/opt/topsecret",
            NCCL_UNHEARD_OF="topsecret",
            CUDA_VISIBLE_DEVICES="GPU-topsecret",
        ).stdout.splitlines()
        self.assertEqual(
            shown,
            [
                "CUDA_VISIBLE_DEVICES=<hidden>",
                "NCCL_BUFFSIZE=4M",
                "NCCL_DEBUG=INFO",
                "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1",
                "NCCL_P2P_LEVEL=NVL",
                "NCCL_PROTO=^LL128",
                "NCCL_SOCKET_IFNAME=<hidden>",
            ],
        )


if __name__ == "__main__":
    sys.exit(unittest.main())
