#include "ddpsim/reports/reports.hpp"
#include "json_parts.hpp"
#include "report_lines.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_lead(JsonWriter& json, const Lead& lead) {
  json.begin_object(Layout::line);
  json.key("value").ratio(lead.percent);
  json.key("low").ratio(lead.low_percent);
  json.key("high").ratio(lead.high_percent);
  json.end_object();
}

void write_job(JsonWriter& json, const ComparedJob& job, std::size_t index,
               const std::vector<ReportContext>& contexts) {
  const ReportContext& context = contexts[index];
  const StepTimes& times = job.times;
  json.begin_object();
  json.key("cluster").string(context.cluster);
  json.key("ranks").integer(context.ranks);
  json.key("compute_scale").number(context.compute_scale);
  json.key("rank_slowdown").number(context.rank_slowdown);
  json.key("iteration_us").time(times.iteration);
  json.key("alone_us").time(job.times.alone());
  json.key("scaling_efficiency").ratio(job.efficiency());
  json.key("samples_per_second").ratio(context.samples_per_second(times.iteration));
  json.key("exposed_communication_us").time(times.exposed_communication);
  json.key("exposed_share").ratio(times.exposed_communication / times.iteration);
  json.key("blocking_communication_us").time(times.blocking_communication());
  json.key("blocking_share").ratio(times.blocking_communication() / times.iteration);
  write_loss(json, times.loss, job.confidence);
  json.key("best_cap");
  if (job.best_cap)
    write_recommendation(json, *job.best_cap);
  else
    json.null();
  write_memory(json, context.memory);
  json.key("calibrated_by_recording").boolean(context.calibrated_by_recording);
  write_confidence(json, job.confidence);
  if (context.replay) {
    json.key("replay");
    write_replay(json, context);
  }
  if (job.corrected_by) json.key("corrected_by").string(contexts[*job.corrected_by].cluster);
  json.key("behind_percent");
  write_lead(json, job.behind);
  json.end_object();
}

void write_not_compared(JsonWriter& json, const NotCompared& job) {
  json.begin_object();
  json.key("cluster").string(job.cluster);
  json.key("ranks").integer(job.ranks);
  json.key("error").string(job.error);
  write_memory(json, job.memory);
  json.end_object();
}

}  // namespace

std::string compare_json(const Comparison& comparison, const std::vector<ReportContext>& contexts,
                         const std::vector<NotCompared>& not_compared) {
  const ReportContext& shared = contexts.front();
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.compare/1");
  json.key("workload").string(shared.workload);
  write_versions(json, shared);
  json.key("bucket_setting").string(shared.bucket_setting);
  json.key("rows").begin_array();
  for (std::size_t i = 0; i < comparison.jobs.size(); ++i)
    write_job(json, comparison.jobs[i], i, contexts);
  for (const NotCompared& job : not_compared) write_not_compared(json, job);
  json.end_array();
  json.key("by_speed").indices(comparison.by_speed);
  // Whether the fastest is so in every world that may be the true one.
  bool certain = true;
  for (std::size_t k = 1; k < comparison.by_speed.size(); ++k)
    certain = certain && comparison.jobs[comparison.by_speed[k]].behind.certain();
  json.key("fastest_is_certain").boolean(certain);
  const std::size_t beside = beside_recording(contexts);
  write_recorded(json, contexts[beside].recorded);
  json.key("recorded_row");
  if (contexts[beside].recorded)
    json.count(beside);
  else
    json.null();
  json.key("warnings").strings(shared.warnings);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
