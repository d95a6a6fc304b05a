// Texts as tables and messages have them: lines, cells, words, quotes, diagnostics, near words.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/words.hpp"

using namespace ddpsim;

TEST_CASE("csv: cells are trimmed, and empty cells are kept") {
  using Cells = std::vector<std::string_view>;
  CHECK(cells_of("a, b ,,c\t") == Cells{"a", "b", "", "c"});
  CHECK(cells_of("") == Cells{""});
  CHECK(cells_of("a,") == Cells{"a", ""});
  CHECK(cells_of(" \"a, b\" ,\"c\",\"d") == Cells{"a, b", "c", "\"d"});
  CHECK(cells_of("a,b;\"c;d\"", ';') == Cells{"a,b", "c;d"});
  const std::string many(kMostCells + 5, ',');
  CHECK(cells_of(many).size() == kMostCells);
  CHECK(cells_of(many).back() == ",,,,,,");
  CHECK(trimmed("\xEF\xBB\xBF a b \r") == "a b");
  CHECK(trimmed(" \t\r") == "");
}

TEST_CASE("csv: a text that looks like a formula gets a leading apostrophe") {
  const std::vector<std::string> formulas = {"=1+1", "+1 node", "-2+3",    "@SUM(1+1)",
                                             "\t=1", "\r=1",    "--csv=x", "--"};
  for (const std::string& text : formulas) {
    const std::string row = csv_row(std::vector{text, std::string("x")});
    INFO(row);
    CHECK((row.starts_with("'") || row.starts_with("\"'")));
  }
  CHECK(csv_row(std::vector<std::string>{"=\"a\",1"}) == "\"'=\"\"a\"\",1\"\n");
}

TEST_CASE("csv: numbers, option names and other texts are written unchanged") {
  const std::vector<std::string> plain = {
      "-0.5", "-1e-3", "12", "", "--bucket-cap-mb", "a=b", "node:2 gpu:8xV100"};
  for (const std::string& text : plain) CHECK(csv_row(std::vector{text}) == text + "\n");
}

TEST_CASE("csv: lines are taken one after the other, the last with or without a newline") {
  std::string_view text = "one\n\ntwo";
  CHECK(take_line(text) == "one");
  CHECK(take_line(text) == "");
  CHECK(text == "two");
  CHECK(take_line(text) == "two");
  CHECK(text.empty());
  CHECK(first_line("\n  \n# a comment\n first \nsecond") == "first");
  CHECK(first_line("# nothing\n\n") == "");
}

TEST_CASE("words: any blanks and line ends separate words") {
  CHECK(words_of(" a\tbc \r\n d\v\fe") == Words{"a", "bc", "d", "e"});
  CHECK(words_of("").empty());
  std::string many;
  for (std::size_t k = 0; k < kMostWords + 1; ++k) many += "a ";
  CHECK(words_of(many).size() == kMostWords);
  CHECK(words_of(many).back() == "a a ");
  CHECK(words_of(" \n").empty());
  CHECK(split("a,,b", ',') == Words{"a", "", "b"});
  CHECK(split("", '+') == Words{""});
}

TEST_CASE("diagnostic: each missing part is left out together with its punctuation") {
  CHECK(to_string({"f", "/a", "is wrong", "Mend it"}) == "f:/a: is wrong. Mend it");
  CHECK(to_string({"f", "", "is wrong", ""}) == "f: is wrong");
  CHECK(to_string({"", "/a", "is wrong", ""}) == "/a: is wrong");
  CHECK(to_string({"", "", "is wrong", "Mend it"}) == "is wrong. Mend it");
}

TEST_CASE("quote: characters of every length stay whole, and invalid bytes become question marks") {
  CHECK(in_quotes("\xF0\x9F\x98\x80") == "\"\xF0\x9F\x98\x80\"");  // four bytes
  CHECK(in_quotes("\xE2\x82\xAC") == "\"\xE2\x82\xAC\"");          // three
  CHECK(in_quotes("\xC2\xA0") == "\"\xC2\xA0\"");                  // two, the least there is
  CHECK(in_quotes("\xC1\xBF") == "\"??\"");                        // overlong
  CHECK(in_quotes("\xF5\x80\x80\x80") == "\"????\"");              // beyond Unicode
  CHECK(in_quotes("\x80") == "\"?\"");
  CHECK(in_quotes("\xC3(") == "\"?(\"");
  CHECK(in_quotes("\x7F\x1F ") == "\"?? \"");
}

TEST_CASE("quote: a long text ends in an ellipsis after a whole character") {
  CHECK(in_quotes("abcd", 5) == "\"abcd\"");
  CHECK(in_quotes("abcde", 5) == "\"abcd…\"");
  CHECK(in_quotes("abc\xC2\xA0", 5) == "\"abc…\"");
}

