// Numbers, units and paragraphs as the terminal shows them, at every limit and next to it.
#include <doctest/doctest.h>

#include <limits>

#include "text_layout.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("text: grade C has two digits, A and B have three") {
  CHECK(digits_of(Grade::a) == 3);
  CHECK(digits_of(Grade::b) == 3);
  CHECK(digits_of(Grade::c) == 2);
}

TEST_CASE("text: significant digits, at most three decimals") {
  CHECK(significant(98.24, 2) == "98");
  CHECK(significant(98.24, 3) == "98.2");
  CHECK(significant(0.3149, 2) == "0.31");
  CHECK(significant(419.9, 2) == "420");
  CHECK(significant(-98.24, 3) == "-98.2");
  CHECK(significant(5, 2) == "5.0");
  // If rounding adds a digit before the point, there is one decimal less.
  CHECK(significant(9.94, 2) == "9.9");
  CHECK(significant(9.96, 2) == "10");
  CHECK(significant(999.4, 3) == "999");
  CHECK(significant(999.6, 3) == "1000");
  // 0.01235 has five decimals.
  CHECK(significant(0.012346, 4) == "0.012");
}

TEST_CASE("text: a value close to zero is not printed as zero") {
  CHECK(significant(0, 3) == "0");
  CHECK(significant(0.00049, 2) == "<0.001");
  CHECK(significant(-0.00049, 2) == ">-0.001");
  CHECK(significant(0.00051, 2) == "0.001");
  CHECK(significant(std::numeric_limits<double>::infinity(), 2) == "inf");
}

TEST_CASE("text: ends of an interval get up to two more digits if they would look the same") {
  CHECK(interval_text(12, 28, 2, " %") == "12 % to 28 %");
  CHECK(interval_text(1.88, 1.93, 2) == "1.88 to 1.93");
  CHECK(interval_text(1.881, 1.883, 2) == "1.881 to 1.883");
  CHECK(interval_text(1.8811, 1.8812, 1) == "2 to 2");
  CHECK(time_interval(1100_us, 1200_us, 2, TimeUnit::microseconds) == "1100 to 1200");
  CHECK(time_interval(1100_us, 1200_us, 2, TimeUnit::milliseconds) == "1.1 to 1.2");
}

TEST_CASE("text: times from one millisecond on are in milliseconds, whatever their sign") {
  CHECK(unit_for(1_ms) == TimeUnit::milliseconds);
  CHECK(unit_for(1_ms - 1_ps) == TimeUnit::microseconds);
  CHECK(unit_for(-Duration::milliseconds(1)) == TimeUnit::milliseconds);
  CHECK(unit_for(-Duration::microseconds(999)) == TimeUnit::microseconds);
  CHECK(name_of(TimeUnit::milliseconds) == "ms");
  CHECK(name_of(TimeUnit::microseconds) == "µs");
  CHECK(time_text(1_ms, 3) == "1.00 ms");
  CHECK(time_text(999_us, 2) == "1000 µs");  // 1.0e3
  CHECK(time_text(999_us, 3) == "999 µs");
  CHECK(time_text(999_us, 3, TimeUnit::milliseconds) == "0.999 ms");
  CHECK(time_number(1500_us, 2, TimeUnit::microseconds) == "1500");
  CHECK(time_number(1500_us, 2, TimeUnit::milliseconds) == "1.5");
}

TEST_CASE("text: the fewest digits that print times differing by the given least differently") {
  const auto digits = [](std::vector<Duration> times, Duration least) {
    return digits_apart(std::move(times), 2, least, TimeUnit::milliseconds);
  };
  // With two digits both 106 and 107 are 110.
  CHECK(digits({107_ms, 106_ms}, 1_ms) == 3);
  CHECK(digits({107_ms, 106_ms}, 1_ms + 1_ps) == 2);
  // 110 is 4 ms from 106, and both look different from 120.
  CHECK(digits({110_ms, 120_ms, 106_ms}, 4_ms) == 3);
  CHECK(digits({110_ms, 120_ms, 106_ms}, 5_ms) == 2);
  CHECK(digits({100_ms, 100.1_ms}, 0.1_ms) == 4);
  CHECK(digits({100_ms, 100.01_ms}, 0.01_ms) == 4);  // five would be needed
  CHECK(digits({106_ms, 106_ms}, Duration()) == 2);  // equal times
  CHECK(digits({}, 1_ms) == 2);
  CHECK(digits_apart({990_us, 991_us}, 2, 1_us, TimeUnit::microseconds) == 3);
}

TEST_CASE("text: a cap is written with at most four digits, without trailing zeros") {
  CHECK(cap_text(0) == "0");
  CHECK(cap_text(25) == "25");
  CHECK(cap_text(25.1) == "25.1");
  CHECK(cap_text(25.04) == "25.04");
  CHECK(cap_text(25.004) == "25");
  CHECK(cap_text(0.5) == "0.5");
  CHECK(cap_text(0.0001) == "0.001");
  CHECK(cap_text(1234.7) == "1235");
  CHECK(cap_text(250) == "250");
  CHECK(cap_text(5000) == "5000");
}

