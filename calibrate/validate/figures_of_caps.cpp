// Measured iteration times by bucket cap:
//
//   bucket_cap_mb,iteration_us          or iteration_ms; "default" or nothing for the default
//   default,104200
//   50,103100
//
// A column first_bucket_mb states the value of torch.distributed._DEFAULT_FIRST_BUCKET_BYTES. A
// column torch states the PyTorch version (default 2.8).
//
// The CSV of ddpsim-real is read the same way. Its column `name` marks all-reduces that were
// measured separately ("all_reduce:1048576"). Rows with gradient_as_bucket_view represent their cap
// only if no other row does.
//
// A column with an unknown name leads to a warning if all its cells agree. Otherwise the table is
// refused, because its rows are of several settings.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/log_words.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/sim/values/ddp_options.hpp"
#include "figure_sources.hpp"

namespace ddpsim {
namespace {

constexpr std::string_view kExpected = "Expected bucket_cap_mb,iteration_us (or iteration_ms)";

struct Columns {
  std::optional<std::size_t> cap, us, ms, first, torch, name, views;
  std::vector<std::pair<std::size_t, std::string>> others;  ///< columns that are not read
  std::size_t cells = 0;
};

/// Columns of ddpsim-real's CSV that describe the step of a row. The value of any other column is a
/// setting, and must be the same in all rows.
constexpr std::array<std::string_view, 13> kOfTheStep = {"bucket_cap_mb",
                                                         "iteration_us",
                                                         "iteration_ms",
                                                         "first_bucket_mb",
                                                         "torch",
                                                         "name",
                                                         "gradient_as_bucket_view",
                                                         "iteration_p10_us",
                                                         "iteration_p90_us",
                                                         "forward_us",
                                                         "backward_us",
                                                         "optimizer_us",
                                                         "finalize_us"};
constexpr std::array<std::string_view, 4> kMoreOfTheStep = {
    "communication_us", "exposed_communication_us", "bucket_bytes", "steps"};

bool tells_of_the_step(std::string_view column) {
  return std::find(kOfTheStep.begin(), kOfTheStep.end(), column) != kOfTheStep.end() ||
         std::find(kMoreOfTheStep.begin(), kMoreOfTheStep.end(), column) != kMoreOfTheStep.end();
}

Columns columns_of(std::string_view line) {
  Columns columns;
  for (const std::string_view cell : cells_of(line)) {
    if (!tells_of_the_step(cell) && columns.others.size() < 64)
      columns.others.emplace_back(columns.cells, cell);
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
  options.bucket_cap_mb = cap_mb;
  options.first_bucket_mb = first_mb;
  const std::vector<Bytes> limits = bucket_limits(options, torch).rebuild;
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

/// Reads one row of the table after another, below its header.
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
    const std::size_t plain_rows = figures_.caps.size();
    for (CapFigure& row : with_views_) {
      const bool plain = std::any_of(
          figures_.caps.begin(), figures_.caps.begin() + static_cast<std::ptrdiff_t>(plain_rows),
          [&](const CapFigure& other) { return other.cap_mb == row.cap_mb; });
      if (plain)
        figures_.warnings.push_back(fmt::format(
            "{} is not used, because it has gradient_as_bucket_view and another row has its cap",
            row.figure.place));
      else
        figures_.caps.push_back(std::move(row));
    }
    if (figures_.caps.empty() && figures_.rows.empty()) fail("no row", std::string(kExpected));
    for (const auto& [at, name] : columns_.others)
      figures_.warnings.push_back(fmt::format("column {} is not used", in_quotes(name)));
    figures_.recognised.push_back(fmt::format("a table of {} bucket caps", figures_.caps.size()));
    return std::move(figures_);
  }

 private:
  using Cells = std::vector<std::string_view>;

  [[noreturn]] void fail(std::string message, Hint hint) const {
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
           fmt::format("Expected {}, like the header", columns_.cells));
    constexpr std::string_view kApart = "all_reduce:";
    if (columns_.name && cells[*columns_.name].starts_with(kApart)) {
      add_all_reduce(cells, cells[*columns_.name].substr(kApart.size()));
      return;
    }
    require_one_setting(cells);
    constexpr std::size_t kMostCaps = 100'000;
    CapFigure row = cap_of(cells);
    row.figure.us = iteration_us(cells);
    row.figure.place = place();
    if (figures_.caps.size() + with_views_.size() == kMostCaps)
      fail("more than 100000 rows", "Split the table");
    const bool views =
        columns_.views && (cells[*columns_.views] == "true" || cells[*columns_.views] == "1" ||
                           cells[*columns_.views] == "True");
    (views ? with_views_ : figures_.caps).push_back(std::move(row));
  }

  void require_one_setting(const Cells& cells) {
    if (first_cells_.empty())
      for (const auto& [at, name] : columns_.others) first_cells_.emplace_back(cells[at]);
    for (std::size_t k = 0; k < columns_.others.size(); ++k)
      if (const auto& [at, name] = columns_.others[k]; cells[at] != first_cells_[k])
        fail(fmt::format("column {} has {} here and {} above, but its meaning is unknown",
                         in_quotes(name), in_quotes(cells[at]), in_quotes(first_cells_[k])),
             "Give the rows of one setting, or leave the column out");
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
  std::vector<std::string> first_cells_;  ///< of columns_.others, in the first row
  std::vector<CapFigure> with_views_;
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
