#include "speed_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "text_layout.hpp"

namespace ddpsim {
namespace {

using Family = std::vector<const SpeedPoint*>;

/// In the order of their first points, each by number of GPUs.
std::vector<Family> families_of(const std::vector<SpeedPoint>& points) {
  std::vector<Family> families;
  std::map<std::string, std::size_t> known;
  for (const SpeedPoint& point : points) {
    const auto [found, is_new] = known.emplace(point.family, families.size());
    if (is_new) families.emplace_back();
    families[found->second].push_back(&point);
  }
  for (Family& family : families) std::ranges::stable_sort(family, {}, &SpeedPoint::gpus);
  return families;
}

bool in_several_sizes(const Family& family) {
  return family.front()->gpus != family.back()->gpus;
}

/// The sizes there are, where they are few.
std::vector<plot::Tick> gpu_ticks(const std::vector<SpeedPoint>& points, double fewest,
                                  double most) {
  constexpr std::size_t kFew = 6;
  constexpr int kMost = 12;
  const auto label = [](double gpus) { return plot::tick_label(gpus, 0); };
  std::set<int> sizes;
  for (const SpeedPoint& point : points) sizes.insert(point.gpus);
  if (sizes.size() > kFew) return plot::doubling_ticks(fewest, most, kMost, label);
  std::vector<plot::Tick> ticks;
  for (const int size : sizes) ticks.push_back({static_cast<double>(size), label(size)});
  return ticks;
}

void draw_lines(plot::Chart& chart, const std::vector<SpeedPoint>& points,
                const std::string& unit) {
  for (const Family& family : families_of(points)) {
    const bool line = in_several_sizes(family);
    plot::Series series{.name = printable(line ? family.front()->family : family.front()->name),
                        .look = {chart.series.size()},
                        .join = line ? plot::Join::straight : plot::Join::none};
    for (const SpeedPoint* point : family)
      series.values.push_back(
          {static_cast<double>(point->gpus), point->speed, point->interval, point->told});
    chart.series.push_back(std::move(series));
  }
  plot::Extent gpus(plot::ScaleKind::logarithmic);
  for (const SpeedPoint& point : points) gpus.add(point.gpus);
  // Twice the GPUs, twice the speed is a straight line on either kind of axes; on logarithmic ones small sizes are
  // seen beside large ones.
  constexpr double kMuchLarger = 4;
  const auto [fewest, most] = *gpus.ends();
  const plot::ScaleKind kind =
      most / fewest >= kMuchLarger ? plot::ScaleKind::logarithmic : plot::ScaleKind::linear;
  constexpr double kBeside = 0.04;
  chart.x = {"GPUs", plot::Scale(kind, gpus).widened(kBeside, kBeside),
             gpu_ticks(points, fewest, most)};
  plot::Extent speeds(kind);
  if (kind == plot::ScaleKind::linear) speeds.add(0);
  for (const SpeedPoint& point : points) {
    speeds.add(point.interval ? point.interval->first : point.speed);
    speeds.add(point.interval ? point.interval->second : point.speed);
  }
  const plot::Scale scale = kind == plot::ScaleKind::linear
                                ? plot::to_round_ends({kind, speeds}, plot::kMostTicks)
                                : plot::Scale(kind, speeds).widened(kBeside, kBeside);
  chart.y = {"training speed, " + unit, scale, plot::ticks_of(scale, plot::kMostTicks)};
}

void draw_rows(plot::Chart& chart, std::vector<SpeedPoint> points, const std::string& unit,
               const std::string& row) {
  constexpr std::size_t kRowsWithRoom = 60;
  std::ranges::stable_sort(points, std::ranges::greater(), &SpeedPoint::speed);
  const std::size_t rows = std::min(points.size(), kRowsWithRoom);
  chart.rows = true;
  plot::Series series{.join = plot::Join::none, .spread = plot::Spread::bars};
  plot::Extent speeds(plot::ScaleKind::linear);
  speeds.add(0);
  std::vector<plot::Tick> names;
  for (std::size_t k = 0; k < rows; ++k) {
    const SpeedPoint& point = points[k];
    const auto at = static_cast<double>(k);
    series.values.push_back({point.speed, at, point.interval, point.told});
    speeds.add(point.interval ? point.interval->second : point.speed);
    names.push_back({at, fmt::format("{} ({})", printable(point.name),
                                     counted(static_cast<std::uint64_t>(point.gpus), "GPU"))});
  }
  const plot::Scale scale =
      plot::to_round_ends({plot::ScaleKind::linear, speeds}, plot::kMostTicks);
  chart.x = {"training speed, " + unit, scale, plot::ticks_of(scale, plot::kMostTicks)};
  constexpr double kHalfRow = 0.5;
  chart.y = {row + ", fastest first",
             {plot::ScaleKind::linear, -kHalfRow, static_cast<double>(rows) - kHalfRow},
             std::move(names)};
  chart.series.push_back(std::move(series));
  if (rows < points.size())
    chart.notes.push_back(fmt::format("The {} fastest of {}.", rows, points.size()));
}

}  // namespace

bool in_several_sizes(const std::vector<SpeedPoint>& points) {
  return std::ranges::any_of(families_of(points),
                             [](const Family& family) { return in_several_sizes(family); });
}

void draw_speeds(plot::Chart& chart, const std::vector<SpeedPoint>& points, const std::string& unit,
                 const std::string& row) {
  if (in_several_sizes(points))
    draw_lines(chart, points, unit);
  else
    draw_rows(chart, points, unit, row);
}

}  // namespace ddpsim
