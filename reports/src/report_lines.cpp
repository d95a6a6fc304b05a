#include "report_lines.hpp"

#include <fmt/format.h>

#include <cmath>

#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kIndent = 2;

std::string signed_percent(double percent) {
  const std::string text = significant(std::abs(percent), 2);
  return fmt::format("{}{} %", percent < 0 ? "-" : "+", text);
}

}  // namespace

std::string subject(const ReportContext& context) {
  return fmt::format("{} on {}, {}", printable(context.workload), printable(context.cluster),
                     counted(static_cast<std::uint64_t>(context.ranks), "GPU"));
}

std::string setting_line(const ReportContext& context, const TerminalStyle& style) {
  const std::string library =
      context.backend == Backend::gloo ? std::string("gloo") : "NCCL " + to_string(context.nccl);
  std::string text =
      fmt::format("PyTorch {}, {}, {} network", to_string(context.torch), library, context.network);
  if (!context.bucket_setting.empty()) text += "; buckets: " + printable(context.bucket_setting);
  if (context.compute_scale != 1) {
    text += fmt::format("; compute {} times as fast as recorded",
                        significant(context.compute_scale, 3));
  }
  for (const Straggler& straggler : context.variation.stragglers)
    text += fmt::format("; rank {} takes {} times as long", straggler.rank, straggler.slowdown);
  if (context.variation.stagger > Duration())
    text += fmt::format("; starts staggered over {}", time_text(context.variation.stagger, 3));
  if (context.variation.jitter > 0)
    text += fmt::format("; jitter {} of each rank's compute, log-normal, seed {}",
                        percent_text(100 * context.variation.jitter), context.variation.seed);
  std::string lines = wrapped(text, style.width, kIndent);
  lines.pop_back();
  return dim(lines, style) + '\n';
}

std::string replay_line(const ReportContext& context, const TerminalStyle& style) {
  if (!context.replay) return "";
  const Replay& replay = *context.replay;
  const int digits = 3;  // a measurement is as good as it was given
  const double error =
      100 * (replay.predicted - replay.measured).seconds() / replay.measured.seconds();
  const char* direction = error < 0 ? "too fast" : "too slow";
  std::string text =
      fmt::format("Today: measured {}, replayed {}", time_text(replay.measured, digits),
                  time_text(replay.predicted, digits));
  if (std::abs(error) < 0.05) {
    text += " (reproduced).";
  } else {
    text += fmt::format(" ({} {}).", percent_text(std::abs(error)), direction);
  }
  return wrapped(text, style.width, kIndent);
}

std::string confidence_line(const ReportContext& context, Duration predicted,
                            const TerminalStyle& style) {
  const Confidence& confidence = context.confidence;
  const int digits = digits_of(confidence.grade);
  const TimeUnit unit = unit_for(predicted);
  std::string text =
      fmt::format("Confidence {}: {} {} ({} to {})", name_of(confidence.grade),
                  time_interval(predicted.scaled(1 + confidence.low_percent / 100),
                                predicted.scaled(1 + confidence.high_percent / 100), digits, unit),
                  name_of(unit), signed_percent(confidence.low_percent),
                  signed_percent(confidence.high_percent));
  const char* separator = ": ";
  for (const std::string& reason : confidence.because) {
    text += separator + printable(reason);
    separator = "; ";
  }
  std::string lines = wrapped(text + '.', style.width, kIndent);
  if (const auto& next = confidence.measure_next)
    lines += wrapped(fmt::format("Measure next ({}): {}; then {}", printable(next->source),
                                 printable(next->command), printable(next->then)),
                     style.width, kIndent);
  return lines;
}

std::string warning_lines(const ReportContext& context, const TerminalStyle& style) {
  std::string lines;
  for (const std::string& warning : context.warnings) {
    lines += wrapped("warning: " + printable(warning), style.width, kIndent);
  }
  return lines.empty() ? "" : '\n' + lines;
}

std::string hint_line(const ReportContext& context, const TerminalStyle& style) {
  if (context.next_command.empty()) return "";
  return '\n' + dim("Next: " + printable(context.next_command), style) + '\n';
}

}  // namespace ddpsim
