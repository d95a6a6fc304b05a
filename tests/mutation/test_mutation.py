"""The mutation tool itself, on a program of a few lines. What needs tree-sitter and universalmutator skips where they
are absent; scripts/mutate.sh installs them into build/mutate/venv, where they are looked for, too."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
for site in sorted(FOLDER.parents[1].glob("build/mutate/venv/lib/python3*/site-packages")):
    if f"python{sys.version_info.major}.{sys.version_info.minor}" in str(site):
        sys.path.append(str(site))

import choose
import complaints
import limits
import listed
import mutant
import parts
import report
import singly
import unit_tests

try:
    import behind_switch
    import propose
    import universalmutator  # noqa: F401
except ImportError:
    behind_switch = None
NEEDS = unittest.skipIf(
    behind_switch is None, "tree-sitter and universalmutator are not installed: run scripts/mutate.sh once"
)

SMALL = b"""\
// a < b in a comment
constexpr int kLimit = 10;
constexpr int doubled(int x) { return x * 2; }
static_assert(sizeof(int) == 4);
template <int N> int rows() { return N; }
int clipped(int a, int b) {
  const bool less = a < b;
  int sum = rows<3>();
  if (less && a > 0) sum += a;
  return sum > kLimit ? kLimit : sum;
}
"""
MAIN = b"""
#include <cstdio>
int main(int argc, char**) {
  std::printf("%d %d %d %d", clipped(1, 2), clipped(2, 1), clipped(9, 99), doubled(argc));
}
"""


def proposed(source=SMALL):
    return propose.proposals("small.cpp", source)


def one(source, original, mutated):
    found = [each for each in proposed(source) if (each.original, each.mutated) == (original, mutated)]
    assert len(found) == 1, (original, mutated, found)
    return found[0]


def compiled(source, folder):
    path = pathlib.Path(folder, "small.cpp")
    path.write_bytes(source)
    program = pathlib.Path(folder, "small")
    subprocess.run(["c++", "-std=c++20", "-w", path, "-o", program], check=True)
    return program


def output(program, number=None):
    environment = {} if number is None else {"DDPSIM_MUTANT": str(number)}
    return subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout


@NEEDS
class Proposals(unittest.TestCase):
    def test_conditions_terms_and_constants_are_mutated(self):
        changes = {(each.original, each.mutated) for each in proposed()}
        self.assertIn(("const bool less = a < b;", "const bool less = a <= b;"), changes)
        self.assertIn(("if (less && a > 0) sum += a;", "if (less) sum += a;"), changes)
        self.assertIn(("if (less && a > 0) sum += a;", "if (true) sum += a;"), changes)
        self.assertIn(("if (less && a > 0) sum += a;", "if (less && a > 0) ;"), changes)
        self.assertIn(("constexpr int kLimit = 10;", "constexpr int kLimit = (10 * 2);"), changes)

    def test_comments_types_and_template_arguments_are_left_alone(self):
        for each in proposed():
            self.assertNotIn("comment", each.original)
            self.assertNotIn("static_assert", each.original)
            self.assertIn("rows<3>" if "rows<" in each.original else "", each.mutated)

    def test_what_changes_nothing_or_is_no_program_is_left_out(self):
        source = b"""\
