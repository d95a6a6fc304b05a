// Numbers, tables, bars and paragraphs for the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/display_width.hpp"
#include "ddpsim/formats/quote.hpp"  // printable, for names from files
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Columns in front of a table.
inline constexpr std::size_t kIndent = 2;

/// Significant digits a prediction of this grade deserves: two for C, three otherwise.
int digits_of(Grade grade);

/// `value` to so many significant digits, at most three decimals: "98", "0.31", "420", "<0.001".
std::string significant(double value, int digits);

/// Decimals of a table, its largest number of interest to two digits: 0 to 3.
int decimals_for(double largest);
std::string fixed(double value, int decimals);
bool rounds_to_zero(double value, int decimals);
/// Rounded to so many decimals, a few up or down, so that they add up to the total as rounded; the `kept`-th as it is.
std::vector<std::string> adding_up(const std::vector<double>& parts, double total, int decimals,
                                   std::size_t kept);

/// From `digits` to two more: the fewest that print two numbers differently, and `digits` where none do.
int digits_apart(double low, double high, int digits);
/// "1.9 to 2.1", "12 % to 28 %": the ends of an interval, with up to two digits more where `digits`
/// would print them alike.
std::string interval_text(double low, double high, int digits, std::string_view unit = "");

enum class TimeUnit { microseconds, milliseconds };
/// Milliseconds from 1 ms on.
TimeUnit unit_for(Duration duration);
std::string_view name_of(TimeUnit unit);  ///< "ms"
double in_unit(Duration duration, TimeUnit unit);
/// Without the unit, for columns that carry it in their head.
std::string time_number(Duration duration, int digits, TimeUnit unit);
std::string time_text(Duration duration, int digits, TimeUnit unit);
std::string time_text(Duration duration, int digits);  ///< in its own unit
/// The fewest digits, from `digits` to two more, with which no two times that differ by `least` and
/// more are printed alike.
int digits_apart(std::vector<Duration> times, int digits, Duration least, TimeUnit unit);
/// Both ends of an interval, without the unit, as interval_text.
std::string time_interval(Duration low, Duration high, int digits, TimeUnit unit);

/// A bucket cap as people write it, to four digits: "25", "25.1".
std::string cap_text(double cap_mb);

/// "2.1 %", "12 %"; what is not quite all is never rounded to 100 %.
std::string percent_text(double percent);
/// Two decimals, without a unit: "25.04".
std::string mebibytes(Bytes bytes);
/// "1 GPU", "8 GPUs".
std::string counted(std::uint64_t count, std::string_view noun);

/// Cut at the end with "…".
std::string shortened(std::string_view text, std::size_t width);
/// Cut in the middle, where both ends of a name matter.
std::string shortened_middle(std::string_view text, std::size_t width);
/// Words broken at `width`; every line after the first starts with `indent` spaces. Ends with a
/// newline.
std::string wrapped(std::string_view text, int width, std::size_t indent);

/// A bar of eighths of a cell, `share` of `cells` long.
std::string bar(double share, int cells);

std::string bold(std::string_view text, const TerminalStyle& style);
std::string dim(std::string_view text, const TerminalStyle& style);

enum class Align { left, right, decimal };

struct Column {
  std::string head;
  Align align = Align::left;
  /// Columns are dropped, highest first, while the table is too wide; 0 stays.
  int expendable = 0;
  /// Cells may be cut at the end before any column is dropped.
  bool shrinks = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// Fits the width: first the last column shrinks if it may, then columns are dropped.
  std::string text(const TerminalStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddpsim
