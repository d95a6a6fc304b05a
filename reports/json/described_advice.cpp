#include "described_advice.hpp"

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
                "why the change is not advised before something is measured; null: nothing must "
                "be measured first. Not in a row with an error")
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

}  // namespace ddpsim
