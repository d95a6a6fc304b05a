// Measured iteration times by bucket cap:
//
//   bucket_cap_mb,iteration_us          or iteration_ms; "default" or nothing for the default
//   default,104200
//   50,103100
//
// A column first_bucket_mb says where torch.distributed._DEFAULT_FIRST_BUCKET_BYTES was set, a column
// torch which PyTorch ran (default 2.8). So is the CSV of ddpsim-real read, whose column `name` marks
// all-reduces measured apart ("all_reduce:1048576").
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/ddp_options.hpp"
#include "figure_sources.hpp"
#include "log_words.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kExpected = "Expected bucket_cap_mb,iteration_us (or iteration_ms)";

struct Columns {
  std::optional<std::size_t> cap, us, ms, first, torch, name, views;
  std::size_t cells = 0;
};

Columns columns_of(std::string_view line) {
  Columns columns;
  for (const std::string_view cell : cells_of(line)) {
    if (cell == "bucket_cap_mb") columns.cap = columns.cells;
    if (cell == "iteration_us") columns.us = columns.cells;
    if (cell == "iteration_ms") columns.ms = columns.cells;
    if (cell == "first_bucket_mb") columns.first = columns.cells;
    if (cell == "torch") columns.torch = columns.cells;
    if (cell == "name") columns.name = columns.cells;
    if (cell == "gradient_as_bucket_view") columns.views = columns.cells;
    ++columns.cells;
  }
  return columns;
}

}  // namespace

CapFigure cap_figure(std::optional<double> cap_mb, std::optional<double> first_mb,
                     TorchVersion torch) {
  DdpOptions options;
  options.torch = torch;
  options.bucket_cap_mb = cap_mb;
  options.first_bucket_mb = first_mb;
  const std::vector<Bytes> limits = bucket_limits(options).rebuild;
  CapFigure cap;
  cap.cap_mb = cap_mb;
  cap.first = limits.front();
  cap.low = cap.high = limits.back();
  cap.first_as_cap = cap_mb && cap.first == cap.low;
  cap.figure.name =
      cap_mb ? fmt::format("bucket_cap_mb={:.6g}", *cap_mb) : std::string("bucket_cap_mb default");
  return cap;
}

bool is_cap_table(std::string_view text) {
  return columns_of(first_line(text)).cap.has_value();
}

namespace {

/// One row of the table at a time, under its header.
class CapTable {
 public:
  explicit CapTable(const std::string& file) : file_(file) {
    figures_.source = file;
    figures_.kind = "a table of bucket caps";
  }

  void read(std::string_view line) {
    ++number_;
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) return;
    if (columns_.cells == 0)
      read_header(line);
    else
      read_row(cells_of(line));
  }

  Figures finish() {
    if (figures_.caps.empty() && figures_.rows.empty()) fail("no row", std::string(kExpected));
    figures_.recognised.push_back(fmt::format("a table of {} bucket caps", figures_.caps.size()));
    return std::move(figures_);
  }

 private:
  using Cells = std::vector<std::string_view>;

  [[noreturn]] void fail(std::string message, std::string hint) const {
    throw InputError({file_, place(), std::move(message), std::move(hint)});
  }
  std::string place() const { return fmt::format("line {}", number_); }

  void read_header(std::string_view line) {
    columns_ = columns_of(line);
    if (columns_.us.has_value() == columns_.ms.has_value())
      fail(fmt::format("the header is {}", in_quotes(line)), std::string(kExpected));
  }

  void read_row(const Cells& cells) {
    if (cells.size() != columns_.cells)
      fail(fmt::format("{} cells", cells.size()),
           fmt::format("Expected {}, as many as the header has", columns_.cells));
    constexpr std::string_view kApart = "all_reduce:";
    if (columns_.name && cells[*columns_.name].starts_with(kApart)) {
      add_all_reduce(cells, cells[*columns_.name].substr(kApart.size()));
      return;
    }
    if (columns_.views && cells[*columns_.views] == "true") return;
    constexpr std::size_t kMostCaps = 100'000;
    CapFigure row = cap_of(cells);
    row.figure.us = iteration_us(cells);
    row.figure.place = place();
    if (figures_.caps.size() == kMostCaps) fail("more than 100000 rows", "Split the table");
    figures_.caps.push_back(std::move(row));
  }

  void add_all_reduce(const Cells& cells, std::string_view bytes) {
    const auto size = parse_number<std::int64_t>(bytes);
    if (!size)
      fail(fmt::format("name is {}", in_quotes(cells[*columns_.name])),
           "Expected all_reduce:BYTES");
    figures_.rows.push_back({.name = fmt::format("all_reduce {} B", *size),
                             .us = iteration_us(cells),
                             .low_us = {},
                             .high_us = {},
                             .place = place()});
  }

  CapFigure cap_of(const Cells& cells) const {
    constexpr double kLargestCap = 1e9;
    std::optional<double> cap;
    if (cells[*columns_.cap] != "default")
      cap = number_in(cells[*columns_.cap], "bucket_cap_mb", kLargestCap);
    std::optional<double> first;
    if (columns_.first && !cells[*columns_.first].empty())
      first = number_in(cells[*columns_.first], "first_bucket_mb", kLargestCap);
    std::optional<TorchVersion> torch = TorchVersion();
    if (columns_.torch) torch = parse_torch_version(cells[*columns_.torch]);
    if (!torch)
      fail(fmt::format("torch is {}", in_quotes(cells[*columns_.torch])),
           "Expected a version such as 2.8");
    return cap_figure(cap, first, *torch);
  }

  double iteration_us(const Cells& cells) const {
    constexpr double kLongest = 9.2e12;
    const double us = columns_.us
                          ? number_in(cells[*columns_.us], "iteration_us", kLongest)
                          : 1000 * number_in(cells[*columns_.ms], "iteration_ms", kLongest / 1000);
    if (!(us > 0)) fail("the iteration takes no time", "Expected a time above 0");
    return us;
  }

  double number_in(std::string_view cell, const char* name, double most) const {
    const auto read = figure_of(cell);
    if (!read || !(read->value >= 0 && read->value <= most))
      fail(fmt::format("{} is {}", name, in_quotes(cell)),
           fmt::format("Expected a number without a unit, 0 to {:g}", most));
    return read->value;
  }

  const std::string& file_;
  Columns columns_;
  int number_ = 0;
  Figures figures_;
};

}  // namespace

Figures figures_of_cap_table(std::string_view text, const std::string& file) {
  CapTable table(file);
  while (!text.empty()) table.read(take_line(text));
  return table.finish();
}

}  // namespace ddpsim
