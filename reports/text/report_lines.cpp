#include "report_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "error_source.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

std::string when(PeakMoment moment) {
  switch (moment) {
    case PeakMoment::forward:
      return "in forward";
    case PeakMoment::backward:
      return "in backward";
    case PeakMoment::optimizer:
      return "while the optimizer steps";
    case PeakMoment::rebuild:
      return "when DDP rebuilds its buckets";
    case PeakMoment::averaging:
      return "while parameters are averaged";
  }
  return "";
}

std::string signed_percent(double percent) {
  const std::string text = significant(std::abs(percent), 2);
  return fmt::format("{}{} %", percent < 0 ? "-" : "+", text);
}

/// Error sources that move the step enough to be named, widest first. Measurement noise is left
/// out: it is in every measurement, and the reasons name it.
std::vector<Sensitivity> worth_naming(const Confidence& confidence) {
  constexpr double kWorthNaming = 0.001;
  std::vector<Sensitivity> named;
  for (const Sensitivity& one : confidence.sensitivities)
    if (one.source != ErrorSource::measurement_noise &&
        one.width() / confidence.predicted >= kWorthNaming)
      named.push_back(one);
  return named;
}

/// " (median of 120 steps, 98 to 121)". For a file it names the values instead: " (median of 12
/// values of column "step_time_ms", 15.0 to 16.0)".
std::string spread_text(const Replay& replay, int digits) {
  const std::string values = printable(replay.source.substr(0, replay.source.find(';')));
  if (!replay.spread) return values.empty() ? "" : fmt::format(" ({})", values);
  const TimeUnit unit = unit_for(replay.measured);
  return fmt::format(" (median of {}, {})",
                     values.empty() ? counted(replay.spread->steps, "step") : values,
                     time_interval(replay.spread->low, replay.spread->high, digits, unit));
}

std::string factors_text(const Explanation& explanation) {
  const auto times = [](const char* part, double factor) {
    return fmt::format("{} took {} times as long", part, significant(factor, 3));
  };
  if (explanation.collectives == 1) return times("compute", explanation.compute);
  if (explanation.compute == 1) return times("collectives", explanation.collectives);
  return times("collectives", explanation.collectives) + " and " +
         times("compute", explanation.compute);
}

/// Which factors on compute or collectives would make the replay match the measured step.
std::string explanations(const MeasuredCorrection& correction) {
  const Explanation& communication = correction.all_communication;
  const std::string first =
      fmt::format(" It would match if {}", factors_text(correction.all_compute));
  if (communication.collectives == 1) return first + "; collectives make no difference.";
  if (communication.compute == 1)
    return first + fmt::format(", or if {}.", factors_text(communication));
  return first + fmt::format(", or if {} (collectives alone cannot explain it).",
                             factors_text(communication));
}

}  // namespace

