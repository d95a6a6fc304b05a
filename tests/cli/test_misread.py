"""No number is misread silently.

Numbers in valid inputs of every reader are written in other ways. Each answer must be right, a refusal, or say how it
read the number. The test prints for each reader how many writings ended in which way.

A writing means a plain number ("1,234.5" means 1234.5), or none ("12.5x"). An answer is right if it is the answer to
the plain number. Any other answer without a remark is silently wrong.
"""

import collections
import dataclasses
import json
import pathlib
import re
import tempfile
import unittest

import thorough
from command import ROOT, SANITIZED, ddpsim

INPUTS = ROOT / "tests/golden/inputs"
FIXTURES = ROOT / "tests/fixtures"


@dataclasses.dataclass(frozen=True)
class Reader:
    name: str
    source: str  # the valid input
    file: str  # its name
    run: tuple  # words of the command; FILE is the input
    # A regular expression. Each of its groups is a number that the reader uses.
    number: str
    most: int = 3  # numbers that are tried
    # The unit that may follow these numbers.
    unit: str = ""
    # Whether an empty value is the same as a missing name.
    empty: bool = False


def text_of(name):
    return (INPUTS / name).read_text(encoding="utf-8")


MATRIX = """\
        GPU0    GPU1    GPU2    GPU3    CPU Affinity
GPU0     X      NV4     NV4     NV4     0-23
GPU1    NV4      X      NV4     NV4     0-23
GPU2    NV4     NV4      X      NV4     24-47
GPU3    NV4     NV4     NV4      X      24-47
"""
CONFIG = """{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024, "intermediate_size":
4096,
 "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8, "vocab_size": 32000}
"""
STEPS = "".join(f"step {k}/90, loss: 2.{k}, step_time_ms: {1210 + k}.5\n" for k in range(12, 32))
TRAINER = "".join(f'{{"step": {k}, "loss": 2.5, "step_time_s": 0.1{k}}}\n' for k in range(12, 32))

