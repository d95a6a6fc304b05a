#include "scheme_advice.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "exit_code.hpp"
#include "job_warnings.hpp"
#include "report_documents.hpp"
#include "terminal_progress.hpp"
#include "usage_error.hpp"

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

int advise_scheme(LoadedJob& loaded, TypedLine typed, const OutputArguments& output, int threads,
                  const char* command) {
  const Job& job = loaded.job;
  const Scheme& scheme = job.options().scheme;
  require_settings_of(output, scheme);
  if (!has_settings(scheme))
    throw UsageError(fmt::format(
        "--scheme {}: {} knows no lever of it; ask `ddpsim compare WORKLOAD CLUSTER --scheme ddp "
        "--scheme {}`, with each setting one --scheme",
        name_of(scheme), command, name_of(scheme)));
  require_simulatable(loaded);
  count_memory(loaded);

  ReportContext& context = loaded.context;
  const Job measured = replay_current(loaded, job);
  AdviseOptions options;
  options.caps = false;
  options.tuning.threads = threads;
  options.tuning.replay = context.replay;
  TerminalProgress progress("settings", TerminalProgress::Interrupt::ends);
  options.tuning.progress = &progress;
  // A model is sharded because it does not fit: what does not, on a GPU that is known, is no advice.
  options.memory = loaded.memory;
  if (!options.memory && job.cluster().gpu.memory > Bytes())
    options.memory = job.cluster().gpu.memory;
  const Advice advice = advise(job, options);
  describe_current(context, measured, simulate_times(measured), threads);
  const std::string again = typed.for_command(command);
  typed.set("--timeline", "step.pftrace");
  context.next_command = typed.for_command("simulate");

  deliver({.json = [&] { return advice_json(advice, context); },
           .text = [&](const TerminalStyle& style) { return advice_text(advice, context, style); },
           .csv = [&] { return advice_csv(advice); },
           .command = again,
           .documents =
               [&] {
                 std::vector<ReportDocument> all = step_documents(simulate(measured), loaded);
                 all.push_back({"advice", advice_json(advice, context)});
                 return all;
               }},
          output);
  return kOk;
}

}  // namespace ddpsim
