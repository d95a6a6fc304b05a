// How fast the points of a sweep train: of each workload on each cluster the fastest of the grid.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "cluster_family.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/sweep_report.hpp"
#include "figure_words.hpp"
#include "speed_chart.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr double kAny = 1e300;
constexpr std::size_t kMostCurves = 10;  // more are not told apart

Grade grade_from(const std::optional<Cursor>& name) {
  for (const Grade grade : {Grade::a, Grade::b})
    if (name && name->string() == name_of(grade)) return grade;
  return Grade::c;
}

/// "bucket-cap-mb 25, comm-hook fp16"; what is not given is left out.
std::string setting_of(const Object& line) {
  std::vector<std::string> settings;
  for (const auto& [option, value] : line.required("grid").free_object().items()) {
    if (value.is_null() || value.is_array()) continue;
    if (value.is_string())
      settings.push_back(fmt::format("{} {}", option, value.string()));
    else if (value.is_number())
      settings.push_back(fmt::format("{} {}", option, number_token(value.number(-kAny, kAny))));
    else if (value.boolean())
      settings.push_back(option);
  }
  return fmt::format("{}", fmt::join(settings, ", "));
}

/// Leaves of each workload's families those that are fastest where they are largest; how many went.
std::size_t keep_fastest_curves(std::vector<SpeedPoint>& points,
                                const std::vector<std::string>& workload_of) {
  struct Top {
    int gpus = 0;
    double speed = 0;
  };
  std::map<std::string, std::map<std::string, Top>> families;  // by workload
  for (std::size_t i = 0; i < points.size(); ++i) {
    Top& top = families[workload_of[i]][points[i].family];
    if (points[i].gpus < top.gpus) continue;
    top = {points[i].gpus, std::max(points[i].speed, points[i].gpus > top.gpus ? 0 : top.speed)};
  }
  const std::size_t most =
      std::max<std::size_t>(1, kMostCurves / std::max<std::size_t>(1, families.size()));
  std::set<std::string> gone;
  for (const auto& [workload, tops] : families) {
    std::vector<std::pair<std::string, Top>> order(tops.begin(), tops.end());
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [](const auto& one) { return one.second.speed; });
    for (std::size_t k = most; k < order.size(); ++k) gone.insert(order[k].first);
  }
  std::erase_if(points, [&](const SpeedPoint& point) { return gone.contains(point.family); });
  return gone.size();
}

}  // namespace

struct SweepCurves::Point {
  std::string workload;
  std::string label;
  int ranks = 0;
  bool in_samples = false;
  double speed = 0;  ///< samples a second, or batches, one of each GPU
  double step = 0;   ///< seconds
  std::optional<std::pair<double, double>> interval;
  Grade grade = Grade::c;
  std::string provenance;  ///< empty in files of older programs
  std::string setting;
};

SweepCurves::SweepCurves(SweepHeader header) : header_(std::move(header)) {}
SweepCurves::~SweepCurves() = default;

void SweepCurves::add(std::string_view text) {
  const Document document = Document::parse(text, "");
  const Object line = document.root().free_object();
  ++lines_;
  const auto number = [&](const char* key) -> std::optional<double> {
    const auto value = line.optional(key);
    return value ? std::optional(value->number(-kAny, kAny)) : std::nullopt;
  };
  const std::optional<double> step = number("iteration_us");
  if (!step || *step <= 0) {
    ++without_answer_;
    return;
  }
  constexpr double kMicroseconds = 1e-6;
  Point point{.workload = line.required("workload").string(),
              .label = line.required("label").string(),
              .ranks = static_cast<int>(number("ranks").value_or(1)),
              .step = *step * kMicroseconds,
              .grade = grade_from(line.optional("grade"))};
  if (const auto rests_on = line.optional("provenance"); rests_on && rests_on->is_string())
    point.provenance = rests_on->string();
  const std::optional<double> samples = number("samples_per_second");
  point.in_samples = samples.has_value();
  point.speed = samples.value_or(point.ranks / point.step);
  const auto low = number("iteration_low_us");
  const auto high = number("iteration_high_us");
  if (low && high && *low > 0)
    point.interval = {point.speed * *step / *high, point.speed * *step / *low};
  const auto [known, is_new] =
      index_.emplace(std::pair(point.workload, point.label), points_.size());
  if (!is_new && points_[known->second].speed >= point.speed) return;
  point.setting = setting_of(line);
  if (is_new)
    points_.push_back(std::move(point));
  else
    points_[known->second] = std::move(point);
}