READERS = (
    Reader(
        "layer table",
        text_of("layers.csv"),
        "table.csv",
        ("simulate", "FILE", "2xv100-nvlink", "--json"),
        r"(?m)(?<=[a-z],)(\d+)(?=,)|,(\d+)$",
        5,
    ),
    Reader(
        "all-reduce table",
        text_of("sizes.csv"),
        "sizes.csv",
        ("diff", "FILE", "n2.txt", "--json"),
        r"(?m),(\d+\.\d+),",
        2,
    ),
    Reader(
        "nccl-tests log",
        text_of("n1.txt"),
        "n1.txt",
        ("diff", "FILE", "n2.txt", "--json"),
        r"(?m)^ +\d{5,} +\d+ +float +sum +-1 +([\d.]+) ",
        2,
    ),
    Reader(
        "pairs of nodes",
        text_of("pairs.csv"),
        "pairs.csv",
        ("diff", "104ms", "116ms", "--pairs", "FILE", "--json"),
        r"(?m),([\d.]+)$",
        2,
    ),
    Reader(
        "step times, CSV",
        text_of("step-times.csv"),
        "steps.csv",
        ("diff", "FILE", "104ms", "--json"),
        r"(?m),([\d.]+)$",
        2,
        "ms",
    ),
    Reader(
        "step times, log", STEPS, "train.log", ("diff", "FILE", "104ms", "--json"), r"step_time_ms: ([\d.]+)", 2, "ms"
    ),
    Reader(
        "step times, JSON lines",
        TRAINER,
        "steps.jsonl",
        ("diff", "FILE", "104ms", "--json"),
        r'step_time_s": ([\d.]+)',
        2,
    ),
    Reader(
        "measured caps",
        text_of("caps.csv"),
        "caps.csv",
        ("validate", "predicted-caps.json", "FILE", "--json"),
        r"(?m)^\d+,(\d+)$|^(\d+),\d+$",
        6,
    ),
    Reader(
        "gloo's sizes",
        text_of("gloo-sizes.csv"),
        "gloo.csv",
        (
            "calibrate",
            "FILE",
            "--backend",
            "gloo",
            "--cluster",
            "node:4 gpu:1xV100 nic:1x1Gbps:tcp",
            "-o",
            "out.json",
            "--json",
        ),
        r"(?m)^2,1,(\d+),|,(\d+\.\d+)$",
        4,
    ),
    Reader("matrix of nvidia-smi", MATRIX, "matrix.txt", ("topo", "FILE gpu:V100", "--json"), r"NV(4)", 2),
    Reader(
        "config.json", CONFIG, "config.json", ("simulate", "FILE@V100:b1", "2xv100-nvlink", "--json"), r": (\d+)", 6
    ),
    Reader(
        "cluster in a line",
        "node:2 gpu:4xV100 nvswitch:300GBps nic:2x100Gbps:ib",
        "",
        ("topo", "LINE", "--json"),
        r"(\d+)GBps|(\d+)Gbps|node:(\d+)",
        3,
    ),
    Reader(
        "workload",
        text_of("three-layers.json"),
        "three.json",
        ("simulate", "FILE", "2xv100-nvlink", "--json"),
        r'_us": ?([\d.]+)|"shape": ?\[(\d+)',
        4,
    ),
    Reader(
        "cluster file",
        text_of("lab.json"),
        "lab.json",
        ("topo", "FILE", "--json"),
        r'"gpus": (\d+)|"links_per_gpu": (\d+)|"(\d+)GBps"|_us": ([\d.]+)',
        4,
    ),
    Reader(
        "background",
        text_of("background.json"),
        "background.json",
        (
            "simulate",
            "three-layers.json",
            "dgx1v-1xedr",
            "--nodes",
            "2",
            "--network",
            "flow",
            "--background",
            "FILE",
            "--json",
        ),
        r'"(\d+)(?:MiB|ms)"',
        3,
    ),
    Reader(
        "profiler's trace",
        (FIXTURES / "tiny-ddp-trace.json").read_text(),
        "trace.json",
        ("import", "FILE", "--gpu", "V100", "-o", "-"),
        r'"dur": ?(\d+)',
        4,
    ),
    Reader(
        "DDP logging data",
        (FIXTURES / "ddp-log-resnet18.json").read_text(),
        "ddp.json",
        ("import", "FILE", "--gpu", "V100", "--model", "resnet18", "-o", "-"),
        r'_time": (\d+)|size_bytes": (\d+)',
        4,
    ),
    Reader(
        "NCCL's topology",
        (FIXTURES / "topologies/two-v100.xml").read_text(),
        "topology.xml",
        ("topo", "FILE", "--json"),
        r'nvlink [^>]*count="(\d+)|link_width="(\d+)',
        4,
        empty=True,
    ),  # NCCL writes "" for unknown values
    Reader(
        "option: a time",
        "5ms",
        "",
        ("simulate", "layers.csv", "2xv100-nvlink", "--iterations", "10", "--stagger", "LINE", "--json"),
        r"^(\d+)",
        1,
    ),
    Reader(
        "option: a share",
        "3%",
        "",
        ("simulate", "layers.csv", "2xv100-nvlink", "--rank-slowdown", "LINE", "--json"),
        r"^(\d+)",
        1,
    ),
    Reader(
        "option: MiB",
        "25",
        "",
        ("simulate", "layers.csv", "2xv100-nvlink", "--bucket-cap-mb", "LINE", "--json"),
        r"^(\d+)",
        1,
    ),
    Reader(
        "option: a rank's factor",
        "1:1.5",
        "",
        ("simulate", "layers.csv", "2xv100-nvlink", "--straggler", "LINE", "--json"),
        r"^\d+:([\d.]+)",
        1,
    ),
)


