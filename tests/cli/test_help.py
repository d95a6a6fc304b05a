"""`--help` lists commands and options under headings, fits on the screen, and shows examples that run."""

import unittest

from command import answer, ddpsim
from help_text import examples, headings, listed_commands, options, subcommands
from shown_commands import folder

COLUMNS = 80
ELSEWHERE = {("allreduce", "--torch")}  # here it selects the NCCL of PyTorch


class Help(unittest.TestCase):
    def test_commands_are_listed_in_the_order_of_use_one_per_line(self):
        path = [
            "simulate",
            "tune",
            "advise",
            "compare",
            "sweep",
            "diff",
            "buckets",
            "allreduce",
            "topo",
            "import",
            "calibrate",
            "validate",
            "list",
        ]
        self.assertEqual(subcommands(), path)
        self.assertEqual(len(listed_commands()), len(path))

    def test_help_fits_into_80_columns(self):
        for command in ([], *([name] for name in subcommands())):
            for line in ddpsim(*command, "--help").out.splitlines():
                self.assertLessEqual(len(line), COLUMNS, (command, line))

    def test_every_command_shows_an_example_of_its_own_that_runs(self):
        with folder() as run:
            run("ddpsim allreduce abci-v100@2 --json > predicted.json").check_returncode()
            for command in ([], *([name] for name in subcommands())):
                shown = examples(*command)
                self.assertEqual(len(shown), 1, command)
                self.assertEqual(shown[0].split()[: 1 + len(command)], ["ddpsim", *command])
                with self.subTest(shown[0]):
                    done = run(shown[0])
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_help_matches_list_commands(self):
        listed = {command["name"]: command for command in answer("list", "--commands")["commands"]}
        self.assertEqual(list(listed), subcommands())
        for command, told in listed.items():
            with self.subTest(command):
                self.assertEqual([told["example"]], examples(command))
                spelled = [{option["name"], option["short"]} - {None} for option in told["options"]]
                self.assertEqual(spelled, options(command))
                of_heading = {}
                for option in told["options"]:
                    of_heading.setdefault(option["group"], []).append(option["name"])
                self.assertEqual(of_heading, headings(command))
                usage = ddpsim(command, "--help").out.partition("Usage: ")[2].partition("\n")[0]
                arguments = [one["name"] + ("..." if one["repeated"] else "") for one in told["positionals"]]
                wanted = [name if one["required"] else f"[{name}]" for name, one in zip(arguments, told["positionals"])]
                self.assertEqual(usage.split()[3:], wanted)

    def test_help_describes_each_command_argument_and_option_completely(self):
        def joined(text):
            return " ".join(text.split())

        program = joined(ddpsim("--help").out)
        for command in answer("list", "--commands")["commands"]:
            self.assertIn(f" {command['name']} {joined(command['summary'])}", program)
            shown = joined(ddpsim(command["name"], "--help").out)
            self.assertIn(joined(command["summary"]), shown)
            for one in command["positionals"] + command["options"]:
                with self.subTest(command=command["name"], name=one["name"]):
                    self.assertIn(" " + joined(one["summary"]), shown)

    def test_list_commands_has_a_line_for_each_option(self):
        text = ddpsim("list", "--commands").out
        for command in answer("list", "--commands")["commands"]:
            for option in command["options"]:
                self.assertIn(option["name"], text)
            self.assertIn(f"\n{command['name']} ", "\n" + text)

    def test_options_of_a_job_are_under_headings(self):
        own = {
            "simulate": ["--help", "--iterations", "--measured"],
            "tune": ["--help", "--caps"],
            "advise": ["--help"],
            "compare": ["--help", "--workload", "--until", "--no-tune", "--study"],
        }
        for command in own:
            found = headings(command)
            money = {"compare": ["Money", "Failures"], "simulate": ["Failures"]}.get(command, [])
            self.assertEqual(
                list(found),
                ["Options", "DDP", "NCCL", "Cluster", "Recording", "Memory", "Variation", *money, "Output"],
                command,
            )
            self.assertEqual(found["Options"], own[command])
        job = headings("simulate")
        for heading, option in (
            ("DDP", "--bucket-cap-mb"),
            ("DDP", "--comm-hook"),
            ("NCCL", "--collnet"),
            ("Cluster", "--gpus-per-node"),
            ("Cluster", "--network"),
            ("Cluster", "--gloo"),
            ("Recording", "--measured-step"),
            ("Variation", "--seed"),
            ("Output", "--timeline"),
        ):
            self.assertIn(option, job[heading])

    def test_an_option_is_under_the_same_heading_in_every_command(self):
        heading_of = {"--help": "Options"}
        for command in subcommands():
            for heading, options in headings(command).items():
                for option in options:
                    if (command, option) in ELSEWHERE:
                        continue
                    self.assertEqual(heading_of.setdefault(option, heading), heading, (command, option))


if __name__ == "__main__":
    unittest.main()
