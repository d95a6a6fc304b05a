// How fast the points of a sweep train. Each workload on each cluster is drawn once, with the fastest settings of the grid.
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

}  // namespace

struct SweepCurves::Point {
  std::string workload;
  std::string label;
  int ranks = 0;
  bool in_samples = false;
  /// Samples a second or, if a batch has none, batches, one per GPU and step.
  double speed = 0;
  double step = 0;  ///< seconds
  std::optional<double> efficiency;
  std::optional<std::pair<double, double>> interval;
  Grade grade = Grade::c;
  /// Empty in files of older programs.
  std::string provenance;
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
  point.efficiency = number("scaling_efficiency");
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
  /// Whether every point has samples a second.
  bool in_samples = true;
  std::vector<SpeedPoint> points;

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
  }
  for (const Point& point : all) points.push_back(as_speed_point(point));
}

SpeedPoint SweepCurves::Drawing::as_speed_point(const Point& point) const {
  const std::string of = of_several_workloads() ? point.workload + " on " : "";
  const int digits = digits_of(point.grade);
  SpeedPoint drawn{.workload = point.workload,
                   .family = family_of(point.label),
                   .name = point.label,
                   .gpus = point.ranks,
                   .speed = in_samples ? point.speed : point.ranks / point.step};
  const double ratio = drawn.speed / point.speed;
  if (point.interval)
    drawn.interval = {point.interval->first * ratio, point.interval->second * ratio};
  if (point.efficiency && *point.efficiency > 0) drawn.ideal = drawn.speed / *point.efficiency;
  drawn.told = fmt::format("{}, {}: {} {}{}{}", printable(of + drawn.name),
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
  const Drawing drawing(points_);
  const std::string unit = drawing.in_samples ? "samples/s" : "batches/s, one per GPU";
  SpeedCharts drawn;
  if (drawing.points.empty())
    drawn.charts.push_back({.x = {"GPUs", {plot::ScaleKind::linear, 0, 1}, {}},
                            .y = {"training speed", {plot::ScaleKind::linear, 0, 1}, {}}});
  else
    drawn = speed_charts(drawing.points, unit, "cluster");
  plot::Chart& first = drawn.charts.front();
  first.title = drawing.title();
  if (!header_.grid.empty())
    first.subtitle = printable(fmt::format("each with the fastest settings of the grid: {}",
                                           fmt::join(header_.grid, ", ")));
  first.notes.emplace_back(header_.intervals ? "Predicted."
                                             : "Predicted, without intervals (--no-intervals).");
  for (const std::string& note : drawn.notes) first.notes.front() += ' ' + note;
  if (header_.intervals && !drawing.provenances.empty())
    first.notes.push_back(as_note(fmt::format("{}", fmt::join(drawing.provenances, "; "))));
  if (without_answer_ > 0)
    first.notes.push_back(
        fmt::format("{} without an answer: \"error\" in the lines of the sweep says why.",
                    counted(without_answer_, "point")));
  if (lines_ < header_.points)
    first.notes.push_back(fmt::format("{} of {} points are there yet.", lines_, header_.points));
  first.description = description_of(drawn.charts);
  return plot::svg(drawn.charts, drawn.columns);
}

}  // namespace ddpsim
