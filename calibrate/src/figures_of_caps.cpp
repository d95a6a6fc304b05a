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

Figures figures_of_cap_table(std::string_view text, const std::string& file) {
  Figures figures;
  figures.source = file;
  figures.kind = "a table of bucket caps";
  Columns columns;
  int number = 0;
  const auto fail = [&](std::string message, std::string hint) {
    throw InputError({file, fmt::format("line {}", number), std::move(message), std::move(hint)});
  };
  constexpr std::size_t kMostCaps = 100'000;
  while (!text.empty()) {
    ++number;
    const std::string_view line = trimmed(take_line(text));
    if (line.empty() || line.starts_with('#')) continue;
    if (columns.cells == 0) {
      columns = columns_of(line);
      if (columns.us.has_value() == columns.ms.has_value()) {
        fail(fmt::format("the header is {}", in_quotes(line)), std::string(kExpected));
      }
      continue;
    }
    const std::vector<std::string_view> cells = cells_of(line);
    if (cells.size() != columns.cells) {
      fail(fmt::format("{} cells", cells.size()),
           fmt::format("Expected {}, as many as the header has", columns.cells));
    }
    const auto number_in = [&](std::size_t column, const char* name, double most) {
      const auto read = figure_of(cells[column]);
      if (!read || !(read->value >= 0 && read->value <= most)) {
        fail(fmt::format("{} is {}", name, in_quotes(cells[column])),
             fmt::format("Expected a number without a unit, 0 to {:g}", most));
      }
      return read->value;
    };
    constexpr double kLongest = 9.2e12;
    const auto iteration_us = [&] {
      const double us = columns.us ? number_in(*columns.us, "iteration_us", kLongest)
                                   : 1000 * number_in(*columns.ms, "iteration_ms", kLongest / 1000);
      if (!(us > 0)) fail("the iteration takes no time", "Expected a time above 0");
      return us;
    };
    constexpr std::string_view kApart = "all_reduce:";
    if (columns.name && cells[*columns.name].starts_with(kApart)) {
      const auto size = parse_number<std::int64_t>(cells[*columns.name].substr(kApart.size()));
      if (!size)
        fail(fmt::format("name is {}", in_quotes(cells[*columns.name])),
             "Expected all_reduce:BYTES");
      figures.rows.push_back({.name = fmt::format("all_reduce {} B", *size),
                              .us = iteration_us(),
                              .low_us = {},
                              .high_us = {},
                              .place = fmt::format("line {}", number)});
      continue;
    }
    if (columns.views && cells[*columns.views] == "true") continue;
    constexpr double kLargestCap = 1e9;
    std::optional<double> cap;
    if (cells[*columns.cap] != "default")
      cap = number_in(*columns.cap, "bucket_cap_mb", kLargestCap);
    std::optional<double> first;
    if (columns.first && !cells[*columns.first].empty()) {
      first = number_in(*columns.first, "first_bucket_mb", kLargestCap);
    }
    std::optional<TorchVersion> torch = TorchVersion();
    if (columns.torch) torch = parse_torch_version(cells[*columns.torch]);
    if (!torch)
      fail(fmt::format("torch is {}", in_quotes(cells[*columns.torch])),
           "Expected a version such as 2.8");
    CapFigure row = cap_figure(cap, first, *torch);
    row.figure.us = iteration_us();
    row.figure.place = fmt::format("line {}", number);
    if (figures.caps.size() == kMostCaps) fail("more than 100000 rows", "Split the table");
    figures.caps.push_back(std::move(row));
  }
  if (figures.caps.empty() && figures.rows.empty()) fail("no row", std::string(kExpected));
  figures.recognised.push_back(fmt::format("a table of {} bucket caps", figures.caps.size()));
  return figures;
}

}  // namespace ddpsim