def writings(number, reader):
    """Each way to write the number, with the plain number that it means, or None."""
    value = float(number)
    texts = {(number + ".0" if "." not in number else number + "0"): number, "+" + number: number, "0" + number: number}
    texts[f"{value:.9e}"] = f"{float(f'{value:.9e}'):.17g}"
    grouped = f"{value:,.3f}".rstrip("0").rstrip(".")
    if value >= 1000 and float(grouped.replace(",", "")) == value:
        texts |= {grouped.replace(",", mark): number for mark in (",", " ", "_", "\N{NO-BREAK SPACE}", "'")}
    texts |= {f"{value / 1000:.12g}K": number, f"{value / 1e6:.12g}M": number, f"{number}k": f"{value * 1000:.17g}"}
    if value != int(value):
        texts[number.replace(".", ",")] = number
    texts["".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in number)] = number
    # Additions that do not change the value: an uncertainty, a mean, the unit.
    texts |= {number + "±1": number, f"{number} ({number})": number, f"({number})": number}
    if reader.unit:
        texts |= {
            f"{number} {reader.unit}": number,
            number + reader.unit: number,
            f"{number} {reader.unit} {reader.unit}": number,
        }
    texts["-" + number] = number if value == 0 else None
    for text in ("~", "<", ">", "x", "$"):
        texts[text + number] = None
    for text in ("x", "%", " lm", "lm", "e", "..", "abc", "/2", "*2", "\N{EN SPACE}s"):
        texts[number + text] = None
    for text in (hex(int(value)), f"{number}-{number}", "nan", "inf", "1e400", "", "-", "N/A"):
        texts[text] = None
    if reader.empty:
        del texts[""]
    return list(texts.items())


def places(reader):
    """The start and end of each number that is tried, spread over the input."""
    found = [match.span(match.lastindex) for match in re.finditer(reader.number, reader.source)]
    step = max(1, len(found) // reader.most)
    return found[::step][: reader.most]


def words_of(ends):
    return f"{sum(ends.values())} writings: " + ", ".join(f"{count} {how}" for how, count in sorted(ends.items()))


class Misread(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        for name in ("n2.txt", "predicted-caps.json", "three-layers.json", "layers.csv"):
            (self.folder / name).write_text(text_of(name), encoding="utf-8")

    def answer(self, reader, text):
        """The exit code, the standard output, and the remarks on standard error."""
        if reader.file:
            (self.folder / reader.file).write_text(text, encoding="utf-8")
        words = [word.replace("FILE", reader.file).replace("LINE", text) for word in reader.run]
        outcome = ddpsim(*words, cwd=self.folder)
        (self.folder / "out.json").unlink(missing_ok=True)
        said = outcome.err
        document = outcome.out
        if outcome.code == 0 and document.startswith("{"):
            parsed = json.loads(document)
            for key in ("warnings", "missing"):
                said += json.dumps(parsed.pop(key, []))
            said += str(parsed.get("before", {}).pop("kind", "")) if isinstance(parsed.get("before"), dict) else ""
            parsed.pop("reproducibility", None)
            document = json.dumps(parsed)
        if " " in text and not reader.file:  # the answer repeats the line
            document = document.replace(json.dumps(text)[1:-1], "LINE")
        return outcome.code, document, said

    def end_of(self, reader, sound, begin, end, writing, meant):
        code, document, said = self.answer(reader, reader.source[:begin] + writing + reader.source[end:])
        if code != 0:
            self.assertIn(code, (2, 3), said)
            return "refused"
        if meant is not None:
            _, right, said_of_right = self.answer(reader, reader.source[:begin] + meant + reader.source[end:])
            if document == right:
                return "right"
            sound = ("", right, said_of_right)
        return "named" if said != sound[2] else "silently wrong"

    def test_no_reader_misreads_a_number_silently(self):
        total = collections.Counter()
        for reader in READERS:
            with self.subTest(reader.name):
                sound = self.answer(reader, reader.source)
                self.assertEqual(sound[0], 0, sound[2])
                ends, wrong = collections.Counter(), []
                chosen = places(reader)
                self.assertTrue(chosen)
                for begin, end in chosen:
                    number = reader.source[begin:end]
                    for writing, meant in writings(number, reader)[
                        :: thorough.cases(1, every_change=4) if SANITIZED else 1
                    ]:
                        how = self.end_of(reader, sound, begin, end, writing, meant)
                        ends[how] += 1
                        if how == "silently wrong":
                            wrong.append(f"{number} written {writing!r}")
                total += ends
                print(f"{reader.name}: {words_of(ends)}")
                self.assertFalse(wrong, "\n".join(["silently wrong:", *wrong]))
        print(f"{len(READERS)} readers: {words_of(total)}")


if __name__ == "__main__":
    unittest.main()
