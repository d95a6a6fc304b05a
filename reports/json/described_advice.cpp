#include "described_advice.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

/// Keys of a row that has no error.
const Described<AdviceRow>& described_worth() {
  static const auto described =
      Described<AdviceRow>("AdviceWorth", "what a change of settings is worth")
          .boolean("worth", &AdviceRow::worth,
                   "whether the change is advised, by tune's rule and for every PyTorch version "
                   "that is possible. Absent in a row that has an error")
          .text("measure_first_because", unless_empty(&AdviceRow::doubt),
                "why something must be measured before the change is advised; null if nothing must "
                "be. Absent in a row that has an error")
          .object(
              "gain_us", [](const AdviceRow& of) { return shown_interval(of.gain); },
              described_interval(),
              "the current step minus the step with the change, both per current batch. Absent in "
              "a row that has an error")
          .time(
              "expected_gain_us", &AdviceRow::expected,
              "the mean gain over everything that is uncertain. Absent in a row that has an error")
          .time("regret_us", &AdviceRow::regret,
                "what the change costs in the worst case of its interval. Absent in a row that has "
                "an error")
          .time("iteration_us", &AdviceRow::iteration,
                "time of the step with the change, per current batch. Absent in a row that has an "
                "error")
          .integer("memory_bytes", &AdviceRow::memory_bytes,
                   "change of a GPU's peak memory in bytes, as far as it is known. Absent in a row "
                   "that has an error");
  return described;
}

/// The smaller loss of both sides. Precondition: at least one side has a loss.
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
                  "the nearest smaller cap with a measurably longer step, in MiB; null if there is "
                  "none")
          .number(
              "above_mb", cap(&NextWorse::above),
              "the nearest larger cap with a measurably longer step, in MiB; null if there is none")
          .time("loss_us", &smaller_loss, "the smaller of below_loss_us and above_loss_us")
          .time("below_loss_us", loss(&NextWorse::below),
                "how much longer the step is with below_mb; null if there is no such cap")
          .time("above_loss_us", loss(&NextWorse::above),
                "how much longer the step is with above_mb; null if there is no such cap");
  return described;
}

const Described<MeasureFirst>& described_measure_first() {
  static const auto described =
      Described<MeasureFirst>(
          "MeasureFirst",
          "why a setting that is predicted to gain is not advised yet, and what would decide")
          .word("doubt", &MeasureFirst::doubt, all_up_to(Doubt::neighbour),
                "the kind of doubt. With \"loss\" the setting may cost more than can be measured, "
                "or more than a quarter of its expected gain. With \"sizes\" its all-reduces are "
                "unlike any measured ones. With \"neighbour\" it gains too little or may cost too "
                "much on a slightly different cluster. That is one node more or less, NICs 5 % "
                "off, or the next minor version of NCCL")
          .text("because", &MeasureFirst::because, "the doubt in words")
          .number("bucket_cap_mb", &MeasureFirst::bucket_cap_mb,
                  "the setting's cap in MiB; null if nothing is to be passed")
          .number("first_bucket_mb", &MeasureFirst::first_bucket_mb,
                  "the setting's limit of the first bucket in MiB; null if nothing is to be passed")
          .object(
              "gain_us", [](const MeasureFirst& of) { return shown_interval(of.gain); },
              described_interval(), "the current step minus the step with the setting")
          .integers("sizes_bytes", &MeasureFirst::sizes,
                    "sizes of the two or three all-reduces that decide")
          .text("command", &MeasureFirst::command,
                "the command that measures the all-reduces of sizes_bytes")
          .text("then", unless_empty(&MeasureFirst::then),
                "the command that uses the measurement; null if there is none")
          .time("takes_us", &MeasureFirst::takes, "approximate time that the command takes")
          .integer("deciding_bytes", &MeasureFirst::deciding,
                   "the size of the all-reduce whose time decides")
          .time("predicted_us", &MeasureFirst::predicted,
                "the predicted time of the all-reduce of deciding_bytes")
          .time("set_up_to_us", &MeasureFirst::set_up_to,
                "set the cap if the all-reduce of deciding_bytes takes at most this time, else "
                "keep the current one; null if no time would decide");
  return described;
}

