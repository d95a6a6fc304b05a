#include "described_advice.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// Of a row without an error.
const Described<AdviceRow>& described_worth() {
  static const auto described =
      Described<AdviceRow>("AdviceWorth", "what a change of settings is worth")
          .boolean("worth", &AdviceRow::worth,
                   "whether the change is advised, by tune's rule and under every version the job "
                   "may run. Not in a row with an error")
          .text("measure_first_because", unless_empty(&AdviceRow::doubt),
                "why the change is not advised before something is measured; null: nothing must be "
                "measured first. Not in a row with an error")
          .object(
              "gain_us", [](const AdviceRow& of) { return shown_interval(of.gain); },
              described_interval(),
              "the current step less the step with the change, both per current batch. Not in a "
              "row with an error")
          .time("expected_gain_us", &AdviceRow::expected,
                "the gain's mean over what is not known. Not in a row with an error")
          .time("regret_us", &AdviceRow::regret,
                "what the change costs where it goes wrong. Not in a row with an error")
          .time("iteration_us", &AdviceRow::iteration,
                "the step with the change, per current batch. Not in a row with an error")
          .integer("memory_bytes", &AdviceRow::memory_bytes,
                   "how much the peak memory of a GPU changes, as far as that is known. Not in a "
                   "row with an error");
  return described;
}

/// The smaller of both sides' losses. Precondition: there is one.
Duration smaller_loss(const NextWorse& worse) {
  if (!worse.below) return worse.above->loss;
  if (!worse.above) return worse.below->loss;
  return std::min(worse.below->loss, worse.above->loss);
}

const Described<NextWorse>& described_next_worse() {
  const auto cap = [](std::optional<Cliff> NextWorse::*side) {
    return [side](const NextWorse& of) {
      return of.*side ? std::optional((of.*side)->cap_mb) : std::nullopt;
    };
  };
  const auto loss = [](std::optional<Cliff> NextWorse::*side) {
    return [side](const NextWorse& of) {
      return of.*side ? std::optional((of.*side)->loss) : std::nullopt;
    };
  };
  static const auto described =
      Described<NextWorse>(
          "NextWorse",
          "the nearest caps with a step that is measurably longer than the recommended cap's",
          Layout::line)
          .number("below_mb", cap(&NextWorse::below),
                  "the nearest smaller cap with a measurably longer step, in MiB; null: none")
          .number("above_mb", cap(&NextWorse::above),
                  "the nearest larger cap with a measurably longer step, in MiB; null: none")
          .time("loss_us", &smaller_loss, "the smaller of below_loss_us and above_loss_us")
          .time("below_loss_us", loss(&NextWorse::below),
                "how much longer the step is with below_mb; null where there is no such cap")
          .time("above_loss_us", loss(&NextWorse::above),
                "how much longer the step is with above_mb; null where there is no such cap");
  return described;
}

const Described<MeasureFirst>& described_measure_first() {
  static const auto described =
      Described<MeasureFirst>(
          "MeasureFirst",
          "why a setting that is predicted to gain is not advised yet, and what would decide")
          .word("doubt", &MeasureFirst::doubt, all_up_to(Doubt::neighbour),
                "loss: the setting may cost more than can be measured, or than a quarter of its "
                "expected gain; sizes: its all-reduces are unlike any measured; neighbour: with "
                "one node more or less, NICs 5 % off or the next minor version of NCCL it gains "
                "too little or may cost too much")
          .text("because", &MeasureFirst::because, "the doubt in words")
          .number("bucket_cap_mb", &MeasureFirst::bucket_cap_mb,
                  "the setting's cap in MiB; null: pass nothing")
          .number("first_bucket_mb", &MeasureFirst::first_bucket_mb,
                  "the setting's limit of the first bucket in MiB; null: pass nothing")
          .object(
              "gain_us", [](const MeasureFirst& of) { return shown_interval(of.gain); },
              described_interval(), "the current step less the step with the setting")
          .integers("sizes_bytes", &MeasureFirst::sizes,
                    "sizes of the two or three all-reduces that decide")
          .text("command", &MeasureFirst::command, "what measures the all-reduces of sizes_bytes")
          .text("then", unless_empty(&MeasureFirst::then),
                "what takes the measurement in; null: nothing is to be taken in")
          .time("takes_us", &MeasureFirst::takes, "about how long the command takes")
          .integer("deciding_bytes", &MeasureFirst::deciding,
                   "the size of the all-reduce whose time decides")
          .time("predicted_us", &MeasureFirst::predicted,
                "the predicted time of the all-reduce of deciding_bytes")
          .time("set_up_to_us", &MeasureFirst::set_up_to,
                "set the cap if the all-reduce of deciding_bytes takes no longer than this, else "
                "keep the current one; null: no time would decide");
  return described;
}

