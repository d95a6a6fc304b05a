// size_bytes,time_us[,algbw_gbps,busbw_gbps,time_us_inplace]
// size_bytes,algbw_gbps | size_bytes,busbw_gbps       times follow from the bandwidth
// nodes,gpus_per_node,size_bytes,…                    several shapes in one table
//
// Other columns are left alone. Sizes ascend: a table that does not is one that was sorted as text
// or pasted together.
#include "measured_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quote.hpp"
#include "row_checks.hpp"

namespace ddpsim {
namespace {

enum Column { kSize, kTime, kInPlace, kAlgbw, kBusbw, kNodes, kGpus, kCollective, kColumns };

constexpr std::string_view kExpectedColumns =
    "Expected size_bytes with time_us, algbw_gbps or busbw_gbps; nodes and gpus_per_node may stand "
    "beside";

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
  };
  for (const Name& known : kNames) {
    if (known.text == name) return known.column;
  }
  return std::nullopt;
}

struct Header {
  std::array<std::optional<std::size_t>, kColumns> at;
  std::size_t cells = 0;
  bool measures() const { return at[kSize] && (at[kTime] || at[kAlgbw] || at[kBusbw]); }
};

Header header_of(std::string_view line) {
  Header header;
  for (const std::string_view cell : cells_of(line)) {
    if (const auto column = column_of(cell); column && !header.at[*column]) {
      header.at[*column] = header.cells;
    }
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
  [[noreturn]] void fail(std::string message, std::string hint) const {
    throw InputError(
        {log_.file, fmt::format("line {}", line_), std::move(message), std::move(hint)});
  }
  void take_row(const std::vector<std::string_view>& cells);
  std::optional<std::int64_t> integer(const std::vector<std::string_view>& cells, Column column,
                                      std::int64_t low, std::int64_t high) const;
  std::optional<Figure> figure(const std::vector<std::string_view>& cells, Column column) const;
  RawRun& run_of(std::optional<JobShape> shape);

  RawLog log_;
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
      if (header_.at[kNodes].has_value() != header_.at[kGpus].has_value()) {
        fail("of nodes and gpus_per_node one is missing", std::string(kExpectedColumns));
      }
      header_seen = true;
      continue;
    }
    if (++rows > kMostRows) fail(fmt::format("more than {} rows", kMostRows), "Split the table");
    take_row(cells_of(line));
  }
  return std::move(log_);
}

std::optional<std::int64_t> Reader::integer(const std::vector<std::string_view>& cells,
                                            Column column, std::int64_t low,
                                            std::int64_t high) const {
  if (!header_.at[column]) return std::nullopt;
  const std::string_view cell = cells[*header_.at[column]];
  const auto value = parse_number<std::int64_t>(cell);
  if (value && *value >= low && *value <= high) return value;
  constexpr std::array<std::string_view, kColumns> kNames = {
      "size", "", "", "", "", "nodes", "gpus_per_node", ""};
  fail(fmt::format("{} is {}", kNames[column], in_quotes(cell)),
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
         column == kTime || column == kInPlace ? "Expected microseconds, without a unit"
                                               : "Expected GB/s (1e9 bytes per second)");
  }
  return value;
}

RawRun& Reader::run_of(std::optional<JobShape> shape) {
  for (RawRun& run : log_.runs) {
    if (run.shape == shape) return run;
  }
  log_.runs.emplace_back();
  log_.runs.back().place = fmt::format("line {}", line_);
  log_.runs.back().shape = shape;
  return log_.runs.back();
}

void Reader::take_row(const std::vector<std::string_view>& cells) {
  if (cells.size() > header_.cells || cells.size() <= *header_.at[kSize] ||
      (header_.at[kNodes] && cells.size() <= std::max(*header_.at[kNodes], *header_.at[kGpus]))) {
    fail(fmt::format("{} cells", cells.size()),
         fmt::format("Expected {}, as many as the header has", header_.cells));
  }
  if (const auto column = header_.at[kCollective]; column && *column < cells.size())
    if (const std::string_view of = cells[*column]; of != "all-reduce" && of != "all_reduce")
      fail(fmt::format("is of {}, no all-reduce", in_quotes(of)),
           "Give times of all-reduces: no other collective is calibrated");
  RawRow row;
  row.place = fmt::format("line {}", line_);
  row.size = *integer(cells, kSize, 0, 1LL << 50);
  row.time_us = figure(cells, kTime);
  row.in_place_us = figure(cells, kInPlace);
  row.algbw_gbps = figure(cells, kAlgbw);
  row.busbw_gbps = figure(cells, kBusbw);
  std::optional<JobShape> shape;
  if (header_.at[kNodes]) {
    shape = JobShape{static_cast<int>(*integer(cells, kNodes, 1, 100'000)),
                     static_cast<int>(*integer(cells, kGpus, 1, 1024))};
  }
  RawRun& run = run_of(shape);
  if (!run.rows.empty() && row.size < run.rows.back().size) {
    fail(fmt::format("size {} follows {}", row.size, run.rows.back().size),
         "Sizes ascend: sort by size, as numbers");
  }
  run.rows.push_back(std::move(row));
}

}  // namespace

bool is_measured_csv(std::string_view text) {
  const Header header = header_of(first_line(text));
  return header.cells > 1 && header.measures();
}

RawLog scan_measured_csv(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

}  // namespace ddpsim
