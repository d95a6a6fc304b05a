#include "scheme_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ddpsim/sim/values/data_loader.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "job_words.hpp"
#include "text_layout.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostCollectives = 24;
constexpr std::size_t kCollectivesAtStart = 12;
constexpr std::size_t kUnitWidth = 30;

struct Carried {
  CollectiveKind kind;
  std::size_t count = 0;
  Bytes bytes;
};

/// Count and bytes of the collectives by kind, in order of first appearance.
std::vector<Carried> carried(const StepResult& step) {
  std::vector<Carried> kinds;
  for (const CollectiveResult& collective : step.collectives) {
    auto found = std::ranges::find(kinds, collective.kind, &Carried::kind);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {.kind = collective.kind});
    ++found->count;
    found->bytes += collective.bytes;
  }
  return kinds;
}

}  // namespace

std::string scheme_text(const Scheme& scheme) {
  std::vector<std::string> options;
  for (const auto& [key, value] : options_of(scheme))
    options.push_back(fmt::format("{}={}", key, value));
  if (options.empty()) return std::string(name_of(scheme));
  return fmt::format("{}: {}", name_of(scheme), fmt::join(options, ", "));
}

std::string scheme_lines(const StepResult& step, int digits, const TerminalStyle& style) {
  std::vector<std::string> parts;
  for (const Carried& kind : carried(step))
    parts.push_back(fmt::format("{} {}{} of {}{}", kind.count, name_of(kind.kind),
                                kind.count == 1 ? "" : "s", rounded_size_text(kind.bytes),
                                kind.count == 1 ? "" : " together"));
  if (parts.empty()) return "";
  const StepTimes& times = step.times;
  std::string stale;
  if (step.staleness)
    stale = fmt::format(
        " {} workers make {:.4g} updates a second together. The parameters of a worker are {:.4g} "
        "updates old on average (median {}, 95th percentile {}, at most {}; a simulation of {} "
        "updates, which says nothing about convergence).",
        step.staleness->workers, step.staleness->updates_per_second, step.staleness->mean,
        step.staleness->p50, step.staleness->p95, step.staleness->max, step.staleness->updates);
  return wrapped(fmt::format("A step runs {}. The GPU waits {} for them in forward, {} in backward "
                             "and at its end, {} after the optimizer.{}",
                             fmt::join(parts, ", "), time_text(times.exposed_in_forward, digits),
                             time_text(times.exposed_backward(), digits),
                             time_text(times.exposed_in_optimizer, digits), stale),
                 style.width, kIndent);
}

std::string offload_lines(const ReportContext& context, const std::optional<PeakMemory>& memory,
                          const StepTimes& times, int digits, const TerminalStyle& style,
                          const std::string& whose) {
  const Scheme* scheme = asked_scheme(context);
  const CpuOffload* offload = scheme == nullptr ? nullptr : offload_of(*scheme);
  if (offload == nullptr) return "";
  std::string text = whose;
  if (offload->optimizer) {
    text += fmt::format(
        "The optimizer takes {} on the host, which reads and writes {:.3g} GB/s{}",
        time_text(times.optimizer, digits), offload->cpu_rate.gigabytes_per_second(),
        offload->cpu_rate_assumed ? " (assumed and worth measuring: cpu_rate=GB/s)" : "");
    if (offload->cpu_rate_assumed && offload->cpu_rate == kOneThreadOfHost)
      text += ", with OMP_NUM_THREADS=1 as torchrun sets it";
    if (!offload->fused)
      text += "; a fused optimizer (fused=true) reads and writes everything only once";
    text += ". ";
  }
  text += fmt::format(
      "Copies to the host and back run at {:.3g} GB/s of PCIe per GPU; they and the host add {} to "
      "the step.",
      offload->pcie.value_or(kHostCopy).gigabytes_per_second(),
      time_text(times.loss[LossCause::offload], digits));
  if (memory)
    text += fmt::format(" A rank keeps {} in its host's memory.", rounded_size_text(memory->host));
  return wrapped(text, style.width, kIndent);
}

std::string collective_table(const StepResult& step, Backend backend, int digits,
                             const TerminalStyle& style) {
  if (step.collectives.empty()) return "";
  const TimeUnit unit = unit_for(step.times.iteration);
  // Times that differ by this share of the step must be printed differently.
  constexpr double kApart = 0.01;
  std::vector<Duration> instants;
  for (const CollectiveResult& collective : step.collectives)
    for (const TimePoint instant : {collective.ready, collective.start, collective.end})
      instants.push_back(instant.since_start());
  const int instant_digits =
      digits_apart(std::move(instants), digits, step.times.iteration.scaled(kApart), unit);
  const auto time = [&](TimePoint t) { return time_number(t.since_start(), instant_digits, unit); };
  Table table({{"unit"},
               {"collective"},
               {"phase", Align::left, 3},
               {"MiB", Align::right},
               {"ready", Align::decimal, 2},
               {"start", Align::decimal},
               {"end", Align::decimal},
               {"transfer", Align::decimal, 1},
               {backend == Backend::gloo ? "gloo" : "NCCL", Align::left, 4}});
  const std::size_t count = step.collectives.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (style.most_lines > 0 && count > kMostCollectives && i == kCollectivesAtStart) {
      const std::size_t skipped = count - kMostCollectives + 1;
      table.add_row({fmt::format("… {} more", skipped), "", "", "", "", "", "", "", ""});
      i += skipped - 1;
      continue;
    }
    const CollectiveResult& collective = step.collectives[i];
    const auto& choice = collective.choice;
    table.add_row({shortened_middle(printable(collective.unit), kUnitWidth),
                   std::string(name_of(collective.kind)), std::string(name_of(collective.phase)),
                   mebibytes(collective.bytes), time(collective.ready), time(collective.start),
                   time(collective.end),
                   time_number(collective.end - collective.last_arrival, digits, unit),
                   choice ? fmt::format("{} {} x{}", name_of(choice->algorithm),
                                        name_of(choice->protocol), choice->channels)
                          : (backend == Backend::gloo ? "ring" : "-")});
  }
  return wrapped(fmt::format("Collectives in launch order, times in {} from the start of forward "
                             "(ready: the data exists and there is room for the result):",
                             name_of(unit)),
                 style.width, kIndent) +
         table.text(style);
}

}  // namespace ddpsim
