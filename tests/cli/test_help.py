"""`--help` and `--help-all`: which commands and options they list under which heading, their size, and that examples run."""

import unittest

from command import answer, ddpsim
from help_text import examples, headings, listed_commands, options, subcommands
from shown_commands import folder

COLUMNS = 80
MOST_LINES = 40
MOST_WORDS = 25
ELSEWHERE = {("allreduce", "--torch")}  # it selects an NCCL version


class Help(unittest.TestCase):
    def test_the_program_s_help_lists_each_command_on_a_line_in_a_user_s_order(self):
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

    def test_help_fits_80_columns_and_40_lines_and_help_all_80_columns(self):
        for command in ([], *([name] for name in subcommands())):
            for option in ("--help", "--help-all"):
                lines = ddpsim(*command, option).out.splitlines()
                self.assertLessEqual(max(len(line) for line in lines), COLUMNS, (command, option))
                if option == "--help":
                    self.assertLessEqual(len(lines), MOST_LINES, command)

    def test_help_shows_all_options_if_they_fit_and_otherwise_the_common_ones(self):
        short = set()
        for command in answer("list", "--commands")["commands"]:
            name = command["name"]
            shown = options(name, "--help")
            if shown == options(name):
                self.assertEqual(ddpsim(name, "--help").out, ddpsim(name, "--help-all").out)
                continue
            short.add(name)
            self.assertTrue(ddpsim(name, "--help").out.endswith(f"\nMore options: ddpsim {name} --help-all\n"))
            marked = [
                {one["name"], one["short"]} - {None}
                for one in command["options"]
                if one["common"] and one["name"] != "--help-all"
            ]
            self.assertEqual(shown, marked, name)
        self.assertLess({"simulate", "tune", "advise", "compare"}, short)
        self.assertIn({"--bucket-cap-mb"}, options("simulate", "--help"))

    def test_texts_are_plain_sentences_without_limits_of_numbers(self):
        for command in answer("list", "--commands")["commands"]:
            for one in [command, *command["positionals"], *command["options"]]:
                with self.subTest(command=command["name"], name=one["name"]):
                    if one not in command["positionals"]:
                        self.assertRegex(one["summary"], "^[A-Z][a-z]+ ")
                    self.assertLessEqual(len(one["summary"].split()), MOST_WORDS)
                    self.assertNotIn(" in [", one.get("value") or "")

    def test_every_command_shows_one_example_which_runs(self):
        with folder() as run:
            run("ddpsim allreduce abci-v100@2 --json > predicted.json").check_returncode()
            for command in ([], *([name] for name in subcommands())):
                shown = examples(*command)
                self.assertEqual(len(shown), 1, command)
                self.assertEqual(shown[0].split()[: 1 + len(command)], ["ddpsim", *command])
                with self.subTest(shown[0]):
                    done = run(shown[0])
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_list_commands_lists_the_options_of_help_all_under_the_same_headings(self):
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

    def test_help_all_shows_the_whole_text_of_each_command_argument_and_option(self):
        def joined(text):
            return " ".join(text.split())

        program = joined(ddpsim("--help").out)
        for command in answer("list", "--commands")["commands"]:
            self.assertIn(f" {command['name']} {joined(command['summary'])}", program)
            shown = joined(ddpsim(command["name"], "--help-all").out)
            self.assertIn(joined(command["summary"]), shown)
            for one in command["positionals"] + command["options"]:
                with self.subTest(command=command["name"], name=one["name"]):
                    self.assertIn(" " + joined(one["summary"]), shown)

    def test_list_commands_has_a_line_for_each_command_and_option(self):
        text = ddpsim("list", "--commands").out
        for command in answer("list", "--commands")["commands"]:
            for option in command["options"]:
                self.assertIn(option["name"], text)
            self.assertIn(f"\n{command['name']} ", "\n" + text)

    def test_options_of_a_job_are_under_headings(self):
        own = {
            "simulate": ["--help", "--help-all", "--iterations", "--measured"],
            "tune": ["--help", "--help-all", "--caps"],
            "advise": ["--help", "--help-all"],
            "compare": ["--help", "--help-all", "--workload", "--until", "--no-tune", "--study"],
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

    def test_an_option_stands_under_the_same_heading_in_every_command_that_has_it(self):
        heading_of = {"--help": "Options", "--help-all": "Options"}
        for command in subcommands():
            for heading, options in headings(command).items():
                for option in options:
                    if (command, option) in ELSEWHERE:
                        continue
                    self.assertEqual(heading_of.setdefault(option, heading), heading, (command, option))


if __name__ == "__main__":
    unittest.main()
