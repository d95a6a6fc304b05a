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
      Described<SpeedupSource>("BehindSource", "the effect of one error source alone on a speedup",
                               Layout::line)
          .word("source", &SpeedupSource::source, all_error_sources(), "the error source")
          .integer("workload", &SpeedupSource::workload,
                   "index in workloads of the workload that the source belongs to. Only with "
                   "several workloads, if the source belongs to one of them",
                   Absent::left_out)
          .ratio("low_percent", &SpeedupSource::low_percent,
                 "low end of the speedup with the source at its bounds, in percent")
          .ratio("high_percent", &SpeedupSource::high_percent,
                 "high end of the speedup with the source at its bounds, in percent")
          .boolean("changes_order", &SpeedupSource::changes_order,
                   "whether the source alone could make the slower candidate the faster one");
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
                   "channels that NCCL uses, each of them one thread block (SM)");
  return described;
}

const Described<OtherChoice>& described_other_choice() {
  static const auto described =
      Described<OtherChoice>("OtherChoice",
                             "a bucket size for which NCCL chooses another algorithm, protocol or "
                             "number of channels on "
                             "the fastest candidate than on this candidate")
          .integer("bytes", &OtherChoice::size, "bytes of the largest such bucket")
          .object("here", &OtherChoice::on_other, described_choice(),
                  "what NCCL chooses on this candidate")
          .object("on_fastest", &OtherChoice::on_faster, described_choice(),
                  "what NCCL chooses on the fastest candidate");
  return described;
}

const Described<NamedInterval>& described_range() {
  static const auto described =
      Described<NamedInterval>("RangeInterval", "an interval of a range, both ends included",
                               Layout::line)
          .number("from", &NamedInterval::from_value,
                  "where the interval begins: a value of the searched range, or an index in `rows`")
          .number("to", &NamedInterval::to_value,
                  "where the interval ends: a value of the searched range, or an index in `rows`");
  return described;
}

/// Precondition: the candidate has a price.
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
              described_price(Layout::block), "the price that the cost is computed from")
          .number(
              "usd_per_hour", [](const Priced& of) { return of.cost->usd_per_hour; },
              "cost of the whole cluster per hour, in US dollars")
          .ratio(
              "goodput", [](const Priced& of) { return of.cost->goodput.share; },
              "share of the time that is training, 0 to 1; the rest is checkpoints, restarts and "
              "repeated work")
          .number(
              "checkpoint_every_s",
              [](const Priced& of) { return of.cost->goodput.checkpoint_every_seconds; },
              "seconds of training from one checkpoint to the next; 0 without checkpoints")
          .object("usd_per_1000_steps", amount(&CostAmounts::usd_per_1000_steps),
                  described_interval(),
                  "cost of 1000 steps, in US dollars. Absent in rows of a mix", Absent::left_out)
          .object("usd_per_million_samples", amount(&CostAmounts::usd_per_million_samples),
                  described_interval(),
                  "cost of a million samples, in US dollars. Only if the batch is known; absent in "
                  "rows of a mix",
                  Absent::left_out)
          .object("usd_per_million_tokens", amount(&CostAmounts::usd_per_million_tokens),
                  described_interval(),
                  "cost of a million tokens, in US dollars. Only if samples are sequences; absent "
                  "in rows of a mix",
                  Absent::left_out)
          .object("usd", amount(&CostAmounts::usd), described_interval(),
                  "cost of the whole training, in US dollars. Only with --samples or --steps",
                  Absent::left_out)
          .object("seconds", amount(&CostAmounts::seconds), described_interval(),
                  "time of the whole training in seconds, including failures. Only with --samples "
                  "or --steps",
                  Absent::left_out)
          .object("usd_per_hour_of_reference", amount(&CostAmounts::usd_per_hour_of_reference),
                  described_interval(),
                  "cost of the work that the reference does in an hour, in US dollars. Only in "
                  "rows of a mix",
                  Absent::left_out)
          .object(
              "dearer_percent", [](const Priced& of) { return shown_interval(of.cost->dearer); },
              described_interval(),
              "how much more the candidate costs than the cheapest, in percent")
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
      Described<Speedup>("Behind", "how much faster the fastest candidate is, and why")
          .object(
              "behind_percent", [](const Speedup& of) { return shown_interval(of); },
              described_interval(),
              "how much faster the fastest candidate trains, in percent. Absent in a row that has "
              "an error")
          .list("behind_sources", &Speedup::sources, described_source(),
                "the effect of each error source alone on behind_percent, widest first. Absent in "
                "a row that has an error")
          .boolean("same", &Speedup::same,
                   "whether the candidate differs from the fastest in its name only. Absent in a "
                   "row that has an error")
          .boolean("never_slower", &Speedup::never_slower,
                   "whether the fastest cluster is strictly better than the candidate's and NCCL "
                   "chooses the same on both, so that behind_percent cannot be below 0. Absent in "
                   "a row that has an error")
          .boolean(
              "upgrade_is_slower",
              [](const Speedup& of) {
                return of.other_choice ? std::optional(of.dominating_is_slower) : std::nullopt;
              },
              "whether the candidate's cluster is the strictly better one. Only with other_choice",
              Absent::left_out)
          .object("other_choice", &Speedup::other_choice, described_other_choice(),
                  "a bucket for which NCCL chooses differently on the fastest. Only if one cluster "
                  "is strictly better than the other",
                  Absent::left_out);
  return described;
}

const Described<PricedCandidate>& described_priced() {
  static const auto described =
      Described<PricedCandidate>("Priced",
                                 "the costs of a candidate, if some candidate has a price")
          .object(
              "cost", [](const PricedCandidate& of) { return of.cost != nullptr ? &of : nullptr; },
              described_cost(),
              "what training costs on the candidate; null if it has no price. Only if some "
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
          .text("condition", &Until::condition, "the condition, as --until takes it")
          .text("range", unless_empty(&Until::range),
                "the range that was searched; null if the condition was judged for each candidate "
                "in `rows`")
          .text("candidate", unless_empty(&Until::candidate),
                "the candidate that the condition is about. Only with a searched range and several "
                "candidates",
                Absent::left_out)
          .text("workload", unless_empty(&Until::workload),
                "the workload that the condition is about. Only with several workloads",
                Absent::left_out)
          .list("predicted", &Until::predicted, described_range(),
                "where the condition is predicted to hold", Absent::null, Layout::line)
          .list("possible", &Until::possible, described_range(), "where the condition may hold",
                Absent::null, Layout::line)
          .list("certain", &Until::certain, described_range(),
                "where the condition holds with every error source at its bounds", Absent::null,
                Layout::line)
          .integer("asked", searched(&Until::asked),
                   "how many values were simulated. Only with a searched range", Absent::left_out)
          .integer("without_answer", searched(&Until::without_answer),
                   "how many values have no answer; each counts as the value before it. Only with "
                   "a searched range",
                   Absent::left_out);
  return described;
}

}  // namespace ddpsim
