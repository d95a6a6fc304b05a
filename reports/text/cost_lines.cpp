#include "cost_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "job_words.hpp"
#include "speedup_lines.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr double kMillion = 1e6;
constexpr double kThousandSteps = 1000;

std::string count_text(double count) {
  constexpr double kBillion = 1e9;
  if (count >= kBillion) return fmt::format("{:.4g} billion", count / kBillion);
  if (count >= kMillion) return fmt::format("{:.4g} million", count / kMillion);
  return fmt::format("{:.6g}", count);
}

std::string unit_text(Price::Per per) {
  switch (per) {
    case Price::Per::node_hour:
      return "per node-hour";
    case Price::Per::gpu_hour:
      return "per GPU-hour";
    case Price::Per::node:
      return "per node, bought";
  }
  return "";
}

/// "31.2 USD per node-hour (on-demand, us-east-1; 2026-04; public price tables)"
std::string price_text(const Price& price) {
  std::vector<std::string> where;
  for (const std::string& word : {price.terms, price.as_of, price.source})
    if (!word.empty()) where.push_back(printable(word));
  return fmt::format("{:.6g} USD {} ({})", price.usd, unit_text(price.per), fmt::join(where, "; "));
}

/// "4 years at 70 % utilisation, 6.5 kW at 0.12 USD per kWh". Values that the user did not state
/// are marked as assumed.
std::string ownership_text(const Ownership& owned) {
  constexpr double kYear = 24 * 365.25;
  std::string text = fmt::format("{:.4g} years at ", owned.life_hours / kYear);
  text += owned.utilisation ? percent_text(100 * *owned.utilisation) + " utilisation"
                            : "full utilisation (assumed: --utilisation)";
  if (owned.node_kw > 0)
    return text +
           fmt::format(", {:.4g} kW at {:.4g} USD per kWh", owned.node_kw, owned.usd_per_kwh);
  return text + ", energy not included (--node-power)";
}

std::string goodput_line(const CostedCandidates& costed, const TerminalStyle& style) {
  const CandidateCost& cheapest = *costed.costs.candidates[costed.costs.by_cost.front()];
  if (cheapest.goodput.share == 1) return "";
  std::string text = fmt::format("Goodput: {} of the time is training on the cheapest",
                                 percent_text(100 * cheapest.goodput.share));
  if (cheapest.goodput.checkpoint_every_seconds > 0)
    text += fmt::format(", with a checkpoint every {} ({})",
                        long_time(cheapest.goodput.checkpoint_every_seconds, 2),
                        cheapest.goodput.simulated ? "by simulation" : "Daly 2006");
  return wrapped(text + ".", style.width, kIndent);
}

}  // namespace

Amount amount_of(const CompareReport& report) {
  if (report.training)
    return {report.training->samples, count_text(report.training->samples) + " samples"};
  if (const auto tokens = tokens_of_sample(report)) return {kMillion / *tokens, "a million tokens"};
  if (counts_samples(report)) return {kMillion, "a million samples"};
  return {kThousandSteps, "1000 steps of each rank"};
}

bool counts_samples(const CompareReport& report) {
  for (const ReportContext& context : report.contexts)
    if (!step_work(context.job).samples) return false;
  return true;
}

std::optional<double> tokens_of_sample(const CompareReport& report) {
  std::optional<double> tokens;
  for (const ReportContext& context : report.contexts) {
    const StepWork& work = step_work(context.job);
    if (!work.samples || !work.tokens) return std::nullopt;
    const double own = *work.tokens / *work.samples;
    if (tokens && own != *tokens) return std::nullopt;
    tokens = own;
  }
  return tokens;
}

CostedCandidates costed(const CompareReport& report) {
  CostedCandidates all{.costs = *report.costs,
                       .labels = {},
                       .ranks = {},
                       .grades = {},
                       .changed_numerics = {},
                       .amount = amount_of(report)};
  for (std::size_t i = 0; i < report.contexts.size(); ++i) {
    all.labels.push_back(cluster_name(report.contexts[i]));
    all.ranks.push_back(report.contexts[i].job.cluster().ranks());
    all.grades.push_back(report.comparison.jobs[i].confidence.grade);
    all.changed_numerics.push_back(changed_numerics(report.contexts[i].job));
  }
  return all;
}

std::string long_time(double seconds, int digits) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  if (seconds < 2 * kMinute) return significant(seconds, digits) + " s";
  if (seconds < 2 * kHour) return significant(seconds / kMinute, digits) + " min";
  if (seconds < 2 * kDay) return significant(seconds / kHour, digits) + " h";
  return significant(seconds / kDay, digits) + " days";
}

std::string usd_range(const FigureRange& range, Grade grade) {
  if (range.high == 0) return "0";
  const std::string bounds = interval_text(range.low, range.high, 2);
  if (grade == Grade::c) return bounds;
  return fmt::format("{} ({})", significant(range.value, digits_of(grade)), bounds);
}

