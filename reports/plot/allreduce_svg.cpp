// busbw by size, as readers of nccl-tests draw it: sizes by doublings, GB/s on a linear axis from 0.
#include <fmt/format.h>

#include <cmath>

#include "chart.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "figure_words.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr plot::Look kPredicted{0};
constexpr plot::Look kMeasured{1};

double bytes_of(const AllReduceRow& row) {
  return static_cast<double>(row.size.count());
}

/// Sizes as the command line of nccl-tests spells them: "8", "64K", "1G".
std::string size_tick(double bytes) {
  constexpr const char* kUnits[] = {"", "K", "M", "G", "T", "P"};
  constexpr double kNextUnit = 1024;
  std::size_t unit = 0;
  for (; bytes >= kNextUnit && unit + 1 < std::size(kUnits); ++unit) bytes /= kNextUnit;
  return fmt::format("{:g}{}", bytes, kUnits[unit]);
}

/// Bus bandwidth in GB/s of an all-reduce that took `us` microseconds, as all_reduce_perf prints it.
double measured_busbw(const AllReduceTable& table, Bytes size, double us) {
  constexpr double kNanoseconds = 1e3;  // bytes per ns are GB/s
  const double algbw = us > 0 ? static_cast<double>(size.count()) / (us * kNanoseconds) : 0;
  return algbw * 2 * (table.ranks - 1) / table.ranks;
}

/// Doublings; if they are few, round numbers of the largest unit that the sizes reach.
std::vector<plot::Tick> ticks_of_sizes(const plot::Scale& sizes) {
  constexpr int kMost = 14;
  constexpr int kMostOfOneUnit = 8;
  constexpr double kFewDoublings = 4;
  if (sizes.high() / sizes.low() >= kFewDoublings)
    return plot::doubling_ticks(sizes.low(), sizes.high(), kMost, size_tick);
  constexpr double kNextUnit = 1024;
  double unit = 1;
  while (unit * kNextUnit <= sizes.low()) unit *= kNextUnit;
  std::vector<plot::Tick> ticks =
      plot::round_ticks(sizes.low() / unit, sizes.high() / unit, kMostOfOneUnit);
  for (plot::Tick& tick : ticks) tick = {tick.value * unit, size_tick(tick.value * unit)};
  return ticks;
}

plot::Series predicted_series(const AllReduceTable& table, const std::string& name) {
  plot::Series series{.name = name, .look = kPredicted};
  const int digits = digits_of(table.confidence.grade);
  for (const AllReduceRow& row : table.rows) {
    const auto busbw = [&](Duration time) {
      return busbw_gbps(row.size, time, table.ranks, table.collective);
    };
    const double value = busbw(row.time);
    series.values.push_back(
        {bytes_of(row), value, std::pair(busbw(row.high), busbw(row.low)),
         fmt::format("{}: {} GB/s ({}), {} us, {} {}, {}", size_text(row.size),
                     significant(value, digits),
                     interval_text(busbw(row.high), busbw(row.low), digits),
                     significant(row.time.microseconds(), digits), name_of(row.choice.algorithm),
                     name_of(row.choice.protocol),
                     counted(static_cast<std::uint64_t>(row.choice.channels), "channel"))});
  }
  return series;
}

/// A phase for each algorithm and protocol. NCCL's change between two sizes is drawn halfway, on the logarithmic axis.
std::vector<plot::Phase> phases_of(const AllReduceTable& table) {
  std::vector<plot::Phase> phases;
  const AllReduceRow* before = nullptr;
  for (const AllReduceRow& row : table.rows) {
    if (row.size == Bytes()) continue;
    const std::string name =
        fmt::format("{} {}", name_of(row.choice.algorithm), name_of(row.choice.protocol));
    if (phases.empty() || phases.back().name != name) {
      const double border = before ? std::sqrt(bytes_of(*before) * bytes_of(row)) : bytes_of(row);
      if (before) phases.back().high = border;
      phases.push_back({border, border, name});
    }
    phases.back().high = bytes_of(row);
    before = &row;
  }
  return phases;
}