TEST_CASE("text: a percentage is rounded neither to 100 nor to 0") {
  CHECK(percent_text(0) == "0 %");
  CHECK(percent_text(0.0099) == "<0.01 %");
  CHECK(percent_text(0.0101) == "0.010 %");
  CHECK(percent_text(2.13) == "2.1 %");
  CHECK(percent_text(12.3) == "12 %");
  CHECK(percent_text(99.49) == "99 %");
  CHECK(percent_text(99.5) == "over 99 %");
  CHECK(percent_text(99.99) == "over 99 %");
  CHECK(percent_text(100) == "100 %");
  CHECK(percent_text(101.4) == "101 %");
  CHECK(percent_text(123.4) == "123 %");
  CHECK(percent_text(-0.5) == "-0.50 %");
  CHECK(percent_text(-99.4) == "-99 %");
  CHECK(percent_text(-123.4) == "-123 %");
}

TEST_CASE("text: mebibytes have two decimals and are never rounded to zero") {
  CHECK(mebibytes(0_B) == "0.00");
  CHECK(mebibytes(1_B) == "<0.01");
  CHECK(mebibytes(5242_B) == "<0.01");  // 0.005 MiB are 5242.88 bytes
  CHECK(mebibytes(5243_B) == "0.01");
  CHECK(mebibytes(1_MiB) == "1.00");
  CHECK(mebibytes(1024_MiB) == "1024.00");
}

TEST_CASE("text: one is singular, none and several are plural") {
  CHECK(counted(0, "GPU") == "0 GPUs");
  CHECK(counted(1, "GPU") == "1 GPU");
  CHECK(counted(2, "GPU") == "2 GPUs");
}

TEST_CASE("text: control characters become spaces or question marks, other characters stay") {
  CHECK(printable("a\nb\tc") == "a b c");
  CHECK(printable("\x1b[2J\x7f\x1f\r") == "?[2J???");
  CHECK(printable(" ~µ…") == " ~µ…");
}

TEST_CASE("text: width counts characters, not bytes") {
  CHECK(display_width("") == 0);
  CHECK(display_width("ms") == 2);
  CHECK(display_width("µs…") == 3);
}

TEST_CASE("text: cut at the end") {
  CHECK(shortened("abcdef", 6) == "abcdef");
  CHECK(shortened("abcdef", 5) == "abcd…");
  CHECK(shortened("abcdef", 1) == "…");
  CHECK(shortened("abcdef", 0).empty());
  CHECK(shortened("µµµ", 3) == "µµµ");
  CHECK(shortened("µµµ", 2) == "µ…");
}

TEST_CASE("text: cut in the middle, with the longer half at the end") {
  CHECK(shortened_middle("abcdefgh", 8) == "abcdefgh");
  CHECK(shortened_middle("abcdefgh", 7) == "abc…fgh");
  CHECK(shortened_middle("abcdefgh", 6) == "ab…fgh");
  CHECK(shortened_middle("abcdefgh", 1) == "…");
  CHECK(shortened_middle("abcdefgh", 0).empty());
  CHECK(shortened_middle("äbcdefgö", 4) == "ä…gö");
}

TEST_CASE("text: lines are wrapped at the width and indented from the second line on") {
  CHECK(wrapped("", 10, 2) == "\n");
  CHECK(wrapped("aa bb cc", 5, 2) == "aa bb\n  cc\n");
  CHECK(wrapped("aa bb cc", 4, 2) == "aa\n  bb\n  cc\n");
  CHECK(wrapped("aa bb cc dd", 7, 2) == "aa bb\n  cc dd\n");
  CHECK(wrapped("aa bb cc dd", 6, 2) == "aa bb\n  cc\n  dd\n");
  CHECK(wrapped("µµ µµ", 5, 0) == "µµ µµ\n");
  CHECK(wrapped("abcdefgh i", 4, 1) == "abcdefgh\n i\n");
  CHECK(wrapped("a b", 0, 0) == "a\nb\n");
}

TEST_CASE("text: a percent sign stays with its number") {
  CHECK(wrapped("up 12 % now", 7, 0) == "up 12 %\nnow\n");
  CHECK(wrapped("up 12 % now", 6, 0) == "up\n12 %\nnow\n");
  CHECK(wrapped("is 12 %", 4, 0) == "is\n12 %\n");
}

TEST_CASE("text: a bar is drawn in eighths, is never longer than full and never empty above zero") {
  CHECK(bar(0, 8).empty());
  CHECK(bar(-1, 8).empty());
  CHECK(bar(std::numeric_limits<double>::quiet_NaN(), 8).empty());
  CHECK(bar(0.001, 8) == "▏");
  CHECK(bar(0.5, 3) == "█▌");  // 12 eighths
  CHECK(bar(1, 3) == "███");
  CHECK(bar(2, 3) == "███");
  const char* parts[] = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  for (int eighth = 1; eighth < 8; ++eighth) CHECK(bar(eighth / 8.0, 1) == parts[eighth - 1]);
  CHECK(bar(0.18, 1) == "▏");  // 1.44 eighths
  CHECK(bar(0.19, 1) == "▎");  // 1.52
}

TEST_CASE("text: bold and dim are used only with colour") {
  CHECK(bold("x", {}) == "x");
  CHECK(dim("x", {}) == "x");
  CHECK(bold("x", {.colour = true}) == "\x1b[1mx\x1b[0m");
  CHECK(dim("x", {.colour = true}) == "\x1b[2mx\x1b[0m");
}
