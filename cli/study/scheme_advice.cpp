#include "scheme_advice.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "exit_code.hpp"
#include "report_documents.hpp"
#include "settings_search.hpp"

namespace ddpsim {
namespace {

void require_settings_of(const OutputArguments& output, const Scheme& scheme) {
  const char* asked = output.plan ? "--export" : output.plot ? "--plot" : nullptr;
  if (asked != nullptr)
    throw UsageError(asked,
                     fmt::format("this option is about DDP's buckets and hooks, which --scheme {} "
                                 "does not have; the answer itself has the code to write",
                                 name_of(scheme)));
}

}  // namespace

int advise_scheme(BuiltJob& loaded, TypedLine typed, const OutputArguments& output, int threads,
                  const char* command) {
  const Job& job = loaded.job;
  const Scheme& scheme = job.options().scheme;
  require_settings_of(output, scheme);
  if (!facts_of(scheme).has_settings)
    throw UsageError(fmt::format("--scheme {}", name_of(scheme)),
                     fmt::format("{} knows no settings of this scheme", command),
                     fmt::format("Run `ddpsim compare WORKLOAD CLUSTER --scheme ddp --scheme {}`, "
                                 "with one --scheme for each setting",
                                 name_of(scheme)));
  require_simulatable(loaded);
  const CountedMemory memory = count_memory(loaded);

  SettingsSearch search(loaded, threads);
  AdviseOptions options{.tuning = search.options(), .memory = loaded.memory, .caps = false};
  // Models are sharded because they do not fit, so settings that do not fit a known GPU are not advised.
  if (!options.memory && job.cluster().gpu.memory > Bytes())
    options.memory = job.cluster().gpu.memory;
  Advice advice = advise(job, options);
  const ReportedStep step = search.assess_current();
  const std::string again = typed.for_command(command);
  typed.set("--timeline", "step.pftrace");
  const AdviceReport report{.context = context_of(loaded),
                            .advice = std::move(advice),
                            .step = step,
                            .would_fit = memory.remedy,
                            .next_command = typed.for_command("simulate")};
  deliver(advice_answer(report, again,
                        [&] {
                          return step_documents(
                              step_report(loaded, memory.peak, simulate(search.current())));
                        }),
          output);
  return kOk;
}

}  // namespace ddpsim