plot::Series measured_series(const AllReduceTable& table, const MeasuredAllReduces& measured,
                             std::size_t& outside) {
  plot::Series series{
      .name = "measured", .look = kMeasured, .join = plot::Join::none, .filled = false};
  const auto [smallest, largest] = std::pair(table.rows.front().size, table.rows.back().size);
  for (const auto& [size, us] : measured.time_us) {
    if (size < smallest || largest < size || size == Bytes()) {
      ++outside;
      continue;
    }
    const double busbw = measured_busbw(table, size, us);
    series.values.push_back({static_cast<double>(size.count()), busbw, std::nullopt,
                             fmt::format("{} measured: {} GB/s, {} us", size_text(size),
                                         significant(busbw, 3), significant(us, 3))});
  }
  return series;
}

plot::Scale scale_of_sizes(const AllReduceTable& table) {
  plot::Extent sizes(plot::ScaleKind::logarithmic);
  for (const AllReduceRow& row : table.rows) sizes.add(bytes_of(row));
  return {plot::ScaleKind::logarithmic, sizes};
}

plot::Scale scale_of_busbw(const plot::Chart& chart, int ticks) {
  plot::Extent busbw(plot::ScaleKind::linear);
  busbw.add(0);
  for (const plot::Series& series : chart.series)
    for (const plot::Value& value : series.values) {
      busbw.add(value.y);
      if (value.interval) busbw.add(value.interval->second);
    }
  return plot::to_round_ends({plot::ScaleKind::linear, busbw}, ticks);
}

}  // namespace

std::string allreduce_svg(const AllReduceReport& report,
                          const std::optional<MeasuredAllReduces>& measured) {
  const AllReduceTable& table = report.table;
  constexpr int kMostSpeeds = 7;
  const plot::Scale sizes = scale_of_sizes(table);
  plot::Chart chart{
      .title = fmt::format(
          "{} on {}, {} ({} × {} {})", name_of(table.collective), printable(report.cluster.name),
          counted(static_cast<std::uint64_t>(table.ranks), "GPU"),
          counted(static_cast<std::uint64_t>(table.nodes), "node"), table.gpus_per_node, table.gpu),
      .subtitle =
          fmt::format("NCCL {}, fp32, out of place, alone on the network", to_string(report.nccl)),
      .x = {"size, bytes (K, M, G binary, as in nccl-tests)", sizes, ticks_of_sizes(sizes)},
      .y = {"busbw, GB/s", {plot::ScaleKind::linear, 0, 1}, {}},
      .phases = table.ranks > 1 ? phases_of(table) : std::vector<plot::Phase>()};
  chart.series.push_back(predicted_series(table, measured ? "predicted" : ""));
  std::size_t outside = 0;
  if (measured && !table.rows.empty())
    chart.series.push_back(measured_series(table, *measured, outside));
  chart.y.scale = scale_of_busbw(chart, kMostSpeeds);
  chart.y.ticks = plot::ticks_of(chart.y.scale, kMostSpeeds);
  if (table.ranks > 1)
    chart.notes.emplace_back(
        "Line: predicted; band: its 80 % interval. Above: the algorithm and protocol that NCCL "
        "chooses.");
  if (measured) {
    std::string note = fmt::format("Hollow: measured, {}.", printable(measured->source));
    if (outside > 0)
      note += fmt::format(" {} of its sizes lie outside the range from -b to -e.", outside);
    chart.notes.push_back(note);
  }
  if (table.ranks > 1)
    chart.notes.push_back(as_note(table.confidence.provenance));
  else
    chart.notes.emplace_back("One GPU has nothing to reduce: every time is zero.");
  chart.description = description_of(chart);
  return plot::svg(chart);
}

}  // namespace ddpsim
