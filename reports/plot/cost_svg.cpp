// Cost against time, a point for each candidate with a price. Candidates on the frontier are joined by a line and have a
// colour; for each grey one, another is both cheaper and faster. An error of the step moves time and cost by the same share,
// so the interval of a candidate lies on the line through the origin.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

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

/// The largest unit in which the longest time is at least 2.
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
    chart_.notes.emplace_back(
        "Predicted. Frontier: no other candidate is both cheaper and faster; for each grey one, at "
        "least one is. Thin lines: the 80 % interval of each candidate, whose time and cost change "
        "together. Candidates share sources of error, so one may certainly cost less although "
        "the two intervals overlap.");
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

  plot::Look look_of(std::size_t i) const { return {0, !cost(i).frontier}; }

  void draw_frontier() {
    plot::Series series{.name = "frontier", .values = {}, .markers = false};
    for (const std::size_t i : costed_.costs.by_cost)
      if (cost(i).frontier) series.values.push_back(at(i, &FigureRange::value));
    if (series.values.size() > 1) chart_.series.push_back(std::move(series));
  }

  void draw_interval(std::size_t i) {
    // A line through the origin is curved if one axis is logarithmic.
    constexpr int kParts = 8;
    const plot::Value low = at(i, &FigureRange::low);
    const plot::Value high = at(i, &FigureRange::high);
    plot::Series series{.name = "",
                        .told = printable(costed_.labels[i]) + ", 80 % interval",
                        .values = {},
                        .look = look_of(i),
                        .markers = false,
                        .thin = true};
    for (int k = 0; k <= kParts; ++k) {
      const double share = static_cast<double>(k) / kParts;
      series.values.push_back({low.x + share * (high.x - low.x), low.y + share * (high.y - low.y)});
    }
    chart_.series.push_back(std::move(series));
  }

  /// Few candidates all have names; of many, only those on the frontier.
  void draw_candidates() {
    constexpr std::size_t kFew = 12;
    const bool few = costed_.costs.by_cost.size() <= kFew;
    std::vector<plot::Series> points;
    for (const bool frontier : {false, true})
      for (std::size_t i = 0; i < costed_.labels.size(); ++i) {
        if (!costed_.costs.candidates[i] || cost(i).frontier != frontier) continue;
        draw_interval(i);
        plot::Value value = at(i, &FigureRange::value);
        value.told = told(i);
        points.push_back({.name = few || frontier ? printable(costed_.labels[i]) : "",
                          .values = {std::move(value)},
                          .look = look_of(i),
                          .join = plot::Join::none});
      }
    for (plot::Series& series : points) chart_.series.push_back(std::move(series));
  }

  plot::Axis axis(const std::string& title, double plot::Value::*of) const {
    // From this ratio on, an axis is logarithmic, which shows small values beside large ones.
    constexpr double kFar = 6;
    // From this ratio on, a linear axis begins at 0. Points nearer to each other use its whole length.
    constexpr double kNear = 2;
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
    if (kind == plot::ScaleKind::linear && most >= kNear * least) extent.add(0);
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
