// Cost against time, a point for each candidate with a price. What is not known of a step moves both alike, so that where a
// candidate may lie is a stretch of the line through the origin, not a cross. The frontier is a line of its own.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "chart.hpp"
#include "cluster_family.hpp"
#include "cost_lines.hpp"
#include "ddpsim/reports/mix_report.hpp"
#include "figure_words.hpp"
#include "job_words.hpp"
#include "mix_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

struct LongUnit {
  double seconds;
  const char* name;
};

/// In which the longest time is a number of some size.
LongUnit unit_of(double longest_seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  constexpr double kSome = 2;
  for (const LongUnit unit : {LongUnit{kDay, "days"}, {kHour, "hours"}, {kMinute, "minutes"}})
    if (longest_seconds >= kSome * unit.seconds) return unit;
  return {1, "seconds"};
}

class CostChart {
 public:
  CostChart(const CostedCandidates& costed, plot::Chart& chart) : costed_(costed), chart_(chart) {
    double longest = 0;
    for (const std::size_t i : costed.costs.by_cost)
      longest = std::max(longest, costed.amount.of_work * cost(i).seconds_per_work.high);
    unit_ = unit_of(longest);
  }

  void draw() {
    draw_frontier();
    draw_candidates();
    draw_axes();
    chart_.notes.push_back(
        "Predicted. Bar: the 80 % interval of a candidate; what is not "
        "known of a step moves time and cost alike. Candidates share much of it, so one may "
        "certainly cost less though the bars overlap. Frontier: no other is both cheaper and "
        "faster.");
    for (std::string& note : price_notes(costed_)) chart_.notes.push_back(std::move(note));
  }

 private:
  const CandidateCost& cost(std::size_t i) const { return *costed_.costs.candidates[i]; }
  double time(double seconds_per_work) const {
    return seconds_per_work * costed_.amount.of_work / unit_.seconds;
  }
  double usd(double usd_per_work) const { return usd_per_work * costed_.amount.of_work; }

  plot::Value at(std::size_t i, double FigureRange::*bound) const {
    return {time(cost(i).seconds_per_work.*bound), usd(cost(i).usd_per_work.*bound)};
  }

  std::string told(std::size_t i) const {
    const int digits = digits_of(costed_.grades[i]);
    return fmt::format(
        "{}, {}: {} USD, {}; {} USD an hour", printable(costed_.labels[i]),
        counted(static_cast<std::uint64_t>(costed_.ranks[i]), "GPU"),
        usd_range(cost(i).usd_per_work.times(costed_.amount.of_work), costed_.grades[i]),
        long_time(cost(i).seconds_per_work.value * costed_.amount.of_work, digits),
        significant(cost(i).usd_per_hour, 4));
  }

  void draw_frontier() {
    plot::Series series{.name = "frontier", .look = {0}, .markers = false};
    for (const std::size_t i : costed_.costs.by_cost)
      if (cost(i).frontier) series.values.push_back(at(i, &FigureRange::value));
    if (series.values.size() > 1) chart_.series.push_back(std::move(series));
  }

  /// Sizes of one cluster look alike; few candidates are named one by one, many by cluster.
  void draw_candidates() {
    constexpr std::size_t kFew = 10;
    const bool few = costed_.costs.by_cost.size() <= kFew;
    std::map<std::string, std::size_t> looks;
    std::map<std::string, std::size_t> by_name;
    std::vector<plot::Series> points;
    for (std::size_t i = 0; i < costed_.labels.size(); ++i) {
      if (!costed_.costs.candidates[i]) continue;
      const std::string family = family_of(costed_.labels[i]);
      const std::size_t look = looks.emplace(family, looks.size() + 1).first->second;
      const std::string& name = few ? costed_.labels[i] : family;
      const auto [place, is_new] = by_name.emplace(name, points.size());
      if (is_new)
        points.push_back(
            {.name = printable(name), .values = {}, .look = {look}, .join = plot::Join::none});
      plot::Value value = at(i, &FigureRange::value);
      value.told = told(i);
      points[place->second].values.push_back(std::move(value));
      chart_.series.push_back({.name = "",
                               .values = {at(i, &FigureRange::low), at(i, &FigureRange::high)},
                               .look = {look},
                               .join = plot::Join::straight,
                               .markers = false});
    }
    for (plot::Series& series : points) chart_.series.push_back(std::move(series));
  }

  plot::Axis axis(const std::string& title, double plot::Value::*of) const {
    constexpr double kFar = 6;  // apart: small ones are seen beside large ones
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const plot::Series& series : chart_.series)
      for (const plot::Value& value : series.values) {
        least = std::min(least, value.*of);
        most = std::max(most, value.*of);
      }
    const plot::ScaleKind kind =
        least > 0 && most / least >= kFar ? plot::ScaleKind::logarithmic : plot::ScaleKind::linear;
    plot::Extent extent(kind);
    if (kind == plot::ScaleKind::linear) extent.add(0);
    for (const double end : {least, most}) extent.add(end);
    constexpr double kBeside = 0.06;
    const plot::Scale scale = kind == plot::ScaleKind::linear
                                  ? plot::to_round_ends({kind, extent}, plot::kMostTicks)
                                  : plot::Scale(kind, extent).widened(kBeside, kBeside);
    return {title, scale, plot::ticks_of(scale, plot::kMostTicks)};
  }

  void draw_axes() {
    chart_.x = axis(fmt::format("time, {}", unit_.name), &plot::Value::x);
    chart_.y = axis("cost, USD", &plot::Value::y);
  }

  const CostedCandidates& costed_;
  plot::Chart& chart_;
  LongUnit unit_{1, ""};
};

std::string drawn(const CostedCandidates& costed, const std::string& what,
                  const std::string& verdict) {
  plot::Chart chart{.title = what,
                    .subtitle = "cost and time of " + costed.amount.words,
                    .verdict = verdict,
                    .x = {"", {plot::ScaleKind::linear, 0, 1}, {}},
                    .y = {"", {plot::ScaleKind::linear, 0, 1}, {}}};
  CostChart(costed, chart).draw();
  chart.description = description_of(chart);
  return plot::svg(chart);
}

/// One line, whatever the width.
std::string verdict_of(const CostedCandidates& costed) {
  constexpr int kAnyWidth = 10'000;
  return first_line_of(cost_verdict(costed, {.width = kAnyWidth}));
}

}  // namespace

std::string cost_svg(const CompareReport& report) {
  const CostedCandidates candidates = costed(report);
  return drawn(candidates, printable(workload_name(report.contexts.front())),
               verdict_of(candidates));
}

std::string cost_svg(const MixReport& report) {
  const CostedCandidates candidates = costed(report);
  std::string names;
  for (const MixedWorkload& workload : report.workloads)
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", percent_text(100 * workload.share),
                         printable(workload.name));
  return drawn(candidates, names, verdict_of(candidates));
}

}  // namespace ddpsim