/// The points as they are drawn, and what the figure says of all of them.
struct SweepCurves::Drawing {
  explicit Drawing(const std::vector<Point>& all);
  bool of_several_workloads() const { return workloads.size() > 1; }
  std::string title() const;

  std::vector<std::string> workloads;  ///< in the order of the sweep
  std::set<std::string> clusters;
  std::set<std::string> provenances;
  bool in_samples = true;  ///< every point tells samples a second
  std::vector<SpeedPoint> points;
  std::vector<std::string> workload_of;  ///< of each point

 private:
  SpeedPoint as_speed_point(const Point& point) const;
};

SweepCurves::Drawing::Drawing(const std::vector<Point>& all) {
  for (const Point& point : all) {
    if (std::ranges::find(workloads, point.workload) == workloads.end())
      workloads.push_back(point.workload);
    clusters.insert(point.label);
    if (!point.provenance.empty()) provenances.insert(point.provenance);
    in_samples = in_samples && point.in_samples;
    workload_of.push_back(point.workload);
  }
  for (const Point& point : all) points.push_back(as_speed_point(point));
}

SpeedPoint SweepCurves::Drawing::as_speed_point(const Point& point) const {
  const std::string of = of_several_workloads() ? point.workload + " on " : "";
  const int digits = digits_of(point.grade);
  SpeedPoint drawn{.family = of + family_of(point.label),
                   .name = of + point.label,
                   .gpus = point.ranks,
                   .speed = in_samples ? point.speed : point.ranks / point.step};
  const double ratio = drawn.speed / point.speed;
  if (point.interval)
    drawn.interval = {point.interval->first * ratio, point.interval->second * ratio};
  drawn.told = fmt::format("{}, {}: {} {}{}{}", printable(drawn.name),
                           counted(static_cast<std::uint64_t>(drawn.gpus), "GPU"),
                           significant(drawn.speed, digits), in_samples ? "samples/s" : "batches/s",
                           drawn.interval
                               ? fmt::format(" ({})", interval_text(drawn.interval->first,
                                                                    drawn.interval->second, digits))
                               : "",
                           point.setting.empty() ? "" : ", " + printable(point.setting));
  return drawn;
}

std::string SweepCurves::Drawing::title() const {
  return fmt::format(
      "{} on {}",
      of_several_workloads() ? counted(workloads.size(), "workload")
                             : printable(workloads.empty() ? "nothing" : workloads.front()),
      clusters.size() == 1 ? printable(*clusters.begin()) : counted(clusters.size(), "cluster"));
}

std::string SweepCurves::svg() const {
  Drawing drawing(points_);
  std::vector<SpeedPoint>& points = drawing.points;
  plot::Chart chart{.x = {"GPUs", {plot::ScaleKind::linear, 0, 1}, {}},
                    .y = {"training speed", {plot::ScaleKind::linear, 0, 1}, {}}};
  chart.title = drawing.title();
  if (!header_.grid.empty())
    chart.subtitle = printable(fmt::format("of each, the fastest of what was swept over: {}",
                                           fmt::join(header_.grid, ", ")));
  const std::size_t gone = in_several_sizes(points)
                               ? keep_fastest_curves(points, drawing.workload_of)
                               : 0;  // rows have room
  if (!points.empty())
    draw_speeds(chart, points, drawing.in_samples ? "samples/s" : "batches/s, one per GPU",
                drawing.of_several_workloads() ? "workload and cluster" : "cluster");
  if (gone > 0)
    chart.notes.push_back(fmt::format("Not drawn: {}, slower where largest than those that are.",
                                      counted(gone, "curve")));
  const bool lines = in_several_sizes(points);
  chart.notes.insert(chart.notes.begin(),
                     header_.intervals
                         ? fmt::format("Predicted. {}: 80 % interval of each point by itself.",
                                       lines ? "Band" : "Bar")
                         : std::string("Predicted; how surely was not asked (--no-intervals)."));
  if (header_.intervals)
    for (const std::string& provenance : drawing.provenances)
      chart.notes.push_back(as_note(provenance));
  if (without_answer_ > 0)
    chart.notes.push_back(fmt::format("{} without an answer; \"error\" of its line says why.",
                                      counted(without_answer_, "point")));
  if (lines_ < header_.points)
    chart.notes.push_back(fmt::format("{} of {} points.", lines_, header_.points));
  chart.description = description_of(chart);
  return plot::svg(chart);
}

}  // namespace ddpsim
