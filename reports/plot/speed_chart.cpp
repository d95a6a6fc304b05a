#include "speed_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "palette.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

using SpeedPoints = std::vector<const SpeedPoint*>;

/// By a key, in the order of first appearance.
template <typename Key>
std::vector<SpeedPoints> groups_of(const SpeedPoints& points, Key SpeedPoint::*key) {
  std::vector<SpeedPoints> groups;
  std::map<Key, std::size_t> known;
  for (const SpeedPoint* point : points) {
    const auto [found, is_new] = known.emplace(point->*key, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(point);
  }
  return groups;
}

SpeedPoints pointers_to(const std::vector<SpeedPoint>& points) {
  SpeedPoints pointers;
  for (const SpeedPoint& point : points) pointers.push_back(&point);
  return pointers;
}

/// Families of one workload, each by number of GPUs.
std::vector<SpeedPoints> families_of(const SpeedPoints& points) {
  std::vector<SpeedPoints> families = groups_of(points, &SpeedPoint::family);
  for (SpeedPoints& family : families)
    std::ranges::stable_sort(family, {}, [](const SpeedPoint* point) { return point->gpus; });
  return families;
}

bool in_several_sizes(const SpeedPoints& family) {
  return family.front()->gpus != family.back()->gpus;
}

/// The sizes there are, if they are few; otherwise doublings.
std::vector<plot::Tick> gpu_ticks(const SpeedPoints& points, double fewest, double most) {
  constexpr std::size_t kFew = 6;
  constexpr int kMost = 12;
  const auto label = [&](double gpus) { return plot::tick_label(gpus, 0, most); };
  std::set<int> sizes;
  for (const SpeedPoint* point : points) sizes.insert(point->gpus);
  if (sizes.size() > kFew) return plot::doubling_ticks(fewest, most, kMost, label);
  std::vector<plot::Tick> ticks;
  for (const int size : sizes) ticks.push_back({static_cast<double>(size), label(size)});
  return ticks;
}

/// The look of each family, the same in every chart. Colours go to the families that are fastest at their largest size,
/// compared with the fastest of their workload.
class Looks {
 public:
  explicit Looks(const std::vector<SpeedPoints>& workloads) {
    std::map<std::string, double> scores;
    std::vector<std::string> families;
    for (const SpeedPoints& workload : workloads) {
      const std::vector<SpeedPoints> own = families_of(workload);
      double fastest = 0;
      for (const SpeedPoints& family : own) fastest = std::max(fastest, family.back()->speed);
      for (const SpeedPoints& family : own) {
        const auto [score, is_new] = scores.emplace(family.front()->family, 0);
        if (is_new) families.push_back(family.front()->family);
        if (fastest > 0) score->second = std::max(score->second, family.back()->speed / fastest);
      }
    }
    std::vector<std::string> ranked = families;
    std::ranges::stable_sort(ranked, std::ranges::greater(),
                             [&](const std::string& family) { return scores[family]; });
    coloured_ = std::min(plot::kColours, ranked.size());
    grey_.assign(ranked.begin() + static_cast<std::ptrdiff_t>(coloured_), ranked.end());
    const std::set<std::string> kept(ranked.begin(),
                                     ranked.begin() + static_cast<std::ptrdiff_t>(coloured_));
    for (const std::string& family : families)
      if (kept.contains(family)) looks_.emplace(family, plot::Look{looks_.size()});
  }

  plot::Look of(const std::string& family) const {
    const auto found = looks_.find(family);
    return found == looks_.end() ? plot::Look{0, true} : found->second;
  }
  std::size_t coloured() const { return coloured_; }
  const std::vector<std::string>& grey() const { return grey_; }

 private:
  std::map<std::string, plot::Look> looks_;
  std::size_t coloured_ = 0;
  std::vector<std::string> grey_;
};

class LineChart {
 public:
  LineChart(const SpeedPoints& points, const Looks& looks, bool per_gpu, bool named)
      : points_(points), looks_(looks), per_gpu_(per_gpu), named_(named) {}

  plot::Chart chart(const std::string& unit) {
    std::vector<plot::Series> coloured;
    for (const SpeedPoints& family : families_of(points_)) {
      plot::Series series = series_of(family);
      (series.look.muted ? chart_.series : coloured).push_back(std::move(series));
    }
    add_ideals();
    for (plot::Series& series : coloured) chart_.series.push_back(std::move(series));
    add_axes(unit);
    return std::move(chart_);
  }

 private:
  double value(const SpeedPoint& point, double speed) const {
    return per_gpu_ ? speed / point.gpus : speed;
  }

  plot::Series series_of(const SpeedPoints& family) const {
    const SpeedPoint& first = *family.front();
    const bool line = in_several_sizes(family);
    const plot::Look look = looks_.of(first.family);
    const std::string name = printable(line ? first.family : first.name);
    constexpr std::size_t kFewBands = 3;  // more hide each other
    plot::Series series{
        .name = named_ && !look.muted ? name : "",
        .told = name,
        .values = {},
        .look = look,
        .join = line ? plot::Join::straight : plot::Join::none,
        .spread = looks_.coloured() <= kFewBands ? plot::Spread::band : plot::Spread::beside_frame,
        .markers = !look.muted || !line};
    for (const SpeedPoint* point : family) {
      plot::Value drawn{static_cast<double>(point->gpus), value(*point, point->speed)};
      if (point->interval && !look.muted && (per_gpu_ || series.spread == plot::Spread::band))
        drawn.interval = {value(*point, point->interval->first),
                          value(*point, point->interval->second)};
      drawn.told = point->told;
      series.values.push_back(std::move(drawn));
    }
    if (series.spread == plot::Spread::beside_frame && (look.muted || !per_gpu_))
      series.spread = plot::Spread::band;  // without intervals: nothing is drawn
    return series;
  }

  /// One line for all families whose GPUs are equally fast alone.
  void add_ideals() {
    constexpr int kSame = 3;  // digits
    std::map<std::string, std::map<int, double>> ideals;
    for (const SpeedPoint* point : points_)
      if (point->ideal && !looks_.of(point->family).muted)
        ideals[significant(*point->ideal / point->gpus, kSame)].emplace(
            point->gpus, value(*point, *point->ideal));
    for (const auto& [each, by_gpus] : ideals) {
      if (by_gpus.size() < 2) continue;
      constexpr plot::Look kIdeal{1, true};
      plot::Series line{.name = "",
                        .told = "every GPU as fast as one that works alone",
                        .values = {},
                        .look = kIdeal,
                        .markers = false};
      for (const auto& [gpus, speed] : by_gpus)
        line.values.push_back({static_cast<double>(gpus), speed});
      chart_.series.push_back(std::move(line));
    }
  }

  void add_axes(const std::string& unit) {
    plot::Extent gpus(plot::ScaleKind::logarithmic);
    for (const SpeedPoint* point : points_) gpus.add(point->gpus);
    // Ideal scaling is a straight line on linear axes and on logarithmic ones. Logarithmic axes show small sizes beside
    // large ones.
    constexpr double kMuchLarger = 4;
    const auto [fewest, most] = *gpus.ends();
    const plot::ScaleKind across =
        most / fewest >= kMuchLarger ? plot::ScaleKind::logarithmic : plot::ScaleKind::linear;
    constexpr double kBeside = 0.04;
    chart_.x = {"GPUs", plot::Scale(across, gpus).widened(kBeside, kBeside),
                gpu_ticks(points_, fewest, most)};
    const plot::ScaleKind up = per_gpu_ ? plot::ScaleKind::linear : across;
    plot::Extent speeds(up);
    for (const plot::Series& series : chart_.series)
      for (const plot::Value& value : series.values) {
        speeds.add(value.y);
        if (!value.interval) continue;
        speeds.add(value.interval->first);
        speeds.add(value.interval->second);
      }
    // Near speeds use the whole length of the axis, others begin at 0.
    constexpr double kNear = 2;
    const auto [slowest, fastest] = speeds.ends().value_or(std::pair(0.0, 0.0));
    if (up == plot::ScaleKind::linear && fastest >= kNear * slowest) speeds.add(0);
    const plot::Scale scale = up == plot::ScaleKind::linear
                                  ? plot::to_round_ends({up, speeds}, plot::kMostTicks)
                                  : plot::Scale(up, speeds).widened(kBeside, kBeside);
    chart_.y = {per_gpu_ ? "training speed per GPU, " + unit.substr(0, unit.find(','))
                         : "training speed, " + unit,
                scale, plot::ticks_of(scale, plot::kMostTicks)};
  }

  const SpeedPoints& points_;
  const Looks& looks_;
  bool per_gpu_;
  bool named_;
  plot::Chart chart_{.x = {"", {plot::ScaleKind::linear, 0, 1}, {}},
                     .y = {"", {plot::ScaleKind::linear, 0, 1}, {}}};
};

bool has_intervals(const std::vector<SpeedPoint>& points) {
  return std::ranges::any_of(points,
                             [](const SpeedPoint& point) { return point.interval.has_value(); });
}

SpeedCharts line_charts(const std::vector<SpeedPoint>& points, const std::string& unit) {
  const std::vector<SpeedPoints> workloads = groups_of(pointers_to(points), &SpeedPoint::workload);
  const Looks looks(workloads);
  SpeedCharts drawn{.columns = 2};
  if (workloads.size() == 1) {
    drawn.charts.push_back(LineChart(workloads[0], looks, false, false).chart(unit));
    drawn.charts.push_back(LineChart(workloads[0], looks, true, true).chart(unit));
  } else {
    for (const SpeedPoints& workload : workloads) {
      drawn.charts.push_back(LineChart(workload, looks, true, true).chart(unit));
      drawn.charts.back().caption = printable(workload.front()->workload);
    }
  }
  if (has_intervals(points)) {
    const bool band = std::ranges::all_of(drawn.charts, [](const plot::Chart& chart) {
      return std::ranges::count(chart.series, plot::Spread::beside_frame, &plot::Series::spread) ==
             0;
    });
    drawn.notes.emplace_back(
        band ? "Band: 80 % interval of each cluster by itself."
             : "Bars at the right: 80 % interval of each cluster by itself, at its largest size.");
  }
  if (std::ranges::any_of(points, [](const SpeedPoint& point) { return point.ideal.has_value(); }))
    drawn.notes.emplace_back("Dashed: ideal, every GPU as fast as one that works alone.");
  if (const std::size_t grey = looks.grey().size(); grey > 0) {
    constexpr std::size_t kFewGrey = 6;
    std::string names;
    for (std::size_t i = 0; i < grey && grey <= kFewGrey; ++i)
      names += (i == 0 ? " (" : ", ") + printable(looks.grey()[i]);
    drawn.notes.push_back(fmt::format(
        "Grey: {}{} that train{} more slowly at the largest size; the tooltip names each.",
        counted(grey, "cluster"), names.empty() ? "" : names + ')', grey == 1 ? "s" : ""));
  }
  return drawn;
}

plot::Chart row_chart(SpeedPoints points, std::size_t most, const std::string& unit,
                      const std::string& row) {
  std::ranges::stable_sort(points, std::ranges::greater(),
                           [](const SpeedPoint* point) { return point->speed; });
  const std::size_t rows = std::min(points.size(), most);
  plot::Chart chart{.x = {"", {plot::ScaleKind::linear, 0, 1}, {}},
                    .y = {"", {plot::ScaleKind::linear, 0, 1}, {}},
                    .rows = true};
  plot::Series series{.values = {}, .join = plot::Join::none, .spread = plot::Spread::bars};
  plot::Extent speeds(plot::ScaleKind::linear);
  speeds.add(0);
  std::vector<plot::Tick> names;
  for (std::size_t k = 0; k < rows; ++k) {
    const SpeedPoint& point = *points[k];
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
  return chart;
}

SpeedCharts row_charts(const std::vector<SpeedPoint>& points, const std::string& unit,
                       const std::string& row) {
  constexpr std::size_t kRowsWithRoom = 60;
  constexpr std::size_t kFewRows = 6;
  const std::vector<SpeedPoints> workloads = groups_of(pointers_to(points), &SpeedPoint::workload);
  const std::size_t most = std::max(kFewRows, kRowsWithRoom / workloads.size());
  SpeedCharts drawn;
  for (const SpeedPoints& workload : workloads) {
    drawn.charts.push_back(row_chart(workload, most, unit, row));
    if (workloads.size() > 1) drawn.charts.back().caption = printable(workload.front()->workload);
  }
  if (has_intervals(points))
    drawn.notes.emplace_back("Bar: 80 % interval of each cluster by itself.");
  for (const SpeedPoints& workload : workloads)
    if (workload.size() > most)
      drawn.notes.push_back(
          fmt::format("{}The {} fastest of {}.",
                      workloads.size() > 1 ? printable(workload.front()->workload) + ": " : "",
                      most, workload.size()));
  return drawn;
}

}  // namespace

bool in_several_sizes(const std::vector<SpeedPoint>& points) {
  for (const SpeedPoints& workload : groups_of(pointers_to(points), &SpeedPoint::workload))
    for (const SpeedPoints& family : families_of(workload))
      if (in_several_sizes(family)) return true;
  return false;
}

SpeedCharts speed_charts(const std::vector<SpeedPoint>& points, const std::string& unit,
                         const std::string& row) {
  return in_several_sizes(points) ? line_charts(points, unit) : row_charts(points, unit, row);
}

}  // namespace ddpsim
