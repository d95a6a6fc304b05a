#include "data_lines.hpp"
#include "ddpsim/models/model_flops.hpp"
#include "ddpsim/reports/reports.hpp"
#include "ddpsim/sim/values/launch_cost.hpp"
#include "elastic_json.hpp"
#include "epoch_lines.hpp"
#include "job_words.hpp"
#include "json_parts.hpp"
#include "timeline_difference_report.hpp"

namespace ddpsim {
namespace {

void write_times(JsonWriter& json, const StepTimes& times) {
  json.key("iteration_us").time(times.iteration);
  json.key("forward_us").time(times.forward);
  json.key("buffer_broadcast_us").time(times.buffer_broadcast);
  json.key("backward_us").time(times.backward);
  json.key("backward_compute_us").time(times.backward_compute);
  json.key("copies_in_us").time(times.copies_in);
  json.key("interference_us").time(times.interference);
  json.key("communication_us").time(times.communication);
  json.key("wait_us").time(times.wait);
  json.key("exposed_communication_us").time(times.exposed_communication);
  json.key("blocking_communication_us").time(times.blocking_communication());
  json.key("overlap").ratio(times.overlap);
  json.key("finalize_us").time(times.finalize);
  json.key("optimizer_us").time(times.optimizer);
  json.key("stall_us").time(times.stall);
  json.key("slowest_gpu_us").time(times.slowest_gpu);
  json.key("unexplained_us").time(times.unexplained);
  if (times.host) {
    json.key("launch_bound_us").time(times.launch_bound);
    json.key("host_us").time(*times.host);
  }
  if (times.sync_batchnorm > Duration()) json.key("sync_batchnorm_us").time(times.sync_batchnorm);
  if (times.model_averaging > Duration())
    json.key("model_averaging_us").time(times.model_averaging);
  if (times.forward_ahead > Duration()) json.key("forward_ahead_us").time(times.forward_ahead);
}

void write_launch_cost(JsonWriter& json, const LaunchCost& cost) {
  json.key("launch_cost").begin_object(JsonWriter::Layout::line);
  json.key("from").string(word_of(cost.from));
  json.key("forward_us").time(cost.each.forward);
  json.key("backward_us").time(cost.each.backward);
  json.key("optimizer_us").time(cost.each.optimizer);
  json.end_object();
}

void write_one_averaging(JsonWriter& json, const ModelAveraging& averaging) {
  json.begin_object(JsonWriter::Layout::line);
  json.key("period").integer(averaging.period);
  json.key("bytes").integer(averaging.bytes.count());
  json.key("whole_us").time(averaging.whole);
  if (!averaging.what.empty()) {
    json.key("what").string(averaging.what);
    json.key("share_of_steps").ratio(averaging.share);
  }
  json.end_object();
}

void write_averaging(JsonWriter& json, const ModelAveraging& averaging) {
  json.key("model_averaging");
  write_one_averaging(json, averaging);
  if (averaging.further.empty()) return;
  json.key("further_model_averaging").begin_array();
  for (const ModelAveraging& other : averaging.further) write_one_averaging(json, other);
  json.end_array();
}

void write_choice(JsonWriter& json, const std::optional<CollectiveChoice>& choice) {
  if (choice) {
    json.key("algorithm").string(name_of(choice->algorithm));
    json.key("protocol").string(name_of(choice->protocol));
    json.key("channels").integer(choice->channels);
  } else {
    json.key("algorithm").null();
    json.key("protocol").null();
    json.key("channels").null();
  }
}

void write_begin(JsonWriter& json, const CollectiveResult& result) {
  json.key("ready_us").time(result.ready);
  json.key("launch_us").time(result.launch);
  json.key("start_us").time(result.start);
  json.key("last_arrival_us").time(result.last_arrival);
}

void write_bucket(JsonWriter& json, std::size_t index, const BucketResult& result) {
  json.begin_object();
  json.key("index").count(index);
  json.key("bytes").integer(result.bucket.bytes.count());
  json.key("parameter_indices").indices(result.bucket.parameters);
  write_begin(json, result);
  json.key("last_rank").integer(result.last_rank);
  json.key("end_us").time(result.end);
  write_choice(json, result.choice);
  json.key("closed_by").string(name_of(result.bucket.closed_by));
  json.key("exposed_because").string_or_null(result.exposed_because);
  if (result.bytes != result.bucket.bytes)  // behind a compression hook
    json.key("wire_bytes").integer(result.bytes.count());
  if (result.all_reduces.size() > 1) {
    json.key("all_reduce_bytes").begin_array();
    for (const Bytes size : result.all_reduces) json.integer(size.count());
    json.end_array();
  }
  json.end_object();
}

void write_collective(JsonWriter& json, const CollectiveResult& result) {
  json.begin_object(JsonWriter::Layout::line);
  json.key("kind").string(name_of(result.kind));
  json.key("unit").string(result.unit);
  json.key("bytes").integer(result.bytes.count());
  write_begin(json, result);
  json.key("end_us").time(result.end);
  json.key("phase").string(name_of(result.phase));
  write_choice(json, result.choice);
  json.end_object();
}

/// Where a scheme was asked for.
void write_scheme(JsonWriter& json, const StepResult& step, const Scheme& scheme) {
  json.key("scheme").begin_object();
  json.key("name").string(name_of(scheme));
  json.key("options").begin_object();
  for (const auto& [key, value] : options_of(scheme)) json.key(key).string(value);
  json.end_object();
  json.end_object();
  json.key("exposed_forward_us").time(step.times.exposed_in_forward);
  json.key("exposed_backward_us").time(step.times.exposed_backward());
  json.key("exposed_optimizer_us").time(step.times.exposed_in_optimizer);
  json.key("collectives").begin_array();
  for (const CollectiveResult& collective : step.collectives) write_collective(json, collective);
  json.end_array();
}

void write_staleness(JsonWriter& json, const Staleness& staleness) {
  json.key("staleness").begin_object();
  json.key("workers").integer(staleness.workers);
  json.key("updates").integer(staleness.updates);
  json.key("mean").number(staleness.mean);
  json.key("p50").integer(staleness.p50);
  json.key("p95").integer(staleness.p95);
  json.key("max").integer(staleness.max);
  json.key("updates_per_second").number(staleness.updates_per_second);
  json.end_object();
}

/// `scheme`: null where nobody asked for one.
void write_step(JsonWriter& json, const StepResult& step, const Scheme* scheme) {
  write_times(json, step.times);
  if (scheme != nullptr) write_scheme(json, step, *scheme);
  json.key("buckets").begin_array();
  for (std::size_t i = 0; i < step.buckets.size(); ++i) write_bucket(json, i, step.buckets[i]);
  json.end_array();
  if (step.averaging) write_averaging(json, *step.averaging);
  if (step.staleness) write_staleness(json, *step.staleness);
  if (step.data) write_data(json, *step.data);
  if (step.epoch) write_epoch(json, *step.epoch);
  if (step.joined) write_joined(json, *step.joined);
  json.key("events").count(step.events);
}

void write_statistics(JsonWriter& json, const IterationStatistics& statistics) {
  json.key("iteration_statistics").begin_object();
  json.key("first_iteration").integer(statistics.first);
  json.key("count").integer(statistics.count);
  json.key("mean_us").time(statistics.mean.iteration);
  json.key("p50_us").time(statistics.p50);
  json.key("p95_us").time(statistics.p95);
  json.key("p99_us").time(statistics.p99);
  json.end_object();
}

void write_rank_waits(JsonWriter& json, const std::vector<RankWait>& ranks) {
  json.key("rank_waits").begin_array();
  for (const RankWait& rank : ranks) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("rank").integer(rank.rank);
    json.key("wait_us").time(rank.wait);
    json.key("times_last").integer(rank.times_last);
    json.key("caused_wait_us").time(rank.caused);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string result_json(const SimulateReport& report) {
  const ReportContext& context = report.context;
  const SimulationResult& result = report.result;
  const Scheme* scheme = asked_scheme(context);
  const std::optional<Launches>& launches = context.job.workload().launches;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.result/1");
  write_setting(json, context);
  write_step(json, result.step, scheme);
  json.key("alone_us").time(result.step.times.alone());
  write_speed(json, training_speed(step_work(context.job), result.step.times));
  write_budget(json, report.step.budget);
  write_loss(json, result.step.times.loss, context.trust.confidence);
  if (launches) write_launch_cost(json, launch_cost(*launches, context.job.options()));
  write_memory(json, report.memory);
  write_elastic(json, report.elastic);
  write_recorded(json, context.provenance.recorded);
  write_trust(json, context);
  if (report.measured) {
    json.key("measured");
    write_difference(json, *report.measured);
  }
  if (report.iteration_if_alike) json.key("iteration_if_alike_us").time(*report.iteration_if_alike);
  if (result.statistics) write_statistics(json, *result.statistics);
  if (!result.ranks.empty()) write_rank_waits(json, result.ranks);
  if (!result.iterations.empty()) {
    json.key("iterations").begin_array();
    for (const StepResult& step : result.iterations) {
      json.begin_object();
      json.key("iteration").integer(step.iteration);
      write_step(json, step, scheme);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
