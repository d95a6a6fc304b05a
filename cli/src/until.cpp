#include "until.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "usage_error.hpp"

namespace ddpsim {
namespace {

struct Name {
  std::string_view word;
  CandidateFigure figure;
};
constexpr Name kNames[] = {{"efficiency", CandidateFigure::efficiency},
                           {"speed", CandidateFigure::samples_per_second},
                           {"step", CandidateFigure::step},
                           {"usd", CandidateFigure::usd}};

[[noreturn]] void fail(const std::string& text) {
  throw UsageError(fmt::format(
      "--until {}: expected one of efficiency<90%, speed>20000 (samples/s), step>120ms, usd>1.5",
      text));
}

/// In the figure's own unit: shares, seconds.
std::optional<double> threshold(CandidateFigure figure, std::string_view text) {
  if (figure == CandidateFigure::step) {
    const Parsed<Duration> time = parse_duration(text);
    return time.value ? std::optional(time.value->seconds()) : std::nullopt;
  }
  const bool percent = text.ends_with('%');
  if (percent != (figure == CandidateFigure::efficiency)) return std::nullopt;
  if (percent) text.remove_suffix(1);
  const auto number = parse_number<double>(text);
  if (!number || !(*number >= 0 && *number < 1e18)) return std::nullopt;
  return percent ? *number / 100 : *number;
}

FigureRange inverse(const FigureRange& range) {
  return {1 / range.high, 1 / range.value, 1 / range.low};
}

/// Of a job that was compared; absent where it is not known.
std::optional<FigureRange> figure_of(CandidateFigure figure, const CompareReport& report,
                                     std::size_t job) {
  const ComparedJob& compared = report.comparison.jobs[job];
  const double step = compared.times.iteration.seconds();
  const FigureRange steps{step * (1 + compared.confidence.low_percent / 100), step,
                          step * (1 + compared.confidence.high_percent / 100)};
  switch (figure) {
    case CandidateFigure::efficiency:
      return compared.efficiency_range;
    case CandidateFigure::step:
      return steps;
    case CandidateFigure::samples_per_second: {
      const std::optional<double> samples = report.contexts[job].samples_per_step;
      if (!samples || step <= 0) return std::nullopt;
      return inverse(steps).times(*samples);
    }
    case CandidateFigure::usd: {
      if (!report.costs || !report.costs->candidates[job]) return std::nullopt;
      return report.costs->candidates[job]->usd_per_work.times(amount_of(report).of_work);
    }
  }
  return std::nullopt;
}

}  // namespace

Condition parse_condition(const std::string& text) {
  const std::size_t sign = text.find_first_of("<>");
  if (sign == text.npos) fail(text);
  for (const Name& name : kNames) {
    if (text.substr(0, sign) != name.word) continue;
    const auto value = threshold(name.figure, std::string_view(text).substr(sign + 1));
    if (!value) fail(text);
    return {.text = text,
            .figure = name.figure,
            .than = text[sign] == '<' ? Than::less : Than::greater,
            .threshold = *value};
  }
  fail(text);
}

std::vector<Until> tipping_points(const std::vector<Condition>& conditions,
                                  const std::vector<Candidate>& candidates,
                                  const CompareReport& report) {
  std::map<std::size_t, std::vector<std::size_t>> ranges;
  for (std::size_t job = 0; job < candidates.size(); ++job)
    ranges[candidates[job].typed].push_back(job);
  std::erase_if(ranges, [](const auto& range) { return range.second.size() < 2; });
  if (ranges.empty() && !conditions.empty())
    throw UsageError(
        fmt::format("--until {}: among what? Type a range, such as dgxa100@1..64 or "
                    "\"nic:{{1,2,4,8}}x200Gbps:ib\"",
                    conditions.front().text));
  std::vector<Until> all;
  for (const Condition& condition : conditions) {
    for (const auto& [typed, jobs] : ranges) {
      std::vector<FigureRange> figures;
      for (const std::size_t job : jobs) {
        const auto figure = figure_of(condition.figure, report, job);
        if (!figure)
          throw UsageError(
              fmt::format("--until {}: not known of {}", condition.text, candidates[job].label));
        figures.push_back(*figure);
      }
      all.push_back({.condition = condition,
                     .jobs = jobs,
                     .point = tipping_point(figures, condition.than, condition.threshold)});
    }
  }
  return all;
}

}  // namespace ddpsim
