#include "compare_json.hpp"

#include "cost_lines.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/ddp/scheme_notes.hpp"
#include "ddpsim/sim/step/compute_speed.hpp"
#include "error_source.hpp"
#include "job_words.hpp"
#include "json_parts.hpp"
#include "recorded_lines.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_choice(JsonWriter& json, const CollectiveChoice& choice) {
  json.begin_object(Layout::line);
  json.key("algorithm").string(name_of(choice.algorithm));
  json.key("protocol").string(name_of(choice.protocol));
  json.key("channels").integer(choice.channels);
  json.end_object();
}

void write_cost_of_job(JsonWriter& json, const CompareReport& report, std::size_t index) {
  write_cost(json, report.costs, index, [&](const CandidateCost& cost) {
    const FigureRange& usd = cost.usd_per_work;
    const double work_of_step = report.comparison.jobs[index].times.iteration.seconds() /
                                report.comparison.jobs[index].work->expected;
    constexpr double kThousand = 1000;
    constexpr double kMillion = 1e6;
    write_range(json, "usd_per_1000_steps", usd.times(kThousand * work_of_step));
    if (counts_samples(report)) write_range(json, "usd_per_million_samples", usd.times(kMillion));
    if (const auto tokens = tokens_of_sample(report))
      write_range(json, "usd_per_million_tokens", usd.times(kMillion / *tokens));
    if (!report.training) return;
    write_range(json, "usd", usd.times(report.training->samples));
    write_range(json, "seconds", cost.seconds_per_work.times(report.training->samples));
  });
}

void write_job(JsonWriter& json, const CompareReport& report, std::size_t index) {
  const ComparedJob& job = report.comparison.jobs[index];
  const std::vector<CandidateContext>& contexts = report.contexts;
  const CandidateContext& context = contexts[index];
  const StepTimes& times = job.times;
  json.begin_object();
  json.key("label").string(cluster_name(context));
  json.key("cluster").string(context.provenance.cluster_source);
  json.key("ranks").integer(context.job.cluster().ranks());
  json.key("changed_numerics").string_or_null(changed_numerics(context.job));
  json.key("compute_scale").number(context.job.options().compute_scale);
  json.key("rank_slowdown").number(slowdown_shares(context.job).slowdown());
  json.key("iteration_us").time(times.iteration);
  json.key("alone_us").time(job.times.alone());
  described_speed().write_members(json, training_speed(step_work(context.job), times));
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
  write_elastic(json, context.elastic);
  json.key("calibrated_by_recording").boolean(context.provenance.calibrated_by_recording);
  described_confidence().write_members(json, job.confidence);
  if (context.trust.replay) {
    json.key("replay");
    described_replay().write(json, context.trust);
  }
  if (job.corrected_by) json.key("corrected_by").string(cluster_name(contexts[*job.corrected_by]));
  json.key("behind_percent");
  write_speedup(json, job.behind);
  write_speedup_reasons(json, job.behind);
  write_cost_of_job(json, report, index);
  json.end_object();
}