const NextWorse* next_worse_of(const Recommendation& recommended) {
  const std::optional<NextWorse>& worse = recommended.next_worse;
  return worse && (worse->below || worse->above) ? &*worse : nullptr;
}

/// Keys of a recommendation whose action is not "none".
const Described<Recommendation>& described_recommended_cap() {
  static const auto described =
      Described<Recommendation>("RecommendedCap", "the recommended cap and what it gains")
          .number("bucket_cap_mb", &Recommendation::bucket_cap_mb,
                  "the recommended cap in MiB; null if you should pass nothing. Absent if action "
                  "is none")
          .number("first_bucket_mb", &Recommendation::first_bucket_mb,
                  "the recommended limit of the first bucket in MiB; null if you should pass "
                  "nothing. Absent if action is none")
          .numbers("cap_range_mb", ends_of(&Recommendation::cap_range_mb),
                   "lowest and highest of the caps that are measurably as good as the recommended "
                   "one, in MiB. Absent if action is none")
          .object(
              "gain_us", [](const Recommendation& of) { return shown_interval(of.gain); },
              described_interval(),
              "the current step minus the recommended step. Absent if action is none")
          .object(
              "most_robust_gain_us",
              [](const Recommendation& of) {
                return of.most_robust ? std::optional(shown_interval(*of.most_robust))
                                      : std::nullopt;
              },
              described_interval(),
              "the gain of the most robust other setting if nothing is to be set; else null. "
              "Absent if action is none")
          .object("measure_first", &Recommendation::measure_first, described_measure_first(),
                  "why a setting that is predicted to gain is not advised yet, and what would "
                  "decide; null if there is none. Absent if action is none")
          .time("expected_gain_us", &Recommendation::expected,
                "the mean gain over everything that is uncertain. Absent if action is none")
          .time("regret_us", &Recommendation::regret,
                "what the setting may cost: minus the low end of its gain if that is a loss, else "
                "0. Absent if action is none")
          .object(
              "next_worse", &next_worse_of, described_next_worse(),
              "the nearest caps with a measurably longer step than the recommended cap; null if no "
              "cap is recommended or none is worse, and with --caps. Absent if action is none")
          .time("measurable_us", &Recommendation::measurable,
                "the smallest gain that can be measured. Absent if action is none")
          .text("python", &Recommendation::python,
                "the line of Python to paste; empty if nothing is to be set. Absent if action is "
                "none");
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
          .text("line", &AdviceRow::line, "the statements to paste, separated by \"; \"")
          .boolean("changes_numerics", &AdviceRow::changes_numerics,
                   "whether the change affects numerics: the gradients, or what the optimizer sees")
          .boolean("changes_batch", &AdviceRow::changes_batch,
                   "whether the optimizer steps on a different batch")
          .text("note", &AdviceRow::note, "what else changes; usually empty")
          .members_of([](const AdviceRow& of) { return of.error.empty() ? &of : nullptr; },
                      described_worth())
          .text(
              "error", [](const AdviceRow& of) { return of.error.empty() ? nullptr : &of.error; },
              "why the change is not possible. Only in a row without results", Absent::left_out);
  return described;
}

const Described<ShownRecommendation>& described_recommendation() {
  using Shown = ShownRecommendation;
  static const auto described =
      Described<Shown>("Recommendation", "what is advised for bucket_cap_mb")
          .one_of("action", &action_of, {"set", "keep default", "keep today", "none"},
                  "what to do. \"set\" without a cap means to pass nothing, \"none\" that nothing "
                  "can be recommended")
          .members_of(
              [](const Shown& of) { return of.no_cap_because.empty() ? &of.recommended : nullptr; },
              described_recommended_cap())
          .text(
              "reason",
              [](const Shown& of) {
                return of.no_cap_because.empty() ? std::string_view(of.recommended.reason)
                                                 : of.no_cap_because;
              },
              "why this action is advised, in one sentence");
  return described;
}

}  // namespace ddpsim
