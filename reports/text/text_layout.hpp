// Formats numbers, tables, bars and paragraphs for the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ddpsim/formats/display_width.hpp"
#include "ddpsim/formats/quote.hpp"  // printable
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// Blank columns in front of a table.
inline constexpr std::size_t kIndent = 2;

/// Significant digits for predictions of this grade: two for C, else three.
int digits_of(Grade grade);

/// `value` with `digits` significant digits and at most three decimals: "98", "0.31", "420",
/// "<0.001".
std::string significant(double value, int digits);

/// Decimals (0 to 3) that give `largest` two significant digits.
int decimals_for(double largest);
std::string fixed(double value, int decimals);
bool rounds_to_zero(double value, int decimals);
/// The parts with this many decimals. Some are rounded up instead of down, or down instead of up,
/// so that they add up to the rounded total. The part with index `kept` is rounded as usual.
std::vector<std::string> adding_up(const std::vector<double>& parts, double total, int decimals,
                                   std::size_t kept);

/// The fewest digits, from `digits` to `digits` + 2, that print the two numbers differently;
/// `digits` if none do.
int digits_apart(double low, double high, int digits);
/// "1.9 to 2.1", "12 % to 28 %": the ends of an interval, with up to two more digits if both ends
/// would look the same.
std::string interval_text(double low, double high, int digits, std::string_view unit = "");

enum class TimeUnit { microseconds, milliseconds };
/// Milliseconds from 1 ms on, else microseconds.
TimeUnit unit_for(Duration duration);
std::string_view name_of(TimeUnit unit);  ///< "ms"
double in_unit(Duration duration, TimeUnit unit);
/// Without the unit, for columns that have it in their head.
std::string time_number(Duration duration, int digits, TimeUnit unit);
std::string time_text(Duration duration, int digits, TimeUnit unit);
std::string time_text(Duration duration, int digits);  ///< in unit_for(duration)
/// The fewest digits, from `digits` to `digits` + 2, that print times which differ by `least` or
/// more differently.
int digits_apart(std::vector<Duration> times, int digits, Duration least, TimeUnit unit);
/// interval_text() for times, without the unit.
std::string time_interval(Duration low, Duration high, int digits, TimeUnit unit);

/// A bucket cap with at most four digits: "25", "25.1".
std::string cap_text(double cap_mb);

/// "2.1 %", "12 %". A share below 100 % is never printed as 100 %.
std::string percent_text(double percent);
/// MiB with two decimals, without the unit: "25.04".
std::string mebibytes(Bytes bytes);
/// "1 GPU", "8 GPUs".
std::string counted(std::uint64_t count, std::string_view noun);

/// `text`, cut at the end with "…" if it is wider.
std::string shortened(std::string_view text, std::size_t width);
/// `text`, cut in the middle, for names of which both ends matter.
std::string shortened_middle(std::string_view text, std::size_t width);
/// `text` broken into lines of `width`. Every line after the first begins with `indent` spaces.
/// Ends with a newline.
std::string wrapped(std::string_view text, int width, std::size_t indent);

/// A bar that is `share` of `cells` long, drawn in eighths of a cell.
std::string bar(double share, int cells);

std::string bold(std::string_view text, const TerminalStyle& style);
std::string dim(std::string_view text, const TerminalStyle& style);

enum class Align { left, right, decimal };

struct Column {
  std::string head;
  Align align = Align::left;
  /// While the table is too wide, the column with the highest value is dropped; 0 is never dropped.
  int expendable = 0;
  /// Whether cells may be cut at the end before any column is dropped.
  bool shrinks = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  /// The table, fitted to the width: first the last column shrinks if it may, then columns are
  /// dropped.
  std::string text(const TerminalStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace ddpsim
