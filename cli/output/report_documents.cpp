#include "report_documents.hpp"

#include <utility>

#include "ddpsim/sim/certainty/recorded_all_reduces.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/tune/recorded_job.hpp"
#include "ddpsim/traces/recorded_timeline.hpp"
#include "measured_timeline.hpp"

namespace ddpsim {
namespace {

/// Returns the job with the recommended bucket settings.
Job as_recommended(const Job& current, const Recommendation& recommended) {
  SimulationOptions options = current.options();
  options.buckets.reset();
  DdpOptions& ddp = options.ddp_to_set();
  ddp.bucket_cap_mb = recommended.bucket_cap_mb;
  ddp.first_bucket_mb = recommended.first_bucket_mb;
  return current.with(std::move(options));
}

void append(std::vector<ReportDocument>& documents, std::vector<ReportDocument> more) {
  for (ReportDocument& document : more) documents.push_back(std::move(document));
}

}  // namespace

SimulateReport step_report(const BuiltJob& loaded, const PeakMemory& memory,
                           SimulationResult result) {
  ReportedStep step = reported_step(loaded.job, result.times());
  return {
      .context = context_of(loaded), .result = std::move(result), .step = step, .memory = memory};
}

std::vector<ReportDocument> step_documents(const SimulateReport& step, const std::string& prefix) {
  return {{prefix + "result", result_json(step)},
          {prefix + "timeline", timeline_json(described(step.result, step.context.job))}};
}

std::optional<Timeline> recorded_step(const BuiltJob& loaded) {
  const Workload& workload = loaded.job.workload();
  if (!is_recorded_on(workload, loaded.job.cluster())) return std::nullopt;
  return recorded_timeline(workload);
}

std::vector<ReportDocument> recorded_documents(const BuiltJob& loaded) {
  const std::optional<Timeline> recorded = recorded_step(loaded);
  if (!recorded) return {};
  return {{"recorded_timeline", timeline_json(*recorded)}};
}

std::vector<ReportDocument> current_steps(const Job& current, const BuiltJob& loaded,
                                          const PeakMemory& memory) {
  std::vector<ReportDocument> documents =
      step_documents(step_report(loaded, memory, simulate(current)));
  append(documents, recorded_documents(loaded));
  return documents;
}

std::vector<ReportDocument> tuned_steps(const Job& current, const Recommendation& recommended,
                                        const BuiltJob& loaded, const PeakMemory& memory) {
  std::vector<ReportDocument> documents = current_steps(current, loaded, memory);
  if (recommended.set)
    append(documents, step_documents(step_report(loaded, memory,
                                                 simulate(as_recommended(current, recommended))),
                                     "recommended_"));
  return documents;
}

}  // namespace ddpsim
