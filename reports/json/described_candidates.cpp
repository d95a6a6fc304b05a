#include "described_candidates.hpp"

#include "described_price.hpp"
#include "error_source.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

ShownInterval shown_interval(const Speedup& speedup) {
  return {{ratio_token(speedup.percent)},
          {ratio_token(speedup.low_percent)},
          {ratio_token(speedup.high_percent)}};
}

const Described<SpeedupSource>& described_source() {
  static const auto described =
      Described<SpeedupSource>("BehindSource",
                               "what a source of error by itself makes of a speedup", Layout::line)
          .word("source", &SpeedupSource::source, all_error_sources(), "what may err")
          .integer("workload", &SpeedupSource::workload,
                   "the place in workloads of the one that the source belongs to. Only of several "
                   "workloads, where the source is not of all",
                   Absent::left_out)
          .ratio("low_percent", &SpeedupSource::low_percent,
                 "low end of the speedup with the source at its bounds, in percent")
          .ratio("high_percent", &SpeedupSource::high_percent,
                 "high end of the speedup with the source at its bounds, in percent")
          .boolean("changes_order", &SpeedupSource::changes_order,
                   "whether the source by itself may put the slower candidate in front");
  return described;
}

const Described<CollectiveChoice>& described_choice() {
  static const auto described =
      Described<CollectiveChoice>("Choice", "what NCCL chooses for an all-reduce", Layout::line)
          .word("algorithm", &CollectiveChoice::algorithm, all_up_to(Algorithm::nvls_tree),
                "the algorithm that NCCL chooses")
          .word("protocol", &CollectiveChoice::protocol, all_up_to(Protocol::simple),
                "the protocol that NCCL chooses")
          .integer("channels", &CollectiveChoice::channels,
                   "channels that NCCL uses; one thread block (SM) each");
  return described;
}

const Described<OtherChoice>& described_other_choice() {
  static const auto described =
      Described<OtherChoice>(
          "OtherChoice",
          "a bucket for which NCCL chooses otherwise on the fastest candidate than on this one")
          .integer("bytes", &OtherChoice::size, "the largest such bucket")
          .object("here", &OtherChoice::on_other, described_choice(),
                  "what NCCL chooses on this candidate")
          .object("on_fastest", &OtherChoice::on_faster, described_choice(),
                  "what NCCL chooses on the fastest candidate");
  return described;
}

const Described<NamedInterval>& described_range() {
  static const auto described =
      Described<NamedInterval>("RangeInterval", "places along a range, both ends included", Layout::line)
          .number("from", &NamedInterval::from_value,
                  "the first place: a value of the range that was searched, else a row")
          .number("to", &NamedInterval::to_value,
                  "the last place: a value of the range that was searched, else a row");
  return described;
}

/// Precondition of its readers: the candidate has a price.
const Described<PricedCandidate>& described_cost() {
  using Priced = PricedCandidate;
  const auto amount = [](std::optional<FigureRange> CostAmounts::*which) {
    return [which](const Priced& of) {
      const std::optional<FigureRange>& range = of.amounts.*which;
      return range ? std::optional(shown_interval(*range)) : std::nullopt;
    };
  };
  static const auto described =
      Described<Priced>("Cost", "what training costs on a candidate")
          .object(
              "price", [](const Priced& of) -> const auto& { return of.cost->price; },
              described_price(Layout::block), "the price that the cost follows from")
          .number(
              "usd_per_hour", [](const Priced& of) { return of.cost->usd_per_hour; },
              "an hour of the whole cluster, in US dollars")
          .ratio(
              "goodput", [](const Priced& of) { return of.cost->goodput.share; },
              "the share of the time that is training, not checkpoints, restarts or work done "
              "twice")
          .number(
              "checkpoint_every_s",
              [](const Priced& of) { return of.cost->goodput.checkpoint_every_seconds; },
              "training from one checkpoint to the next; 0: there are no checkpoints")
          .object("usd_per_1000_steps", amount(&CostAmounts::usd_per_1000_steps),
                  described_interval(), "1000 steps in US dollars. Not in rows of a mix",
                  Absent::left_out)
          .object("usd_per_million_samples", amount(&CostAmounts::usd_per_million_samples),
                  described_interval(),
                  "a million samples in US dollars. Not in rows of a mix, and only where the batch "
                  "is known",
                  Absent::left_out)
          .object("usd_per_million_tokens", amount(&CostAmounts::usd_per_million_tokens),
                  described_interval(),
                  "a million tokens in US dollars. Not in rows of a mix, and only where samples "
                  "are sequences",
                  Absent::left_out)
          .object("usd", amount(&CostAmounts::usd), described_interval(),
                  "all that is to be trained, in US dollars. Only with --samples or --steps",
                  Absent::left_out)
          .object("seconds", amount(&CostAmounts::seconds), described_interval(),
                  "how long all that is to be trained takes, failures included. Only with "
                  "--samples or --steps",
                  Absent::left_out)
          .object("usd_per_hour_of_reference", amount(&CostAmounts::usd_per_hour_of_reference),
                  described_interval(),
                  "what the reference does in an hour, in US dollars. Only in rows of a mix",
                  Absent::left_out)
          .object(
              "dearer_percent", [](const Priced& of) { return shown_interval(of.cost->dearer); },
              described_interval(), "by how much the candidate costs more than the cheapest")
          .boolean(
              "frontier", [](const Priced& of) { return of.cost->frontier; },
              "whether no other candidate is both cheaper and faster");
  return described;
}

}  // namespace

