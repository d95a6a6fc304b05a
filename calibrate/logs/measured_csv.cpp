// Tables of sizes with times or bandwidths, by their header:
//
//   size_bytes,time_us[,algbw_gbps,busbw_gbps,time_us_inplace]
//   size_bytes,algbw_gbps | size_bytes,busbw_gbps       times follow from the bandwidth
//
//   nodes,gpus_per_node,size_bytes,…                    several shapes in one table
//
//   numCycle,collective,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inplace,time,algbw,busbw,#wrong
//                                                       rccl-tests' own (-Z csv): a row for each place
//
// Other columns are ignored. Sizes must ascend: otherwise the table was sorted as text or pasted
// together. A column "time" has no unit in its name, so only a bandwidth column next to it can tell
// the unit.
#include "measured_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "row_checks.hpp"
#include "step_time_name.hpp"

namespace ddpsim {
namespace {

enum Column {
  kSize,
  kTime,
  kInPlace,
  kAlgbw,
  kBusbw,
  kNodes,
  kGpus,
  kCollective,
  kRanksPerNode,
  kGpusPerRank,
  kAllGpus,
  kPlace,
  kCycle,
  kType,
  kRedop,
  kRoot,
  kWrong,
  kColumns
};

std::optional<Column> column_of(std::string_view name) {
  struct Name {
    std::string_view text;
    Column column;
  };
  constexpr std::array kNames = {
      Name{"size_bytes", kSize},     Name{"size", kSize},
      Name{"bytes", kSize},          Name{"time_us", kTime},
      Name{"time", kTime},           Name{"time_us_inplace", kInPlace},
      Name{"in_place_us", kInPlace}, Name{"algbw_gbps", kAlgbw},
      Name{"algbw", kAlgbw},         Name{"busbw_gbps", kBusbw},
      Name{"busbw", kBusbw},         Name{"nodes", kNodes},
      Name{"gpus_per_node", kGpus},  Name{"collective", kCollective},
      Name{"time_ms", kTime},        Name{"time_s", kTime},
      Name{"time_ns", kTime},        Name{"ranksPerNode", kRanksPerNode},
      Name{"gpus", kAllGpus},        Name{"gpusPerRank", kGpusPerRank},
      Name{"inplace", kPlace},       Name{"numCycle", kCycle},
      Name{"type", kType},           Name{"redop", kRedop},
      Name{"root", kRoot},           Name{"#wrong", kWrong},
      Name{"wrong", kWrong},
  };
  for (const Name& known : kNames) {
    if (known.text == name) return known.column;
  }
  return std::nullopt;
}

/// Microseconds in a column's unit. Absent if its name has no unit.
std::optional<double> unit_of_time(std::string_view name) {
  if (name == "time_us") return 1;
  if (name == "time_ms") return 1e3;
  if (name == "time_s") return 1e6;
  if (name == "time_ns") return 1e-3;
  return std::nullopt;
}

struct Header {
  std::array<std::optional<std::size_t>, kColumns> at;
  std::size_t cells = 0;
  std::optional<double> time_unit;  ///< in microseconds
  bool has_shape() const { return at[kGpus] || at[kRanksPerNode]; }
  bool measures() const { return at[kSize] && (at[kTime] || at[kAlgbw] || at[kBusbw]); }
};

Header header_of(std::string_view line) {
  Header header;
  for (const std::string_view cell : cells_of(line)) {
    const auto column = column_of(cell);
    const bool states_unit = column == kTime && !header.time_unit && unit_of_time(cell);
    if (column && (!header.at[*column] || states_unit)) header.at[*column] = header.cells;
    if (states_unit) header.time_unit = unit_of_time(cell);
    ++header.cells;
  }
  return header;
}

class Reader {
 public:
  explicit Reader(const std::string& file) {
    log_.file = file;
    log_.format = "CSV";
  }
  RawLog read(std::string_view text);

 private:
  [[noreturn]] void fail(std::string message, Hint hint) const {
    throw InputError(
        {log_.file, fmt::format("line {}", line_), std::move(message), std::move(hint)});
  }
  void take_row(const std::vector<std::string_view>& cells);
  std::string_view text(const std::vector<std::string_view>& cells, Column column) const;
  std::optional<JobShape> shape(const std::vector<std::string_view>& cells) const;
  bool is_in_place(const std::vector<std::string_view>& cells) const;
  void add_row(RawRun& run, RawRow row);
  void drop_half_rows();
  void take_unit_of_times();
  std::optional<std::int64_t> integer(const std::vector<std::string_view>& cells, Column column,
                                      std::int64_t low, std::int64_t high) const;
  std::optional<Figure> figure(const std::vector<std::string_view>& cells, Column column) const;
  RawRun& run_of(std::optional<JobShape> shape, std::string_view cycle);