#define DDPSIM_ASSERT(condition, what)
int f(int kind) {
  DDPSIM_ASSERT(kind > 0, "no kind");
  const auto twice = [](int x) { return x * 2; };
  switch (kind) {
    case 1:
      kind = twice(kind);
      break;
    case 2:
      kind = twice(kind);
      break;
  }
  return kind;
}
"""
        found = proposed(source)
        self.assertFalse([each for each in found if "ASSERT" in each.original or "return {}; }" in each.mutated])
        self.assertEqual([each.line for each in found if each.original == "break;"], [8])

    def test_swapped_arguments_of_unlike_types_are_left_out(self):
        source = (
            b"struct Cluster {}; int f(Cluster c, int n, double x);\n"
            b"int g(Cluster c, int n, double x) { return f(c, n, x); }\n"
        )
        mutated = [each.mutated for each in proposed(source)]
        self.assertTrue(any("f(c, x, n)" in text for text in mutated))
        self.assertFalse(any("f(n, c, x)" in text for text in mutated))

    def test_equal_lines_are_told_apart_by_their_order(self):
        source = b"int f(int a) {\n  if (a > 1) return 2;\n  if (a > 1) return 2;\n  return 3;\n}\n"
        same = [each for each in proposed(source) if each.mutated == "if (a >= 1) return 2;"]
        self.assertEqual([each.occurrence for each in same], [0, 1])
        self.assertEqual(len({each.identity for each in proposed(source)}), len(proposed(source)))


@NEEDS
class BehindTheSwitch(unittest.TestCase):
    def test_the_program_is_the_original_without_a_mutant_and_every_mutant_with_it(self):
        source = SMALL + MAIN
        mutants = dict(enumerate(each for each in proposed(source) if each.line <= SMALL.count(b"\n")))
        together = behind_switch.rewritten(source, mutants)
        self.assertGreater(len(mutants), 20)
        with tempfile.TemporaryDirectory() as folder:
            program = compiled(together.source, folder)
            self.assertEqual(output(program), output(compiled(source, tempfile.mkdtemp(dir=folder))))
            for number, each in list(mutants.items())[::3]:
                if number in together.singly:
                    continue
                alone = compiled(each.applied_to(source), tempfile.mkdtemp(dir=folder))
                self.assertEqual(output(program, number), output(alone), each)

    def test_mutants_within_mutants_and_in_declarations(self):
        source = SMALL + MAIN
        inner = one(source, "if (less && a > 0) sum += a;", "if (less && a > 1) sum += a;")
        outer = one(source, "if (less && a > 0) sum += a;", "if ((less || a > 0)) sum += a;")
        declared = one(source, "const bool less = a < b;", "const bool less = a >= b;")
        together = behind_switch.rewritten(source, {1: inner, 2: outer, 3: declared})
        self.assertEqual(together.singly, {})
        with tempfile.TemporaryDirectory() as folder:
            program = compiled(together.source, folder)
            self.assertEqual(
                [output(program, number) for number in (None, 1, 2, 3)], ["4 3 10 2", "3 3 10 2", "4 5 10 2", "3 5 3 2"]
            )

    def test_a_constant_keeps_its_constexpr_and_has_a_twin(self):
        source = SMALL + MAIN
        twice = one(source, "constexpr int kLimit = 10;", "constexpr int kLimit = (10 * 2);")
        together = behind_switch.rewritten(source, {5: twice})
        self.assertEqual(together.singly, {})
        self.assertIn(b"constexpr int kLimit = 10;", together.source)
        with tempfile.TemporaryDirectory() as folder:
            program = compiled(together.source, folder)
            self.assertEqual([output(program), output(program, 5)], ["4 3 10 2", "4 3 12 2"])

    def test_a_constant_that_must_be_one_is_compiled_singly(self):
        source = b"constexpr int kSize = 3;\nint table[kSize];\nint size() { return kSize; }\n"
        together = behind_switch.rewritten(source, {0: proposed(source)[0]})
        self.assertIn(0, together.singly)
        self.assertEqual(together.source, source)

    def test_every_line_of_a_mutant_is_known_to_be_its(self):
        together = behind_switch.rewritten(
            SMALL, {7: one(SMALL, "const bool less = a < b;", "const bool less = a <= b;")}
        )
        line = next(i for i, text in enumerate(together.source.split(b"\n")) if b"(a <= b)" in text)
        self.assertEqual(together.owners[line], (7,))


class Complaints(unittest.TestCase):
    OWNERS = {"a.cpp": [(), (1,), (2,), (), (3, 4)]}

    def guilty(self, text):
        return complaints.guilty(text, self.OWNERS, "/tree", "/tree/build")

    def test_a_type_that_does_not_fit_is_no_mutant(self):
        broken, singly, _ = self.guilty(
            "../a.cpp:2:5: error: cannot convert 'A' to 'B'\n"
            "../a.cpp:2:9: error: no matching function for call to "
            "'on_alike<<expression error>, int>(int)'\n"
        )
        self.assertEqual((set(broken), set(singly)), ({1}, set()))

    def test_what_the_switch_is_to_blame_for_is_tried_singly(self):
        broken, singly, _ = self.guilty("../a.cpp:3:5: error: operands to '?:' have different types 'A' and 'B'\n")
        self.assertEqual((set(broken), set(singly)), (set(), {2}))

    def test_a_line_of_several_accuses_none_of_being_broken(self):
        broken, singly, _ = self.guilty("../a.cpp:5:5: error: cannot convert 'A' to 'B'\n")
        self.assertEqual((set(broken), set(singly)), (set(), {3, 4}))

    def test_an_error_elsewhere_names_the_place_it_was_required_from(self):
        broken, _, _ = self.guilty(
            "/usr/include/x:9:1:   in instantiation of 'f'\n../a.cpp:2:5:   required from here\n"
            "/usr/include/x:10:1: error: no match for 'operator<'\n"
        )
        self.assertEqual(set(broken), {1})

    def test_an_error_on_nobodys_line_names_the_file(self):
        self.assertEqual(self.guilty("../a.cpp:4:5: error: expected ';'\n"), ({}, {}, {"a.cpp"}))


class Sample(unittest.TestCase):
    def mutants(self, file, count):
        return [
            mutant.Mutant(file, i, i + 1, "0", i, f"line {i // 3}", f"to {i}", 0, f"statement {i // 3}")
            for i in range(count)
        ]

    def test_same_seed_same_sample_whatever_the_order(self):
        those = self.mutants("sim/tune/tune.cpp", 30)
        self.assertEqual(choose.in_order(7, those), choose.in_order(7, those[::-1]))
        self.assertNotEqual(choose.in_order(7, those), choose.in_order(8, those))

    def test_every_statement_has_its_turn_before_one_has_a_second(self):
        drawn = choose.in_order(1, self.mutants("sim/tune/tune.cpp", 30))
        self.assertEqual(len({each.statement for each in drawn[:10]}), 10)

    def test_a_part_with_few_mutants_leaves_its_share_to_the_others(self):
        those = self.mutants("sim/tune/tune.cpp", 90) + self.mutants("sim/ddp/summary.cpp", 2)
        queues = choose.queues(1, 20, those)
        self.assertEqual({name: count for name, (count, _) in queues.items()}, {"summary": 2, "tune": 18})

    def test_shares_go_by_weight_and_add_up(self):
        shares = parts.shares(200, parts.NAMES)
        self.assertEqual(sum(shares.values()), 200)
        self.assertGreater(shares["tune"], 2 * shares["ground"])

    def test_every_source_has_a_part(self):
        self.assertEqual(
            [
                parts.part_of(file)
                for file in (
                    "sim/tune/include/ddpsim/sim/tune/tune.hpp",
                    "sim/step/rank_states.cpp",
                    "sim/values/include/ddpsim/sim/values/quantities.hpp",
                    "sim/network/cost_pipeline.cpp",
                    "real/src/main.cpp",
                    "cli/arguments/exit_code.hpp",
                    "sim/CMakeLists.txt",
                )
            ],
            ["tune", "compare", "ground", "flow", None, "cli", None],
        )


class Listed(unittest.TestCase):
    def test_an_entry_is_as_narrow_as_its_words_allow(self):
        source = b"int f() {\n  return first(a,\n               b) + c;\n}\n"
        found = listed.located(
            {"file": "x.cpp", "original": "return first(a, b) + c;", "mutated": "return first(a, d) + c;"}, source
        )
        self.assertEqual((source[found.start : found.end], found.text, found.line), (b"b", "d", 3))

    def test_what_is_taken_out_leaves_nothing(self):
        source = b"bool f() { return a && b; }\n"
        found = listed.located({"file": "x.cpp", "original": "return a && b;", "mutated": "return a;"}, source)
        self.assertEqual(found.applied_to(source).split(), b"bool f() { return a ; }".split())

    def test_a_text_that_is_gone_or_twice_there_is_an_error_that_says_so(self):
        for source, times in ((b"", "0 times"), (b"x = 1;\nx = 1;\n", "2 times")):
            with self.assertRaisesRegex(ValueError, f"x.cpp.*{times}"):
                listed.located({"file": "x.cpp", "original": "x = 1;", "mutated": "x = 2;"}, source)

    def test_the_lists_in_the_repository_can_be_read(self):
        for entry in listed.entries("faults.json"):
            source = (FOLDER.parents[1] / entry["file"]).read_bytes()
            self.assertTrue(listed.located(entry, source))
            self.assertTrue(entry["effect"])
        for entry in listed.entries("equivalent.json"):
            source = (FOLDER.parents[1] / entry["file"]).read_text()
            self.assertIn(" ".join(entry["original"].split()), " ".join(source.split()))
            self.assertTrue(entry["reason"])


class Report(unittest.TestCase):
    def test_interval_of_a_share(self):
        low, high = report.wilson(90, 100)
        self.assertAlmostEqual(low, 0.8256, places=4)
        self.assertAlmostEqual(high, 0.9448, places=4)
        self.assertEqual(report.wilson(0, 0), (0, 1))

    def test_a_row_counts_and_survivors_are_named(self):
        result = {
            "file": "sim/tune/tune.cpp",
            "line": 3,
            "original": "a < b",
            "mutated": "a <= b",
            "by": "",
            "singly": False,
        }
        results = [{**result, "how": "unit test"}, {**result, "how": "crash"}, {**result, "how": "survived"}]
        self.assertIn(
            "| tune     |       3 |         1 |       0 |        0 |     1 |          0 |        1 |  67 % |",
            report.table(results),
        )
        self.assertEqual(report.survivors(results), "sim/tune/tune.cpp:3: survived\n  - a < b\n  + a <= b\n")

    def test_one_equivalent_in_twenty_is_the_most(self):
        self.assertFalse(report.too_many_equivalent(range(19), range(1)))
        self.assertTrue(report.too_many_equivalent(range(18), range(1)))


class Singly(unittest.TestCase):
    def test_an_object_is_linked_where_its_archive_is(self):
        command = ["c++", "tests/CMakeFiles/ddpsim_tests.dir/a.o", "sim/libddpsim_sim.a", "formats/libddpsim_formats.a"]
        for object_, foreign in (
            ("sim/CMakeFiles/ddpsim_sim_nccl.dir/nccl/cost.cpp.o", False),  # a room's, in sim's archive
            ("formats/CMakeFiles/ddpsim_formats.dir/src/quote.cpp.o", False),
            ("cli/CMakeFiles/ddpsim_cli.dir/src/main.cpp.o", True),
        ):
            with self.subTest(object=object_):
                self.assertEqual(singly.foreign(object_, command), foreign)


class UnitTests(unittest.TestCase):
    def test_the_quickest_first_many_in_one_process(self):
        cases = [
            unit_tests.TestCase(name, seconds, frozenset(), True)
            for name, seconds in (("slow", 3.0), ("b", 0.2), ("a", 0.1), ("c", 0.4))
        ]
        self.assertEqual(
            [[case.name for case in batch] for batch in unit_tests.batches(cases)], [["a", "b"], ["c"], ["slow"]]
        )

    def test_a_process_is_told_no_more_names_than_one_argument_holds(self):
        cases = [unit_tests.TestCase(f"{number:05}" + "x" * 95, 0.0, frozenset(), True) for number in range(2500)]
        batches = list(unit_tests.batches(cases))
        self.assertEqual([case for batch in batches for case in batch], cases)
        for batch in batches:
            self.assertEqual(
                limits.run(["true", ",".join(unit_tests.pattern(case.name) for case in batch)], 10, {})[0], 0
            )

    def test_names_are_quoted_for_doctests_filters(self):
        self.assertEqual(unit_tests.pattern('tune: a "cap", 2*x\\y'), "tune: a ?cap?? 2?x?y")

    def test_the_log_says_what_ran_and_what_was_running(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(">a\npassed\t0.5\ta\t 3 17\n>b\n")
            log.flush()
            cases, begun = unit_tests.read(log.name)
        self.assertEqual((cases, begun), ([unit_tests.TestCase("a", 0.5, frozenset({3, 17}), True)], "b"))


if __name__ == "__main__":
    unittest.main()
