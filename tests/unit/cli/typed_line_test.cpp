// The command line of one command, kept for the next command.
#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "help_group.hpp"
#include "typed_line.hpp"

using namespace ddpsim;

namespace {

/// A program with two commands: `first`, which was called, and `next`.
struct Program {
  CLI::App app{"", "prog"};
  CLI::App* first = app.add_subcommand("first");
  CLI::App* next = app.add_subcommand("next");

  Program() {
    for (CLI::App* command : {first, next}) {
      command->add_option("FILE", file);
      const HelpGroup group(*command, kDdpGroup);
      command->add_option("--word", word)->capture_default_str();
      command->add_option("--pair", pairs)->expected(-1);
      command->add_option("--many", many);
      command->add_flag("--flag", flag);
      const HelpGroup nccl(*command, kNcclGroup);
      command->add_option("-s,--spelled", spelled);
    }
    first->add_option("--only-first", spelled);
    next->add_option("--only-next", spelled);
    for (CLI::App* command : {first, next}) {
      const HelpGroup output(*command, kOutputGroup);
      command->add_option("--csv", csv);
    }
  }

  TypedLine typed(std::vector<std::string> words) {
    words.insert(words.begin(), "first");
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return TypedLine(*first);
  }

  std::string file, word = "as always", spelled, csv;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::vector<std::string> many;
  bool flag = false;
};

std::string offered(std::vector<std::string> words) {
  return Program().typed(std::move(words)).for_command("next");
}

TEST_CASE("typed line: arguments come first, then options in the order of help") {
  CHECK(offered({"--spelled", "x", "--flag", "--word", "w", "in.json"}) ==
        "prog next in.json --word w --flag --spelled x");
}

TEST_CASE("typed line: only typed options are kept, also with their default value") {
  CHECK(offered({"in.json"}) == "prog next in.json");
  CHECK(offered({"in.json", "--word", "as"}) == "prog next in.json --word as");
  CHECK(offered({"in.json", "--word=as always"}) == "prog next in.json --word 'as always'");
}

TEST_CASE("typed line: a short spelling becomes the long one") {
  CHECK(offered({"-s", "x"}) == "prog next --spelled x");
}

TEST_CASE("typed line: words are quoted for a shell if necessary") {
  CHECK(offered({"my trace.json"}) == "prog next 'my trace.json'");
  CHECK(offered({"--word", "it's"}) == "prog next --word 'it'\\''s'");
  CHECK(offered({"--word", "a*b"}) == "prog next --word 'a*b'");
  CHECK(offered({"--word", "2.3±0.2"}) == "prog next --word '2.3±0.2'");
  CHECK(offered({"--word", ""}) == "prog next --word ''");
  CHECK(offered({"--word", "plain-1.5_x@2,a:b=c+d%/e"}) ==
        "prog next --word plain-1.5_x@2,a:b=c+d%/e");
}

TEST_CASE("typed line: an option given several times is kept as often") {
  CHECK(offered({"--many", "a b", "--many", "c"}) == "prog next --many 'a b' --many c");
  CHECK(offered({"--many", "a", "c"}) == "prog next --many a --many c");
}

TEST_CASE("typed line: an option of two values keeps them together") {
  CHECK(offered({"--pair", "a", "b c"}) == "prog next --pair a 'b c'");
  CHECK(offered({"--pair", "a", "b", "--pair", "c", "d"}) == "prog next --pair a b --pair c d");
}

TEST_CASE("typed line: a flag appears once and keeps a typed value") {
  CHECK(offered({"--flag", "--flag"}) == "prog next --flag");
  CHECK(offered({"--flag=false"}) == "prog next --flag=false");
}

TEST_CASE("typed line: options that the next command lacks or hides are left out") {
  CHECK(offered({"--only-first", "x", "--word", "w"}) == "prog next --word w");
  Program program;
  program.next->get_option("--word")->group("");
  CHECK(program.typed({"--word", "w", "in.json"}).for_command("next") == "prog next in.json");
}

TEST_CASE("typed line: options of output are never kept") {
  CHECK(offered({"in.json", "--csv", "out.csv"}) == "prog next in.json");
}

TEST_CASE("typed line: a value that is set replaces the typed one in its place") {
  Program program;
  TypedLine typed = program.typed({"in.json", "--word", "w", "--many", "a", "--many", "b"});
  typed.set("--word", "another one");
  typed.set("FILE", "its own.json");
  typed.drop("--many");
  CHECK(typed.for_command("next") == "prog next 'its own.json' --word 'another one'");
  typed.set("--word", std::nullopt);
  CHECK(typed.for_command("next") == "prog next 'its own.json'");
}

TEST_CASE("typed line: an option that is set need not be typed and may concern output") {
  Program program;
  TypedLine typed = program.typed({"in.json", "--spelled", "x"});
  typed.set("--csv", "table.csv");
  typed.set("--only-next", "y");
  typed.set("--word", "w");
  CHECK(typed.for_command("next") ==
        "prog next in.json --only-next y --word w --spelled x --csv table.csv");
}

TEST_CASE("typed line: the first typed option of a heading is found") {
  CHECK(Program().typed({"--word", "w"}).first_of(kNcclGroup) == std::nullopt);
  CHECK(Program().typed({"--flag", "-s", "x", "--word", "w"}).first_of(kNcclGroup) == "--spelled");
  CHECK(Program().typed({"--flag", "-s", "x", "--word", "w"}).first_of(kDdpGroup) == "--word");
}

}  // namespace
