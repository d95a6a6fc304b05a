// The table that all reports use: its alignment, and what it drops on a narrow terminal.
#include <doctest/doctest.h>

#include "text_layout.hpp"

using namespace ddpsim;

namespace {

std::string at_width(const Table& table, int width) {
  return table.text({.width = width});
}

/// Four columns of four characters, 2 + 4 each and 24 together.
Table four() {
  Table table({{"a"}, {"b", Align::left, 1}, {"c", Align::left, 2}, {"d"}});
  table.add_row({"aaaa", "bbbb", "cccc", "dddd"});
  return table;
}

}  // namespace

TEST_CASE("table: text is aligned left, numbers right, decimal points below each other") {
  Table table({{"name"}, {"n", Align::right}, {"x", Align::decimal}});
  table.add_row({"a", "1", "1.5"});
  table.add_row({"µs", "22", "10.25"});
  table.add_row({"e", "333", "7"});
  CHECK(at_width(table, 80) == R"(  name    n      x
  a       1   1.5
  µs     22  10.25
  e     333   7
)");
}

TEST_CASE("table: a column is as wide as its head, and without rows there is only the head") {
  Table table({{"first", Align::right}, {"second"}, {"third", Align::decimal}, {"end"}});
  CHECK(at_width(table, 80) == "  first  second  third  end\n");
  table.add_row({"1", "2", "3.5", "4"});
  CHECK(at_width(table, 80) == R"(  first  second  third  end
      1  2         3.5  4
)");
}

TEST_CASE("table: columns are dropped one by one, the most expendable first") {
  CHECK(at_width(four(), 24) == "  a     b     c     d\n  aaaa  bbbb  cccc  dddd\n");
  CHECK(at_width(four(), 23) == "  a     b     d\n  aaaa  bbbb  dddd\n");
  CHECK(at_width(four(), 18) == "  a     b     d\n  aaaa  bbbb  dddd\n");
  CHECK(at_width(four(), 17) == "  a     d\n  aaaa  dddd\n");
  CHECK(at_width(four(), 12) == "  a     d\n  aaaa  dddd\n");
}

TEST_CASE("table: the last column is cut if no other may be dropped") {
  CHECK(at_width(four(), 11) == "  a     d\n  aaaa  dd…\n");
  CHECK(at_width(four(), 9) == "  a     d\n  aaaa  …\n");
  CHECK(at_width(four(), 8) == "  a     d\n  aaaa  …\n");
  CHECK(at_width(four(), 0) == "  a     d\n  aaaa  …\n");
}

TEST_CASE(
    "table: a last column that shrinks is cut to eight characters before another is dropped") {
  Table table({{"a"}, {"b", Align::left, 1}, {.head = "d", .shrinks = true}});
  table.add_row({"aaaa", "bbbb", std::string(20, 'd')});
  // A width of 22 leaves 22 - 2 - (4 + 2) - (4 + 2) = 8.
  CHECK(at_width(table, 22) == "  a     b     d\n  aaaa  bbbb  ddddddd…\n");
  CHECK(at_width(table, 21) == "  a     d\n  aaaa  dddddddddddd…\n");
  Table narrow({{"a"}, {"b", Align::left, 1}, {.head = "d", .shrinks = true}});
  narrow.add_row({"aaaa", "bbbb", "ddd"});
  CHECK(at_width(narrow, 17) == "  a     b     d\n  aaaa  bbbb  ddd\n");
}

TEST_CASE("table: numbers in the last column are aligned right") {
  Table table({{"a"}, {"n", Align::decimal}});
  table.add_row({"x", "1.5"});
  table.add_row({"y", "20"});
  CHECK(at_width(table, 80) == "  a     n\n  x   1.5\n  y  20\n");
}

TEST_CASE("table: with colour the head is dim and the rows are not") {
  Table table({{"a"}});
  table.add_row({"x"});
  CHECK(table.text({.colour = true}) == "\x1b[2m  a\x1b[0m\n  x\n");
}