std::string speed_clause(const StepTimes& times, const Job& job, int digits) {
  const TrainingSpeed speed = training_speed(step_work(job), times);
  std::vector<std::string> parts;
  if (speed.samples_per_second)
    parts.push_back(significant(*speed.samples_per_second, digits) + " samples/s");
  if (speed.tokens_per_second)
    parts.push_back(significant(*speed.tokens_per_second, digits) + " tokens/s");
  if (speed.model_flops_utilization)
    parts.push_back("MFU " + percent_text(100 * *speed.model_flops_utilization));
  if (job.cluster().ranks() > 1 && speed.scaling_efficiency)
    parts.push_back("scaling efficiency " + percent_text(100 * *speed.scaling_efficiency));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

std::string memory_line(const std::optional<PeakMemory>& memory, const TerminalStyle& style) {
  if (!memory) return "";
  const PeakMemory& peak = *memory;
  const MemoryParts& parts = peak.parts;
  const std::string optimizer =
      fmt::format("optimizer state ({}{}{})", word_of(peak.optimizer.kind),
                  peak.optimizer.master_weights ? " with fp32 copies" : "",
                  peak.optimizer.assumed ? ", assumed: --optimizer" : "");
  const std::string activations = peak.activations && !peak.activations->recorded
                                      ? "activations (estimated by layers)"
                                      : "activations";
  std::vector<std::pair<Bytes, std::string>> named = {
      {parts.activations.value_or(Bytes()), activations},
      {parts.parameters, "parameters"},
      {parts.gradients, "gradients"},
      {parts.buckets, "buckets"},
      {parts.optimizer, optimizer},
      {parts.hook, "the communication hook's copies"},
      {parts.temporaries, "temporaries"},
      {parts.buffers, "module buffers"},
      {peak.rounding + peak.segments, "allocator rounding"},
      {peak.nccl, "NCCL's buffers"}};
  // Share of the peak. JSON lists every part.
  constexpr double kWorthNaming = 0.01;
  std::ranges::stable_sort(named, std::ranges::greater(), &std::pair<Bytes, std::string>::first);
  std::string text =
      fmt::format("Memory per GPU{} {}, {}",
                  peak.activations ? ": about" : " without activations, which are not known:",
                  rounded_size_text(peak.total()), when(peak.at));
  const char* separator = ": ";
  for (const auto& [bytes, name] : named) {
    if (static_cast<double>(bytes.count()) <
        kWorthNaming * static_cast<double>(peak.total().count()))
      continue;
    text += fmt::format("{}{} {}", separator, name, rounded_size_text(bytes));
    separator = ", ";
  }
  return wrapped(text + '.', style.width, kIndent);
}

std::string activations_line(const std::optional<PeakMemory>& memory, const TerminalStyle& style) {
  if (!memory || !memory->activations || memory->activations->by.empty()) return "";
  constexpr std::size_t kNamed = 6;
  std::string text =
      fmt::format("Activations after forward: {}", rounded_size_text(memory->activations->bytes));
  const char* separator = ": ";
  // Not std::views::take: clang before 16 cannot compile views over libstdc++.
  const std::span<const KeptBy> by = memory->activations->by;
  for (const KeptBy& one : by.first(std::min(by.size(), kNamed))) {
    text += fmt::format("{}{} {}", separator, one.name, rounded_size_text(one.bytes));
    separator = ", ";
  }
  return wrapped(text + '.', style.width, kIndent);
}

std::string setting_line(const std::string& setting, const TerminalStyle& style) {
  std::string lines = wrapped(setting, style.width, kIndent);
  lines.pop_back();
  return dim(lines, style) + '\n';
}

bool is_measured(const Trust& trust, Duration step) {
  // Relative. Each operation's time is rounded to a picosecond, so a corrected step is off by a
  // little.
  constexpr double kSame = 1e-6;
  if (!trust.correction) return false;
  return std::abs((step - trust.replay->measured) / trust.replay->measured) < kSame;
}

std::string replay_line(const Trust& trust, const TerminalStyle& style, const std::string& of) {
  if (!trust.replay) return "";
  const Replay& replay = *trust.replay;
  const int digits = 3;
  const double error =
      100 * (replay.predicted - replay.measured).seconds() / replay.measured.seconds();
  const char* direction = error < 0 ? "too fast" : "too slow";
  std::string text =
      fmt::format("{}: measured {}{}, replayed {}", of, time_text(replay.measured, digits),
                  spread_text(replay, digits), time_text(replay.predicted, digits));
  if (std::abs(error) < 0.05) {
    text += " (reproduced).";
  } else {
    text += fmt::format(" ({} {}).", percent_text(std::abs(error)), direction);
    if (trust.correction) text += explanations(*trust.correction);
  }
  return wrapped(text, style.width, kIndent);
}

std::string interval_line(const Confidence& confidence, Duration predicted,
                          const TerminalStyle& style, std::string_view of) {
  constexpr int kIntervalDigits = 3;  // as in tables
  const TimeUnit unit = unit_for(predicted);
  std::vector<std::string> parts = {
      fmt::format(
          "80 % interval {}: {} {}", of,
          time_interval(predicted.scaled(1 + confidence.low_percent / 100),
                        predicted.scaled(1 + confidence.high_percent / 100), kIntervalDigits, unit),
          name_of(unit)),
      confidence.provenance};
  // If a measurement would help, next_measurement() names the source.
  const std::vector<Sensitivity> named = worth_naming(confidence);
  if (!named.empty() && !confidence.measure_next)
    parts.push_back(fmt::format("most of it from {}", phrase_of(named.front().source)));
  std::erase(parts, "");
  return wrapped(fmt::format("{}.", fmt::join(parts, "; ")), style.width, kIndent);
}

std::string interval_reasons(const Confidence& confidence, const TerminalStyle& style) {
  std::string lines = wrapped(
      fmt::format("Why the interval runs from {} to {}:", signed_percent(confidence.low_percent),
                  signed_percent(confidence.high_percent)),
      style.width, kIndent);
  for (const Sensitivity& one : worth_naming(confidence))
    lines += wrapped(fmt::format("  {}: {} to {}", phrase_of(one.source),
                                 signed_percent(100 * (one.low / confidence.predicted)),
                                 signed_percent(100 * (one.high / confidence.predicted))),
                     style.width, 2 * kIndent);
  for (const std::string& reason : confidence.because)
    lines += wrapped("  " + printable(reason), style.width, 2 * kIndent);
  return lines;
}

std::string next_measurement(const Confidence& confidence, const TerminalStyle& style) {
  const auto& next = confidence.measure_next;
  if (!next) return "";
  return wrapped(fmt::format("Measure next ({}): {}; then {}", phrase_of(next->source),
                             printable(next->command), printable(next->then)),
                 style.width, kIndent);
}

void add_warnings(Page& page, const Warnings& warnings, const TerminalStyle& style) {
  std::size_t said = 0;
  for (const std::string& warning : warnings.texts())
    page.add(said++ < warnings.overturning() ? Weight::verdict : Weight::warning,
             wrapped("warning: " + printable(warning), style.width, kIndent));
}

std::string warning_lines(const Warnings& warnings, const TerminalStyle& style) {
  Page lines;
  add_warnings(lines, warnings, style);
  return after_blank(lines.text({}));
}

std::string after_blank(const std::string& lines) {
  return lines.empty() ? "" : '\n' + lines;
}

std::string hint_line(const std::string& next_command, const TerminalStyle& style) {
  if (next_command.empty()) return "";
  return '\n' + dim("Next: " + printable(next_command), style) + '\n';
}

}  // namespace ddpsim
