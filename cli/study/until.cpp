#include "until.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/quantity.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/usage_error.hpp"

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
  throw UsageError(fmt::format("--until {}", text),
                   "expected one of efficiency<90%, speed>20000 (samples/s), step>120ms, usd>1.5, "
                   "A faster than B, A cheaper than B");
}

/// Parses a threshold into the unit of its figure: a share, seconds, samples/s or USD.
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

std::vector<NamedInterval> named(const std::vector<PlaceInterval>& intervals,
                                 const std::vector<std::size_t>& rows,
                                 const std::vector<std::string>& names) {
  std::vector<NamedInterval> all;
  for (const PlaceInterval& interval : intervals)
    all.push_back({.from = names[interval.from],
                   .to = names[interval.to],
                   .from_value = static_cast<double>(rows[interval.from]),
                   .to_value = static_cast<double>(rows[interval.to]),
                   .from_first = interval.from == 0,
                   .to_last = interval.to + 1 == rows.size()});
  return all;
}

/// The candidates along a written-out range.
using AlongRange = std::vector<Asked>;

/// Returns every typed range. A single candidate is not a range.
std::vector<AlongRange> typed_ranges(const std::vector<Candidate>& candidates) {
  std::map<std::size_t, AlongRange> by_text;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    by_text[candidates[i].request].push_back({i, std::nullopt});
  std::vector<AlongRange> ranges;
  for (auto& [text, range] : by_text)
    if (range.size() > 1) ranges.push_back(std::move(range));
  return ranges;
}

/// Returns the pairs along a range. If both sides are ranges, their first values are compared, then their second ones, and so on.
AlongRange pairs(const Condition& condition, const std::vector<Candidate>& candidates) {
  const auto ahead = called(condition.order->ahead, candidates, condition.text);
  const auto behind = called(condition.order->behind, candidates, condition.text);
  const std::size_t most = std::max(ahead.size(), behind.size());
  if (std::min(ahead.size(), behind.size()) != 1 && ahead.size() != behind.size())
    throw UsageError(fmt::format("--until {}", condition.text),
                     fmt::format("{} candidates against {}: give the same number of each, or one",
                                 ahead.size(), behind.size()));
  AlongRange range;
  for (std::size_t k = 0; k < most; ++k)
    range.push_back({ahead[ahead.size() == 1 ? 0 : k], behind[behind.size() == 1 ? 0 : k]});
  return range;
}

/// Returns the candidate that changes along the range.
std::size_t varied(const AlongRange& range, std::size_t k) {
  const bool other = range.front().other && range.front().candidate == range.back().candidate;
  return other ? *range[k].other : range[k].candidate;
}

Until along(const Condition& condition, const CompareOutcome& outcome, std::size_t workload,
            const AlongRange& range) {
  const std::vector<Candidate>& candidates = outcome.candidates();
  std::vector<Holds> known;
  std::vector<std::size_t> rows;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < range.size(); ++k) {
    const auto row = outcome.row(workload, varied(range, k), condition.asks_mix());
    const auto found = holds(condition, outcome, workload, range[k]);
    // A candidate that could not be compared has its own error.
    if (!row) continue;
    if (!found)
      throw UsageError(
          fmt::format("--until {}", condition.text),
          fmt::format("the figure of {} is unknown", candidates[range[k].candidate].label));
    known.push_back(*found);
    rows.push_back(*row);
    names.push_back(candidates[varied(range, k)].label);
  }
  const TippingPoint point = tipping_point(known);
  return {.condition = condition.text,
          .range = {},
          .candidate = {},
          .workload = {},
          .last = names.empty() ? "" : names.back(),
          .predicted = named(point.predicted, rows, names),
          .possible = named(point.possible, rows, names),
          .certain = named(point.certain, rows, names)};
}

}  // namespace

Condition parse_condition(const std::string& text) {
  for (const auto& [words, in_cost] :
       {std::pair(" faster than ", false), {" cheaper than ", true}}) {
    const std::size_t at = text.find(words);
    if (at == text.npos) continue;
    const std::string behind = text.substr(at + std::string_view(words).size());
    if (at == 0 || behind.empty()) fail(text);
    return {.text = text,
            .order = Condition::Order{text.substr(0, at), behind, in_cost},
            .figure = {},
            .than = {}};
  }
  const std::size_t sign = text.find_first_of("<>");
  if (sign == text.npos) fail(text);
  for (const Name& name : kNames) {
    if (text.substr(0, sign) != name.word) continue;
    const auto value = threshold(name.figure, std::string_view(text).substr(sign + 1));
    if (!value) fail(text);
    return {.text = text,
            .order = {},
            .figure = name.figure,
            .than = text[sign] == '<' ? Than::less : Than::greater,
            .threshold = *value};
  }
  fail(text);
}

std::optional<Holds> holds(const Condition& condition, const CompareOutcome& outcome,
                           std::size_t workload, const Asked& asked) {
  if (condition.order)
    return outcome.is_ahead(asked.candidate, *asked.other, condition.order->in_cost);
  const auto figure = outcome.figure(condition.figure, workload, asked.candidate);
  if (!figure) return std::nullopt;
  return holds(*figure, condition.than, condition.threshold);
}

std::vector<std::size_t> called(const std::string& name, const std::vector<Candidate>& candidates,
                                const std::string& condition) {
  std::vector<std::size_t> found;
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].is_called(name)) found.push_back(i);
    labels.push_back(candidates[i].label);
  }
  if (found.empty())
    throw UsageError(fmt::format("--until {}", condition),
                     fmt::format("no candidate is called {}; the candidates are {}",
                                 in_quotes(name), fmt::join(labels, ", ")));
  return found;
}

std::vector<Until> until_written_out(const std::vector<Condition>& conditions,
                                     const CompareOutcome& outcome,
                                     const std::vector<ReadWorkload>& workloads) {
  const std::vector<AlongRange> ranges = typed_ranges(outcome.candidates());
  std::vector<Until> all;
  for (const Condition& condition : conditions) {
    std::vector<AlongRange> own = ranges;
    if (condition.order) own = {pairs(condition, outcome.candidates())};
    if (own.empty() || own.front().size() < 2)
      throw UsageError(fmt::format("--until {}", condition.text),
                       "the range is missing; dgxa100@1..64 or \"nic:{1,2,4,8}x200Gbps:ib\" "
                       "compares each value, \"dgxa100@[1..64]\" searches");
    for (const AlongRange& range : own) {
      if (condition.asks_mix()) {
        all.push_back(along(condition, outcome, 0, range));
        continue;
      }
      for (std::size_t k = 0; k < workloads.size(); ++k) {
        Until until = along(condition, outcome, k, range);
        if (outcome.several()) until.workload = workloads[k].weighed.text;
        all.push_back(std::move(until));
      }
    }
  }
  return all;
}

}  // namespace ddpsim