const NextWorse* next_worse_of(const Recommendation& recommended) {
  const std::optional<NextWorse>& worse = recommended.next_worse;
  return worse && (worse->below || worse->above) ? &*worse : nullptr;
}

/// Where a cap can be recommended.
const Described<Recommendation>& described_recommended_cap() {
  static const auto described =
      Described<Recommendation>("RecommendedCap", "the recommended cap and what it gains")
          .number("bucket_cap_mb", &Recommendation::bucket_cap_mb,
                  "the recommended cap in MiB; null: pass nothing. Not where action is none")
          .number("first_bucket_mb", &Recommendation::first_bucket_mb,
                  "the recommended limit of the first bucket in MiB; null: pass nothing. Not where "
                  "action is none")
          .numbers("cap_range_mb", ends_of(&Recommendation::cap_range_mb),
                   "lowest and highest of the caps that are as good as the recommended one, as far "
                   "as can be measured, in MiB. Not where action is none")
          .object(
              "gain_us", [](const Recommendation& of) { return shown_interval(of.gain); },
              described_interval(),
              "the current step less the step as recommended. Not where action is none")
          .object(
              "most_robust_gain_us",
              [](const Recommendation& of) {
                return of.most_robust ? std::optional(shown_interval(*of.most_robust))
                                      : std::nullopt;
              },
              described_interval(),
              "where nothing is to be set, the gain of the most robust other setting; else null. "
              "Not where action is none")
          .object("measure_first", &Recommendation::measure_first, described_measure_first(),
                  "why a setting that is predicted to gain is not advised yet, and what would "
                  "decide; null: there is none. Not where action is none")
          .time("expected_gain_us", &Recommendation::expected,
                "the gain's mean over what is not known. Not where action is none")
          .time("regret_us", &Recommendation::regret,
                "what the setting costs where it goes wrong: minus the low end of its gain where "
                "that is a loss, else 0. Not where action is none")
          .object("next_worse", &next_worse_of, described_next_worse(),
                  "the nearest caps with a step that is measurably longer than the recommended "
                  "cap's; null where no cap is recommended, where none is longer, or with --caps. "
                  "Not where action is none")
          .time("measurable_us", &Recommendation::measurable,
                "the least gain that can be told from noise. Not where action is none")
          .text("python", &Recommendation::python,
                "the line to paste; empty where nothing is to be set. Not where action is none");
  return described;
}

const char* action_of(const ShownRecommendation& shown) {
  if (!shown.no_cap_because.empty()) return "none";
  if (shown.recommended.set) return "set";
  return shown.recommended.default_as_current ? "keep default" : "keep today";
}

}  // namespace

ShownInterval shown_interval(const Gain& gain) {
  return {{microseconds_token(gain.value)},
          {microseconds_token(gain.low)},
          {microseconds_token(gain.high)}};
}

const Described<ShownInterval>& described_interval() {
  static const auto described =
      Described<ShownInterval>("Interval", "a predicted value and its 80 % interval", Layout::line)
          .number("value", &ShownInterval::value, "the predicted value")
          .number("low", &ShownInterval::low, "low end of the value's 80 % interval")
          .number("high", &ShownInterval::high, "high end of the value's 80 % interval");
  return described;
}

const Described<AdviceRow>& described_advice_row() {
  static const auto described =
      Described<AdviceRow>("AdviceRow", "a change of one setting, or of several together")
          .texts("levers", &AdviceRow::settings,
                 "the settings to change; several are changed together", Absent::null, Layout::line)
          .text("line", &AdviceRow::line, "what to paste, statements parted by \"; \"")
          .boolean("changes_numerics", &AdviceRow::changes_numerics,
                   "whether the numerics change: of gradients, or of what the optimizer sees")
          .boolean("changes_batch", &AdviceRow::changes_batch,
                   "whether the optimizer steps on another batch")
          .text("note", &AdviceRow::note, "what else changes; mostly empty")
          .members_of([](const AdviceRow& of) { return of.error.empty() ? &of : nullptr; },
                      described_worth())
          .text(
              "error", [](const AdviceRow& of) { return of.error.empty() ? nullptr : &of.error; },
              "why the change cannot be had. Only in a row without figures", Absent::left_out);
  return described;
}

const Described<ShownRecommendation>& described_recommendation() {
  using Shown = ShownRecommendation;
  static const auto described =
      Described<Shown>("Recommendation", "what is advised for bucket_cap_mb")
          .one_of("action", &action_of, {"set", "keep default", "keep today", "none"},
                  "what to do; set without a cap: pass nothing; none: nothing can be recommended")
          .members_of(
              [](const Shown& of) { return of.no_cap_because.empty() ? &of.recommended : nullptr; },
              described_recommended_cap())
          .text(
              "reason",
              [](const Shown& of) {
                return of.no_cap_because.empty() ? std::string_view(of.recommended.reason)
                                                 : of.no_cap_because;
              },
              "why action is advised, in one sentence");
  return described;
}

}  // namespace ddpsim