TEST_CASE("suggest: a third of the letters may be wrong, at least one but never all") {
  const std::vector<std::string> known = {"abcdef"};
  CHECK(nearest("abcdxy", known) == "abcdef");  // two of six
  CHECK_FALSE(nearest("abcxyz", known));        // three of six
  CHECK(nearest("abcde", known) == "abcdef");   // one is missing
  CHECK(nearest("abcdefgh", known) == "abcdef");
  CHECK_FALSE(nearest("bcdexyz", known));
  CHECK(nearest("axc", std::vector<std::string>{"abc"}) == "abc");
  CHECK_FALSE(nearest("axy", std::vector<std::string>{"abc"}));
  CHECK_FALSE(nearest("x", std::vector<std::string>{"y"}));  // nothing in common
  CHECK(nearest("ab", std::vector<std::string>{"b"}) == "b");
}

TEST_CASE("suggest: the nearest word wins, or the first of several") {
  CHECK(nearest("tene", std::vector<std::string>{"tens", "tune", "tenet"}) == "tens");
  CHECK(nearest("tunes", std::vector<std::string>{"tubes", "tune", "tunes"}) == "tunes");
}

TEST_CASE("suggest: similar names share more than half of their letters, nearest first") {
  const std::vector<std::string> known = {"V100", "A100", "A6000", "A5000", "RTX4090"};
  CHECK(spelt_alike("A4500", known, 3) == std::vector<std::string>{"A6000", "A5000", "A100"});
  CHECK(spelt_alike("B100", known, 3) == std::vector<std::string>{"V100", "A100"});
  CHECK(spelt_alike("B100", known, 1) == std::vector<std::string>{"V100"});
  CHECK(spelt_alike("a100", known, 1) == std::vector<std::string>{"A100"});
  CHECK(spelt_alike("Foo", known, 3).empty());
  CHECK(spelt_alike("", known, 3).empty());
  CHECK(spelt_alike(std::string(1000, 'A'), known, 3).empty());
}

TEST_CASE("suggest: words that begin with at least three given letters, at most four of them") {
  const std::vector<std::string> four = {"abcd", "abce", "abcf", "abcg"};
  CHECK(did_you_mean("abc", four).text == "Did you mean \"abcd\", \"abce\", \"abcf\" or \"abcg\"?");
  CHECK(did_you_mean("ab", four, "none").text == "none");
  std::vector<std::string> five = four;
  five.emplace_back("abch");
  CHECK(did_you_mean("abc", five).text == "Did you mean \"abcd\"?");  // too many: the nearest
  CHECK(did_you_mean("xyz", four, "none").text == "none");
  CHECK(did_you_mean_or_known("xyz", four, "Known caps").text ==
        "Known caps: abcd, abce, abcf, abcg");
  CHECK(to_string(not_one_of("xyz", four)) == "\"xyz\" is not one of abcd, abce, abcf, abcg");
}

TEST_CASE("decoder: ranges include their ends") {
  const Document document = Document::parse("[3, 2.5, 9.2e12, -0.5, 9007199254740992.0]", "f");
  const std::vector<Cursor> items = document.root().array();
  CHECK(items[0].integer(3, 3) == 3);
  CHECK_THROWS_AS(items[0].integer(4, 9), InputError);
  CHECK_THROWS_AS(items[0].integer(0, 2), InputError);
  CHECK(items[1].number(2.5, 2.5) == 2.5);
  CHECK_THROWS_AS(items[1].number(2.6, 3), InputError);
  CHECK_THROWS_AS(items[1].number(0, 2.4), InputError);
  CHECK(items[2].microseconds() == Duration::microseconds(9.2e12));
  CHECK_THROWS_AS(items[3].microseconds(), InputError);
  CHECK(items[3].microseconds(true) == Duration::microseconds(-0.5));
  CHECK(items[4].integer(0, INT64_MAX) == 9'007'199'254'740'992);  // 2^53: still exact
}

TEST_CASE("decoder: quantities are texts with a unit") {
  const Document document =
      Document::parse(R"(["3ms", "4KiB", "5GBps", "x", true, null, {}])", "f");
  const std::vector<Cursor> items = document.root().array();
  CHECK(items[0].duration() == Duration::milliseconds(3));
  CHECK(items[1].bytes() == Bytes(4096));
  CHECK(items[2].bandwidth() == Bandwidth::gigabytes_per_second(5));
  for (const std::size_t k : {3U, 4U, 5U, 6U}) {
    CHECK_THROWS_AS(items[k].duration(), InputError);
    CHECK_THROWS_AS(items[k].bytes(), InputError);
    CHECK_THROWS_AS(items[k].bandwidth(), InputError);
  }
  CHECK(items[0].is_string());
  CHECK(items[5].is_null());
  CHECK(items[6].is_object());
  CHECK(document.root().is_array());
  CHECK_FALSE(document.root().is_object());
  CHECK_FALSE(items[0].is_number());
  CHECK(items[4].boolean());
  CHECK_THROWS_WITH(items[5].string(), "f:/5: null is not a string; expected text in quotes");
  CHECK_THROWS_WITH(items[4].string(), "f:/4: true is not a string; expected text in quotes");
}