void write_stretches(JsonWriter& json, const char* key,
                     const std::vector<NamedStretch>& stretches) {
  json.key(key).begin_array(Layout::line);
  for (const NamedStretch& stretch : stretches) {
    json.begin_object(Layout::line);
    json.key("from").number(stretch.from_value);
    json.key("to").number(stretch.to_value);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_speedup(JsonWriter& json, const Speedup& speedup) {
  json.begin_object(Layout::line);
  json.key("value").ratio(speedup.percent);
  json.key("low").ratio(speedup.low_percent);
  json.key("high").ratio(speedup.high_percent);
  json.end_object();
}

void write_speedup_reasons(JsonWriter& json, const Speedup& speedup) {
  json.key("behind_sources").begin_array();
  for (const SpeedupSource& source : speedup.sources) {
    json.begin_object(Layout::line);
    json.key("source").string(name_of(source.source));
    if (source.workload) json.key("workload").count(*source.workload);
    json.key("low_percent").ratio(source.low_percent);
    json.key("high_percent").ratio(source.high_percent);
    json.key("changes_order").boolean(source.changes_order());
    json.end_object();
  }
  json.end_array();
  json.key("same").boolean(speedup.same);
  json.key("never_slower").boolean(speedup.never_slower);
  if (!speedup.other_choice) return;
  json.key("upgrade_is_slower").boolean(speedup.dominating_is_slower);
  json.key("other_choice").begin_object();
  json.key("bytes").integer(speedup.other_choice->size.count());
  json.key("here");
  write_choice(json, speedup.other_choice->on_other);
  json.key("on_fastest");
  write_choice(json, speedup.other_choice->on_faster);
  json.end_object();
}

void write_range(JsonWriter& json, const char* key, const FigureRange& range) {
  json.key(key).begin_object(Layout::line);
  json.key("value").number(range.value);
  json.key("low").number(range.low);
  json.key("high").number(range.high);
  json.end_object();
}

void write_cost(JsonWriter& json, const std::optional<Costs>& costs, std::size_t index,
                const std::function<void(const CandidateCost&)>& amounts) {
  if (!costs) return;
  json.key("cost");
  const std::optional<CandidateCost>& cost = costs->candidates[index];
  if (!cost) {
    json.null();
    return;
  }
  json.begin_object();
  json.key("price").begin_object();
  json.key("usd").number(cost->price.usd);
  json.key("per").string(name_of(cost->price.per));
  json.key("terms").string(cost->price.terms);
  json.key("as_of").string(cost->price.as_of);
  json.key("source").string(cost->price.source);
  json.end_object();
  json.key("usd_per_hour").number(cost->usd_per_hour);
  json.key("goodput").ratio(cost->goodput.share);
  json.key("checkpoint_every_s").number(cost->goodput.checkpoint_every_seconds);
  amounts(*cost);
  json.key("dearer_percent");
  write_speedup(json, cost->dearer);
  json.key("frontier").boolean(cost->frontier);
  json.end_object();
}

void write_until(JsonWriter& json, const std::vector<Until>& all) {
  if (all.empty()) return;
  json.key("until").begin_array();
  for (const Until& until : all) {
    json.begin_object();
    json.key("condition").string(until.condition);
    json.key("range").string_or_null(until.range);
    if (!until.candidate.empty()) json.key("candidate").string(until.candidate);
    if (!until.workload.empty()) json.key("workload").string(until.workload);
    write_stretches(json, "predicted", until.predicted);
    write_stretches(json, "possible", until.possible);
    write_stretches(json, "certain", until.certain);
    if (!until.range.empty()) {
      json.key("asked").count(until.asked);
      json.key("without_answer").count(until.without_answer);
    }
    json.end_object();
  }
  json.end_array();
}

void write_not_compared(JsonWriter& json, const NotCompared& job) {
  json.begin_object();
  json.key("label").string(job.label);
  json.key("cluster").string(job.cluster_text);
  json.key("ranks");
  if (job.ranks)
    json.integer(*job.ranks);
  else
    json.null();
  json.key("error").string(job.error);
  write_memory(json, job.memory);
  json.end_object();
}

void write_comparison(JsonWriter& json, const CompareReport& report) {
  const Comparison& comparison = report.comparison;
  const std::vector<CandidateContext>& contexts = report.contexts;
  const ReportContext& shared = contexts.front();
  json.key("workload").string(workload_name(shared));
  described_versions().write_members(json, shared);
  json.key("bucket_setting").string(bucket_setting(shared.job));
  if (report.global_batch) json.key("global_batch").integer(*report.global_batch);
  if (report.training) json.key("samples").number(report.training->samples);
  json.key("rows").begin_array();
  for (std::size_t i = 0; i < comparison.jobs.size(); ++i) write_job(json, report, i);
  for (const NotCompared& job : report.not_compared) write_not_compared(json, job);
  json.end_array();
  json.key("by_speed").indices(comparison.by_speed);
  if (report.costs) json.key("by_cost").indices(report.costs->by_cost);
  write_until(json, report.until);
  // Whether the fastest is so in every world that may be the true one.
  bool certain = true;
  for (std::size_t k = 1; k < comparison.by_speed.size(); ++k)
    certain = certain && comparison.jobs[comparison.by_speed[k]].behind.certain();
  json.key("fastest_is_certain").boolean(certain);
  const std::size_t beside = beside_recording(contexts);
  write_recorded(json, contexts[beside].provenance.recorded);
  json.key("recorded_row");
  if (contexts[beside].provenance.recorded)
    json.count(beside);
  else
    json.null();
  json.key("warnings").strings(shared.trust.warnings.texts());
}

std::string compare_json(const CompareReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string(kCompareSchema);
  write_comparison(json, report);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