ShownInterval shown_interval(const FigureRange& range) {
  return {{number_token(range.value)}, {number_token(range.low)}, {number_token(range.high)}};
}

const Described<Speedup>& described_behind() {
  static const auto described =
      Described<Speedup>("Behind", "by how much a candidate is behind the fastest, and why")
          .object(
              "behind_percent", [](const Speedup& of) { return shown_interval(of); },
              described_interval(),
              "by how much faster the fastest candidate trains. Not in a row with an error")
          .list("behind_sources", &Speedup::sources, described_source(),
                "what each source of error by itself makes of behind_percent, widest first. Not in "
                "a row with an error")
          .boolean("same", &Speedup::same,
                   "whether nothing but its name tells the candidate from the fastest. Not in a "
                   "row with an error")
          .boolean("never_slower", &Speedup::never_slower,
                   "whether the fastest cluster is the candidate's with more of something and NCCL "
                   "chooses alike on both: the low end of behind_percent is then 0 at least. Not "
                   "in a row with an error")
          .boolean(
              "upgrade_is_slower",
              [](const Speedup& of) {
                return of.other_choice ? std::optional(of.dominating_is_slower) : std::nullopt;
              },
              "whether it is the candidate's cluster that has more. Only with other_choice",
              Absent::left_out)
          .object("other_choice", &Speedup::other_choice, described_other_choice(),
                  "a bucket for which NCCL chooses otherwise on the fastest. Only where one "
                  "cluster is the other with more of something",
                  Absent::left_out);
  return described;
}

const Described<PricedCandidate>& described_priced() {
  static const auto described =
      Described<PricedCandidate>("Priced",
                                 "what a candidate costs where some candidate has a price")
          .object(
              "cost", [](const PricedCandidate& of) { return of.cost != nullptr ? &of : nullptr; },
              described_cost(),
              "what training costs on the candidate; null: it has no price. Only where some "
              "candidate has one",
              Absent::null);
  return described;
}

const std::vector<std::size_t>* by_cost_of(const std::optional<Costs>& costs) {
  return costs ? &costs->by_cost : nullptr;
}

const std::vector<Until>* until_of(const std::vector<Until>& all) {
  return all.empty() ? nullptr : &all;
}

const Described<Until>& described_until() {
  const auto searched = [](std::size_t Until::*count) {
    return [count](const Until& of) {
      return of.range.empty() ? std::nullopt : std::optional(of.*count);
    };
  };
  static const auto described =
      Described<Until>("Until", "where along a range a condition holds")
          .text("condition", &Until::condition, "the condition")
          .text("range", unless_empty(&Until::range),
                "the range that was searched; null: candidates that were written out")
          .text("candidate", unless_empty(&Until::candidate),
                "the candidate whose figure it is. Only of a range that was searched, where there "
                "are several",
                Absent::left_out)
          .text("workload", unless_empty(&Until::workload),
                "the workload whose figure it is. Only where there are several", Absent::left_out)
          .list("predicted", &Until::predicted, described_range(),
                "where the condition holds as predicted", Absent::null, Layout::line)
          .list("possible", &Until::possible, described_range(), "where the condition may hold",
                Absent::null, Layout::line)
          .list("certain", &Until::certain, described_range(),
                "where the condition holds in every scenario", Absent::null, Layout::line)
          .integer("asked", searched(&Until::asked),
                   "how many values were simulated. Only of a range that was searched",
                   Absent::left_out)
          .integer("without_answer", searched(&Until::without_answer),
                   "how many values have no answer; each counts as the value before it. Only of a "
                   "range that was searched",
                   Absent::left_out);
  return described;
}

}  // namespace ddpsim