std::string failures_clause(const CostedCandidates& costed, std::size_t fastest) {
  std::vector<std::size_t> order = costed.costs.by_cost;
  const auto cost = [&](std::size_t i) -> const CandidateCost& {
    return *costed.costs.candidates[i];
  };
  const auto fails = [&](std::size_t i) { return cost(i).goodput.share < 1; };
  if (order.size() < 2 || std::ranges::none_of(order, fails)) return "";
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return cost(i).seconds_per_work.value; });
  const std::size_t first = order.front();
  const std::size_t other =
      first == fastest || !costed.costs.candidates[fastest] ? order[1] : fastest;
  const auto name = [&](std::size_t i) { return name_of_job(costed.labels[i], costed.ranks[i]); };
  const double times = cost(other).seconds_per_work.value / cost(first).seconds_per_work.value;
  // If failures change the speedup by less than this, the verdict needs no addition.
  constexpr double kMuch = 0.05;
  const double between_failures = times * cost(other).goodput.share / cost(first).goodput.share;
  if (!std::isfinite(times) || (first == fastest && std::abs(times / between_failures - 1) < kMuch))
    return "";
  return fmt::format(" Failures included, {} is the fastest: {} times as fast as {}.", name(first),
                     significant(times, 3), name(other));
}

std::string cost_verdict(const CostedCandidates& costed, const TerminalStyle& style) {
  const std::vector<std::size_t>& order = costed.costs.by_cost;
  const std::size_t first = order.front();
  const auto name = [&](std::size_t i) { return name_of_job(costed.labels[i], costed.ranks[i]); };
  std::string text = fmt::format(
      "Cheapest: {}, {} USD for {}", name(first),
      usd_range(costed.costs.candidates[first]->usd_per_work.times(costed.amount.of_work),
                costed.grades[first]),
      costed.amount.words);
  if (order.size() > 1) {
    const Speedup& speedup = costed.costs.candidates[order[1]]->dearer;
    const std::string other = name(order[1]);
    if (speedup.same)
      text += fmt::format("; {} costs the same", other);
    else if (std::isinf(speedup.percent))
      text += fmt::format(
          "; {} costs {} USD", other,
          usd_range(costed.costs.candidates[order[1]]->usd_per_work.times(costed.amount.of_work),
                    costed.grades[order[1]]));
    else if (speedup.certain())
      text += fmt::format("; {} costs {} % more ({})", other, significant(speedup.percent, 2),
                          interval_text(speedup.low_percent, speedup.high_percent, 2));
    else
      text += fmt::format(
          "; not decided against {}, which is predicted to cost {} % more (possible: {} to {} %)",
          other, significant(speedup.percent, 2), significant(speedup.low_percent, 2),
          significant(speedup.high_percent, 2));
  }
  text += '.';
  if (order.size() > 1) {
    const auto named = [&](std::size_t i) {
      return NamedCandidate{printable(costed.labels[i]), costed.changed_numerics[i]};
    };
    text += learning_caveat(named(first), named(order[1]));
  }
  return wrapped(text, style.width, kIndent);
}

std::vector<Column> cost_columns() {
  return {{"USD/h", Align::right, 5}, {"takes", Align::left, 4}, {"USD"}, {"dearer by"}};
}

std::vector<std::string> cost_cells(const CostedCandidates& costed, std::size_t candidate) {
  const std::optional<CandidateCost>& cost = costed.costs.candidates[candidate];
  if (!cost) return std::vector<std::string>(cost_columns().size());
  const double work = costed.amount.of_work;
  const Grade grade = costed.grades[candidate];
  const bool cheapest = candidate == costed.costs.by_cost.front();
  return {significant(cost->usd_per_hour, 4),
          long_time(cost->seconds_per_work.value * work, digits_of(grade)),
          usd_range(cost->usd_per_work.times(work), grade) + (cost->frontier ? " *" : ""),
          cheapest || std::isinf(cost->dearer.percent) ? "" : speedup_text(cost->dearer)};
}

std::string cost_legend(const CostedCandidates& costed) {
  return fmt::format(" USD: for {}; *: no other candidate is both cheaper and faster.",
                     costed.amount.words);
}

std::vector<std::string> price_notes(const CostedCandidates& costed) {
  std::map<std::string, std::vector<std::string>> payers;
  std::vector<std::string> order;
  std::vector<std::string> none;
  std::vector<std::pair<Ownership, std::vector<std::string>>> owners;  // in order of candidates
  for (std::size_t i = 0; i < costed.labels.size(); ++i) {
    const std::string label = printable(costed.labels[i]);
    const std::optional<CandidateCost>& cost = costed.costs.candidates[i];
    if (!cost) {
      none.push_back(label);
      continue;
    }
    if (cost->price.per == Price::Per::node) {
      auto own = std::ranges::find(owners, cost->ownership, &decltype(owners)::value_type::first);
      if (own == owners.end()) own = owners.insert(owners.end(), {cost->ownership, {}});
      own->second.push_back(label);
    }
    const std::string text = price_text(cost->price);
    if (payers[text].empty()) order.push_back(text);
    payers[text].push_back(label);
  }
  std::vector<std::string> notes;
  for (const std::string& text : order)
    notes.push_back(fmt::format("Price: {}: {}.", fmt::join(payers[text], ", "), text));
  for (const auto& owner : owners)
    notes.push_back(
        fmt::format("Purchase{}: spread over {}.",
                    owners.size() > 1 ? fmt::format(", {}", fmt::join(owner.second, ", ")) : "",
                    ownership_text(owner.first)));
  if (!none.empty())
    notes.push_back(fmt::format("No price is known for {}. Pass --price LABEL=USD/node_hour.",
                                fmt::join(none, ", ")));
  return notes;
}

std::string price_lines(const CostedCandidates& costed, const TerminalStyle& style) {
  std::string lines;
  for (const std::string& note : price_notes(costed)) lines += wrapped(note, style.width, kIndent);
  return lines + goodput_line(costed, style);
}

}  // namespace ddpsim
