#include "scheme_advice.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "exit_code.hpp"
#include "job_report.hpp"
#include "report_documents.hpp"
#include "terminal_progress.hpp"

namespace ddpsim {
namespace {

void require_settings_of(const OutputArguments& output, const Scheme& scheme) {
  const char* asked = output.plan ? "--export" : output.plot ? "--plot" : nullptr;
  if (asked != nullptr)
    throw UsageError(
        fmt::format("{}: of DistributedDataParallel's buckets and hooks, and --scheme {} "
                    "has none; what to write is in the answer itself",
                    asked, name_of(scheme)));
}

}  // namespace

int advise_scheme(BuiltJob& loaded, TypedLine typed, const OutputArguments& output, int threads,
                  const char* command) {
  const Job& job = loaded.job;
  const Scheme& scheme = job.options().scheme;
  require_settings_of(output, scheme);
  if (!facts_of(scheme).has_settings)
    throw UsageError(fmt::format(
        "--scheme {}: {} knows no lever of it; ask `ddpsim compare WORKLOAD CLUSTER --scheme ddp "
        "--scheme {}`, with each setting one --scheme",
        name_of(scheme), command, name_of(scheme)));
  require_simulatable(loaded);
  const CountedMemory memory = count_memory(loaded);

  Trust& trust = loaded.trust;
  const Job measured = replay_current(loaded, job);
  AdviseOptions options;
  options.caps = false;
  options.tuning.threads = threads;
  options.tuning.replay = trust.replay;
  TerminalProgress progress("settings", TerminalProgress::Interrupt::ends);
  options.tuning.progress = &progress;
  // A model is sharded because it does not fit: what does not, on a GPU that is known, is no advice.
  options.memory = loaded.memory;
  if (!options.memory && job.cluster().gpu.memory > Bytes())
    options.memory = job.cluster().gpu.memory;
  Advice advice = advise(job, options);
  const StepTimes times = simulate_times(measured);
  trust.confidence = assess(measured, times, trust.replay, std::nullopt, threads);
  const std::string again = typed.for_command(command);
  typed.set("--timeline", "step.pftrace");
  const AdviceReport report{.context = context_of(loaded),
                            .advice = std::move(advice),
                            .step = reported_step(measured, times),
                            .would_fit = memory.remedy,
                            .next_command = typed.for_command("simulate")};
  deliver({.json = [&] { return advice_json(report); },
           .text = [&](const TerminalStyle& style) { return advice_text(report, style); },
           .csv = [&] { return advice_csv(report.advice); },
           .command = again,
           .documents =
               [&] {
                 std::vector<ReportDocument> all =
                     step_documents(step_report(loaded, memory.peak, simulate(measured)));
                 all.push_back({"advice", advice_json(report)});
                 return all;
               }},
          output);
  return kOk;
}

}  // namespace ddpsim
