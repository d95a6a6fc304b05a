"""The last value that each option accepts, and the first that it refuses. A limit that moves by one is noticed.

An accepted value need not be simulated. If an option is read before the files, the command goes on to a file that does
not exist (exit code 3). A refused value must be refused for its own sake, so the message names the option."""

import concurrent.futures
import os
import unittest

from command import ROOT, ddpsim

INPUTS = ROOT / "tests" / "golden" / "inputs"
ABSENT = ("simulate", "absent.json", "dgx1v@2")
JOB = ("simulate", "three-layers.json", "2xv100-nvlink", "--quiet")
RUN = ("simulate", "three-layers.json", "dgx1v@2", "--nnodes", "1:2", "--mtbf", "1000h", "--quiet")
COMPARE = ("compare", "three-layers.json", "dgx1v", "--no-tune", "--quiet")
BOUGHT = (*COMPARE, "--price", "dgx1v=1000/node", "--life", "4y")
GLOO = ("simulate", "three-layers.json", "2xv100-nvlink", "--backend", "gloo", "--quiet")

# The command, the option, the text before the value, accepted values, and refused values.
ROWS = [
    (ABSENT, "--nodes", "", ["1", "1000000"], ["0", "1000001"]),
    (ABSENT, "--gpus-per-node", "", ["1", "1000"], ["0", "1001"]),
    (ABSENT, "--min-channels", "", ["1", "64"], ["0", "65"]),
    (ABSENT, "--max-channels", "", ["1", "64"], ["0", "65"]),
    (ABSENT, "--iterations", "", ["1", "10000"], ["0", "10001"]),
    (ABSENT, "--batch", "", ["1", "1000000"], ["0", "1000001"]),
    (ABSENT, "--dataset-size", "", ["1", "1000000000000"], ["0", "1000000000001"]),
    (ABSENT, "--seed", "", ["0", "18446744073709551615"], ["-1", "18446744073709551616"]),
    (("tune", *ABSENT[1:]), "--threads", "", ["1", "1024"], ["0", "1025"]),
    (("diff", "absent.json", "104ms"), "--batch", "", ["1", "1000000000"], ["0", "1000000001"]),
    (("diff", "absent.json", "104ms"), "--gpus-per-node", "", ["1", "1024"], ["0", "1025"]),
    (("diff", "absent.json", "104ms"), "--max-slowdown", "", ["0", "1e9", "3%"], ["-0.001", "1000000001", "nan"]),
    (("validate", "absent.json", "104ms"), "--max-error", "", ["0", "1e9"], ["-0.001", "1000000001", "nan"]),
    (("compare", *ABSENT[1:]), "--global-batch", "", ["1", "1000000000"], ["0", "1000000001"]),
    (("compare", *ABSENT[1:], "--price", "list"), "--samples", "", ["0.001", "1e18"], ["0.000999", "1.001e18"]),
    (("allreduce", "absent@2"), "--factor", "", ["1.001", "1e6"], ["1.0009", "1000001"]),
    (("allreduce", "2xv100-nvlink", "-b", "1G"), "-e", "", ["1125899906842624"], ["1125899906842625"]),
    (("allreduce", "2xv100-nvlink", "-e", "8"), "-b", "", ["0"], ["-1"]),
    (JOB, "--buffer-size", "", ["8KiB", "1GiB"], ["8191B", "1073741825B"]),
    (JOB, "--launch-cost", "", ["0us", "1ms"], ["1001us"]),
    (
        JOB,
        "--compute-scale",
        "",
        ["0.001", "1000", "0.5±0.499", "999±1"],
        ["0.000999", "1000.01", "0.5±0.4995", "999±1.01", "1±-0.1"],
    ),
    (JOB, "--straggler", "1:", ["0.01", "100"], ["0.0099", "100.1"]),
    (JOB, "--straggler", "", ["0:1.2", "1:1.2"], ["-1:1.2", "2:1.2"]),
    (JOB, "--gpu-spread", "", ["0%", "99.9%"], ["-1%", "100%"]),
    (JOB, "--rank-slowdown", "", ["0%", "99.9%"], ["-1%", "100%"]),
    (JOB, "--interference", "sm:", ["0", "10"], ["-0.01", "10.01"]),
    (JOB, "--interference", "memory:", ["0", "10"], ["-0.01", "10.01"]),
    (JOB, "--interference", "nccl:", ["0.02", "1"], ["0.0199", "1.01"]),
    (JOB, "--data-loader", "batch=1ms,num_workers=", ["0", "512"], ["-1", "513"]),
    (JOB, "--data-loader", "batch=1ms,num_workers=1,prefetch_factor=", ["1", "1024"], ["0", "1025"]),
    (JOB, "--data-loader", "batch=1ms,num_workers=1,cores=", ["1", "100000"], ["0", "100001"]),
    (JOB, "--data-loader", "batch=1ms,num_workers=1,steps_ahead=", ["0", "1000"], ["-1", "1001"]),
    (JOB, "--data-loader", "num_workers=1,batch=", ["0us", "600s"], ["601s"]),
    (JOB, "--data-loader", "batch=1ms,num_workers=1,batch_bytes=", ["0B", "100GB"], ["100000000001B"]),
    (JOB, "--data-loader", "batch=1ms,num_workers=1,batch_bytes=1KB,pin=", ["1KBps", "100TBps"], ["999Bps", "101TBps"]),
    (GLOO, "--gloo", "step:", ["0us", "1s"], ["1.001s"]),
    (GLOO, "--gloo", "start:", ["0us", "1s"], ["1.001s"]),
    (GLOO, "--gloo", "threads:", ["1", "64"], ["0", "65"]),
    (GLOO, "--gloo", "fill:", ["1", "64"], ["0.99", "64.1"]),
    (RUN, "--elastic", "max_restarts=", ["0", "1000000000"], ["-1", "1000000001"]),
    (RUN, "--elastic", "keep_alive_max_attempt=", ["1", "10"], ["0", "1000001"]),
    (RUN, "--elastic", "seeds=", ["2"], ["1", "10001"]),
    (RUN, "--elastic", "process_share=", ["0", "1", "100%"], ["-0.01", "1.01", "101%"]),
    (RUN, "--elastic", "repair=", ["0s", "3652.5d"], ["-1s", "3652.6d"]),
    (RUN, "--elastic", "read_timeout=", ["1ms", "3652.5d"], ["0.99ms", "3652.6d"]),
    (RUN, "--elastic", "length=", ["1ms"], ["0.99ms", "36525.1d"]),
    (COMPARE, "--price", "dgx1v=", ["0/node_hour", "1e9/gpu_hour"], ["-1/node_hour", "1.001e9/node_hour"]),
    (BOUGHT, "--utilisation", "", ["1%", "100%"], ["0%", "100.1%"]),
    (BOUGHT[:-2], "--life", "", ["1s", "1000000h"], ["0h", "1000001h"]),
    ((*BOUGHT, "--energy-price", "0.1"), "--node-power", "", ["1W", "1000kW"], ["0kW", "1001kW"]),
    ((*BOUGHT, "--node-power", "1kW"), "--energy-price", "", ["0", "1e9"], ["-0.01", "1.001e9"]),
    ((*COMPARE, "--price", "list"), "--mtbf", "", ["1s", "1000000h"], ["0.9s", "1000001h"]),
]


def taken(command, option, value):
    """None if the value is accepted, else the message."""
    outcome = ddpsim(
        *command,
        f"{option}={value}" if option.startswith("--") else option,
        *([] if option.startswith("--") else [value]),
        cwd=INPUTS,
    )
    return outcome.err if outcome.code == 2 else None


class OptionLimits(unittest.TestCase):
    def test_the_last_value_is_accepted_and_the_next_is_refused(self):
        questions = [
            (command, option, begin + value, is_taken)
            for command, option, begin, good, bad in ROWS
            for values, is_taken in ((good, True), (bad, False))
            for value in values
        ]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            answers = list(pool.map(lambda question: taken(*question[:3]), questions))
        for (command, option, value, is_taken), complaint in zip(questions, answers):
            with self.subTest(command=command[0], option=option, value=value):
                if is_taken:
                    self.assertIsNone(complaint)
                else:
                    self.assertIn(option, complaint or "")


if __name__ == "__main__":
    unittest.main()