  RawLog log_;
  std::vector<std::string> cycles_;  ///< one for each run
  Header header_;
  int line_ = 0;
};

RawLog Reader::read(std::string_view text) {
  bool header_seen = false;
  std::size_t rows = 0;
  while (!text.empty()) {
    ++line_;
    const std::string_view line = trimmed(take_line(text));
    if (line.empty() || line.starts_with('#')) continue;
    if (!header_seen) {
      header_ = header_of(line);
      if (!header_.measures())
        fail(fmt::format("the header is {}", in_quotes(line)), std::string(kExpectedColumns));
      if (header_.at[kNodes].has_value() != header_.has_shape()) {
        fail("one of nodes and gpus_per_node is missing", std::string(kExpectedColumns));
      }
      header_seen = true;
      continue;
    }
    if (++rows > kMostRows) fail(fmt::format("more than {} rows", kMostRows), "Split the table");
    take_row(cells_of(line));
  }
  drop_half_rows();
  take_unit_of_times();
  return std::move(log_);
}

std::string_view Reader::text(const std::vector<std::string_view>& cells, Column column) const {
  const auto at = header_.at[column];
  return at && *at < cells.size() ? cells[*at] : std::string_view();
}

std::optional<JobShape> Reader::shape(const std::vector<std::string_view>& cells) const {
  const auto count = [&](Column column, std::int64_t most) {
    return integer(cells, column, 1, most).value_or(1);
  };
  // A build without MPI, in which one process drives all GPUs.
  if (header_.at[kAllGpus] && header_.at[kCycle] && !header_.at[kNodes])
    return JobShape{1, static_cast<int>(count(kAllGpus, 1024))};
  if (!header_.at[kNodes]) return std::nullopt;
  const auto nodes = static_cast<int>(count(kNodes, 100'000));
  if (header_.at[kGpus]) return JobShape{nodes, static_cast<int>(count(kGpus, 1024))};
  return JobShape{nodes, static_cast<int>(count(kRanksPerNode, 1024) * count(kGpusPerRank, 1024))};
}

bool Reader::is_in_place(const std::vector<std::string_view>& cells) const {
  const std::string_view place = text(cells, kPlace);
  if (place.empty() || place == "0") return false;
  if (place == "1") return true;
  fail(fmt::format("inplace is {}", in_quotes(place)), "Expected 0 (out of place) or 1 (in place)");
}

/// Adds a row; an in-place row and its out-of-place row become one row of ours.
void Reader::add_row(RawRun& run, RawRow row) {
  const auto like = std::find_if(run.rows.rbegin(), run.rows.rend(), [&](const RawRow& other) {
    return other.type == row.type && other.redop == row.redop;
  });
  if (like == run.rows.rend()) return run.rows.push_back(std::move(row));
  if (row.size < like->size)
    fail(fmt::format("size {} follows {}", row.size, like->size),
         "Sizes must ascend. Sort them as numbers");
  const auto half = [](const RawRow& of) {
    return !of.time_us && !of.algbw_gbps && !of.busbw_gbps;
  };
  if (!header_.at[kPlace] || like->size != row.size || half(*like) == half(row))
    return run.rows.push_back(std::move(row));
  if (half(*like)) std::swap(*like, row);
  if (like->in_place_us) return run.rows.push_back(std::move(row));
  like->in_place_us = row.in_place_us;
  like->wrong_in_place = row.wrong_in_place;
}

void Reader::drop_half_rows() {
  if (!header_.at[kPlace]) return;
  std::size_t dropped = 0;
  for (RawRun& run : log_.runs)
    dropped += std::erase_if(run.rows, [](const RawRow& row) {
      return row.in_place_us && !row.time_us && !row.algbw_gbps && !row.busbw_gbps;
    });
  if (dropped > 0)
    log_.warnings.push_back(
        fmt::format("{} rows are left out, because their size was only timed in place", dropped));
}

/// Finds the unit of a column without one from bandwidth = size / time, in every row with a
/// bandwidth.
void Reader::take_unit_of_times() {
  if (!header_.at[kTime] || header_.time_unit) return;
  struct Unit {
    double microseconds;
    std::string_view name;
  };
  constexpr std::array kUnits = {Unit{1, ""}, Unit{1e3, "milliseconds"}, Unit{1e6, "seconds"},
                                 Unit{1e-3, "nanoseconds"}};
  constexpr double kDigits = 0.1;  // less exact values tell nothing
  const Unit* found = nullptr;
  bool is_other =
      // Rows disagree about the unit, or none tells; check_algbw then reports what is wrong.
      false;
  bool any_bandwidth = false;
  for (const RawRun& run : log_.runs)
    for (const RawRow& row : run.rows) {
      const std::optional<Figure>& bandwidth = row.algbw_gbps ? row.algbw_gbps : row.busbw_gbps;
      if (!row.time_us || !(row.time_us->value > 0) || !bandwidth || !(bandwidth->value > 0) ||
          bandwidth->half_unit > kDigits * bandwidth->value ||
          row.time_us->half_unit > kDigits * row.time_us->value || row.size == 0)
        continue;
      any_bandwidth = true;
      const double as_printed = static_cast<double>(row.size) / row.time_us->value / 1e3;
      // busbw is 1 to 2 times algbw.
      const double least = row.algbw_gbps ? 0.8 : 0.45;
      const auto unit = std::ranges::find_if(kUnits, [&](const Unit& one) {
        const double ratio = as_printed / one.microseconds / bandwidth->value;
        return ratio > least && ratio < 1.25;
      });
      if (unit == kUnits.end() || (found != nullptr && found != unit)) {
        is_other = true;
        continue;
      }
      found = unit;
    }
  if (any_bandwidth && header_.at[kAlgbw] && is_other) return;
  if (found == nullptr || is_other)
    throw InputError(
        {log_.file, "", "its column \"time\" has no unit, and no other column tells it",
         "Name it time_us if the times are in microseconds, time_ms or time_s if they are in "
         "those"});
  if (found->name.empty()) return;
  for (RawRun& run : log_.runs)
    for (RawRow& row : run.rows)
      for (std::optional<Figure>* time : {&row.time_us, &row.in_place_us})
        if (*time)
          *time = Figure{(*time)->value * found->microseconds,
                         (*time)->half_unit * found->microseconds};
  log_.recognised.push_back(
      fmt::format("times are in {}, as the bandwidths in the same rows show", found->name));
}

std::optional<std::int64_t> Reader::integer(const std::vector<std::string_view>& cells,
                                            Column column, std::int64_t low,
                                            std::int64_t high) const {
  if (!header_.at[column]) return std::nullopt;
  const std::string_view cell = text(cells, column);
  const auto value = parse_number<std::int64_t>(cell);
  if (value && *value >= low && *value <= high) return value;
  const auto name_of = [&]() -> std::string_view {
    switch (column) {
      case kSize:
        return "size";
      case kNodes:
        return "nodes";
      case kGpus:
        return "gpus_per_node";
      case kRanksPerNode:
        return "ranksPerNode";
      case kGpusPerRank:
        return "gpusPerRank";
      case kRoot:
        return "root";
      default:
        return "gpus";
    }
  };
  fail(fmt::format("{} is {}", name_of(), in_quotes(cell)),
       fmt::format("Expected an integer from {} to {}{}", low, high,
                   column == kSize ? ", in bytes without a unit" : ""));
}

std::optional<Figure> Reader::figure(const std::vector<std::string_view>& cells,
                                     Column column) const {
  if (!header_.at[column] || *header_.at[column] >= cells.size()) return std::nullopt;
  const std::string_view cell = cells[*header_.at[column]];
  if (cell.empty() || cell == "N/A") return std::nullopt;
  const auto value = figure_of(cell);
  if (!value) {
    fail(fmt::format("{} is not a number", in_quotes(cell)),
         column == kTime || column == kInPlace ? "Expected a time, without a unit"
         : column == kWrong                    ? "Expected a count"
                                               : "Expected GB/s (1e9 bytes per second)");
  }
  const double unit = column == kTime ? header_.time_unit.value_or(1) : 1;
  return Figure{value->value * unit, value->half_unit * unit};
}

RawRun& Reader::run_of(std::optional<JobShape> shape, std::string_view cycle) {
  for (std::size_t r = 0; r < log_.runs.size(); ++r)
    if (log_.runs[r].shape == shape && cycles_[r] == cycle) return log_.runs[r];
  cycles_.emplace_back(cycle);
  log_.runs.emplace_back();
  log_.runs.back().place = fmt::format("line {}", line_);
  log_.runs.back().shape = shape;
  return log_.runs.back();
}

void Reader::take_row(const std::vector<std::string_view>& cells) {
  if (cells.size() > header_.cells || cells.size() <= *header_.at[kSize] ||
      (header_.at[kNodes] && cells.size() <= *header_.at[kNodes]) ||
      (header_.at[kGpus] && cells.size() <= *header_.at[kGpus])) {
    fail(fmt::format("{} cells", cells.size()),
         fmt::format("Expected {}, like the header", header_.cells));
  }
  if (const auto column = header_.at[kCollective]; column && *column < cells.size())
    if (const std::string_view of = cells[*column];
        of != "all-reduce" && of != "all_reduce" && of != "AllReduce")
      fail(fmt::format("is of {}, not of an all-reduce", in_quotes(of)),
           "Give times of all-reduces, because only these are calibrated");
  RawRow row;
  row.place = fmt::format("line {}", line_);
  row.size = *integer(cells, kSize, 0, 1LL << 50);
  row.type = text(cells, kType);
  row.redop = text(cells, kRedop);
  if (!text(cells, kRoot).empty()) row.root = integer(cells, kRoot, -1, 1'000'000'000);
  const std::optional<Figure> wrong = figure(cells, kWrong);
  if (is_in_place(cells)) {
    row.in_place_us = figure(cells, kTime);
    if (!row.in_place_us) fail("an in-place row has no time", "Expected one, or leave the row out");
    if (wrong) row.wrong_in_place = wrong->value;
  } else {
    row.time_us = figure(cells, kTime);
    row.in_place_us = figure(cells, kInPlace);
    row.algbw_gbps = figure(cells, kAlgbw);
    row.busbw_gbps = figure(cells, kBusbw);
    if (wrong) row.wrong = wrong->value;
  }
  add_row(run_of(shape(cells), text(cells, kCycle)), std::move(row));
}

bool names_sizes(std::string_view name) {
  constexpr std::array<std::string_view, 4> kSizes = {"size", "bytes", "count", "nbytes"};
  constexpr std::array<std::string_view, 14> kBeside = {
      "b",       "kb",  "mb",     "gb",   "kib", "mib",    "gib",
      "message", "msg", "buffer", "data", "in",  "tensor", "elements"};
  const std::vector<std::string> tokens = words_in_name(name);
  bool any = false;
  for (const std::string& token : tokens) {
    if (std::ranges::find(kSizes, token) != kSizes.end())
      any = true;
    else if (std::ranges::find(kBeside, token) == kBeside.end())
      return false;
  }
  return any;
}

bool names_times(std::string_view name) {
  constexpr std::array<std::string_view, 7> kTimes = {"time",      "latency", "algbw",   "busbw",
                                                      "bandwidth", "bw",      "duration"};
  return std::ranges::any_of(words_in_name(name), [&](const std::string& token) {
    return std::ranges::find(kTimes, token) != kTimes.end();
  });
}

}  // namespace

bool is_measured_csv(std::string_view text) {
  const Header header = header_of(first_line(text));
  return header.cells > 1 && header.measures();
}

bool has_other_header(std::string_view text) {
  // In tables with "|", a line of "-" follows the header.
  const auto is_rule = [](std::string_view line) {
    return line.find_first_not_of("|-: ") == std::string_view::npos;
  };
  constexpr std::size_t kLongestHeader = 4096;
  const std::string_view header = first_line(text);
  if (header.empty() || header.size() > kLongestHeader) return false;
  text.remove_prefix(static_cast<std::size_t>(header.data() - text.data()) + header.size());
  std::string_view row = first_line(text);
  if (is_rule(row) && !row.empty()) {
    text.remove_prefix(static_cast<std::size_t>(row.data() - text.data()) + row.size());
    row = first_line(text);
  }
  for (const char separator : {',', ';', '\t', '|', ' '}) {
    const auto split = [&](std::string_view line) {
      return separator == ' ' ? words_of(line) : cells_of(line, separator);
    };
    const std::vector<std::string_view> names = split(header);
    const auto size = std::ranges::find_if(names, names_sizes);
    const auto time = std::ranges::find_if(names, names_times);
    if (size == names.end() || time == names.end() || size == time ||
        header.find_first_of(":=") != std::string_view::npos)
      continue;
    const std::vector<std::string_view> cells = split(row.substr(0, kLongestHeader));
    const auto at = static_cast<std::size_t>(size - names.begin());
    if (at < cells.size() && parse_number<double>(cells[at].substr(0, cells[at].find(' '))))
      return true;
  }
  return false;
}

RawLog scan_measured_csv(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

}  // namespace ddpsim
