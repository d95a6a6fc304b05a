#include "json_parts.hpp"

#include <fmt/format.h>

#include "ddpsim/sim/step/compute_speed.hpp"
#include "error_source.hpp"
#include "job_words.hpp"

namespace ddpsim {
namespace {

void write_explanation(JsonWriter& json, Cause cause, const Explanation& explanation) {
  const StepTimes& times = explanation.times;
  json.begin_object(JsonWriter::Layout::line);
  json.key("cause").string(name_of(cause));
  json.key("compute_factor").ratio(explanation.compute);
  json.key("collectives_factor").ratio(explanation.collectives);
  json.key("iteration_us").time(times.iteration);
  json.key("forward_us").time(times.forward);
  json.key("backward_us").time(times.backward);
  json.key("exposed_communication_us").time(times.exposed_communication);
  json.key("blocking_communication_us").time(times.blocking_communication());
  json.key("overlap").ratio(times.overlap);
  json.end_object();
}

void write_variation(JsonWriter& json, const RankVariation& variation) {
  json.key("variation").begin_object();
  json.key("stragglers").begin_array();
  for (const Straggler& straggler : variation.stragglers) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("rank").integer(straggler.rank);
    json.key("slowdown").number(straggler.slowdown);
    json.end_object();
  }
  json.end_array();
  json.key("jitter").number(variation.jitter);
  json.key("stagger_us").time(variation.stagger);
  json.key("seed").count(variation.seed);
  json.end_object();
}

void write_iterations(JsonWriter& json, const std::optional<StepSpread>& spread) {
  if (!spread) {
    json.null();
    return;
  }
  json.begin_object(JsonWriter::Layout::line);
  json.key("steps").count(spread->steps);
  json.key("median").time(spread->median);
  json.key("low").time(spread->low);
  json.key("high").time(spread->high);
  json.key("low_high").string(spread->percentiles ? "p10 and p90" : "least and most");
  json.key("next_low").time(spread->next_low);
  json.key("next_high").time(spread->next_high);
  json.key("mean_error").time(spread->mean_error);
  json.end_object();
}

/// What of DDP's options is no cap and not the default.
void write_ddp(JsonWriter& json, const DdpOptions& ddp) {
  if (ddp.comm_hook != CommHook::none) json.key("comm_hook").string(name_of(ddp.comm_hook));
  if (ddp.comm_hook_min_mb > 0) json.key("comm_hook_min_mb").number(ddp.comm_hook_min_mb);
  if (ddp.comm_hook == CommHook::power_sgd) {
    json.key("matrix_approximation_rank").integer(ddp.power_sgd.matrix_approximation_rank);
    json.key("min_compression_rate").number(ddp.power_sgd.min_compression_rate);
  }
  if (ddp.comm_hook == CommHook::post_local_sgd) {
    json.key("local_sgd_period").integer(ddp.local_sgd.period);
    json.key("local_sgd_gradients").string(ddp.local_sgd.averages_gradients ? "node" : "none");
  }
  if (ddp.sync_batchnorm_group) json.key("sync_batchnorm_group").integer(*ddp.sync_batchnorm_group);
}

}  // namespace

void write_budget(JsonWriter& json, const StepBudget& budget) {
  json.key("budget").begin_object(JsonWriter::Layout::line);
  json.key("step_us").time(budget.step());
  for (const BudgetPart part : all_budget_parts())
    json.key(fmt::format("{}_us", name_of(part))).time(budget[part]);
  json.end_object();
}

void write_loss(JsonWriter& json, const Loss& loss, const Confidence& confidence) {
  json.key("loss").begin_array();
  for (const LossCause cause : all_loss_causes()) {
    const bool may_be_absent = cause == LossCause::model_averaging || of_schemes(cause);
    if (may_be_absent && loss[cause] == Duration()) continue;
    const LossInterval interval = loss_interval(cause, loss, confidence);
    json.begin_object(JsonWriter::Layout::line);
    json.key("cause").string(name_of(cause));
    json.key("us").time(loss[cause]);
    json.key("low_us").time(interval.low);
    json.key("high_us").time(interval.high);
    json.end_object();
  }
  json.end_array();
}

void write_replay(JsonWriter& json, const Trust& trust) {
  const Replay& replay = *trust.replay;
  json.begin_object();
  json.key("measured_us").time(replay.measured);
  json.key("predicted_us").time(replay.predicted);
  json.key("residual_us").time(replay.residual());
  json.key("residual_percent").ratio(100 * (replay.residual() / replay.measured));
  if (replay.spread) {
    json.key("measured_steps").count(replay.spread->steps);
    json.key("measured_low_us").time(replay.spread->low);
    json.key("measured_high_us").time(replay.spread->high);
  }
  json.key("explained_by");
  if (trust.correction) {
    json.begin_array();
    write_explanation(json, Cause::compute, trust.correction->all_compute);
    write_explanation(json, Cause::communication, trust.correction->all_communication);
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
}

void write_speed(JsonWriter& json, const TrainingSpeed& speed) {
  json.key("samples_per_second").ratio(speed.samples_per_second);
  json.key("tokens_per_second").ratio(speed.tokens_per_second);
  json.key("model_flops_utilization").ratio(speed.model_flops_utilization);
  json.key("scaling_efficiency").ratio(speed.scaling_efficiency);
}

void write_confidence(JsonWriter& json, const Confidence& confidence) {
  json.key("confidence").begin_object();
  json.key("grade").string(name_of(confidence.grade));
  json.key("provenance").string_or_null(confidence.provenance);
  json.key("interval_percent").begin_array(JsonWriter::Layout::line);
  json.ratio(confidence.low_percent);
  json.ratio(confidence.high_percent);
  json.end_array();
  json.key("because").strings(confidence.because);
  json.key("measure_next");
  if (const auto& next = confidence.measure_next) {
    json.begin_object();
    json.key("source").string(name_of(next->source));
    json.key("command").string(next->command);
    json.key("then").string(next->then);
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
  if (confidence.sensitivities.empty()) return;  // of a table: each row has its own interval
  json.key("sensitivities").begin_array();
  for (const Sensitivity& one : confidence.sensitivities) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("source").string(name_of(one.source));
    json.key("low_us").time(one.low);
    json.key("high_us").time(one.high);
    json.end_object();
  }
  json.end_array();
}

void write_versions(JsonWriter& json, const ReportContext& context) {
  json.key("torch").string(to_string(context.job.options().torch));
  json.key("torch_known").boolean(context.provenance.torch_known);
  const Backend backend = backend_of(context.job.model());
  json.key("nccl").string_or_null(backend == Backend::nccl ? to_string(nccl_version(context.job))
                                                           : "");
  json.key("backend").string(name_of(backend));
  json.key("network").string(network_name(context.job));
}

void write_setting(JsonWriter& json, const ReportContext& context) {
  json.key("workload").string(workload_name(context));
  json.key("cluster").string(cluster_name(context));
  json.key("ranks").integer(context.job.cluster().ranks());
  write_versions(json, context);
  const SimulationOptions& options = context.job.options();
  json.key("compute_scale").number(options.compute_scale);
  json.key("rank_slowdown").number(slowdown_shares(context.job).slowdown());
  if (!options.variation.empty()) write_variation(json, options.variation);
  write_ddp(json, options.ddp());
  if (speaks_of_buckets(context)) json.key("bucket_setting").string(bucket_setting(context.job));
}

void write_memory(JsonWriter& json, const std::optional<PeakMemory>& memory) {
  json.key("memory");
  if (!memory) {
    json.null();
    return;
  }
  const PeakMemory& peak = *memory;
  json.begin_object();
  json.key("peak_bytes");
  if (peak.activations)
    json.integer(peak.total().count());
  else
    json.null();
  json.key("at_least_bytes").integer(peak.total().count());
  json.key("at").string(name_of(peak.at));
  json.key("allocated_bytes").integer(peak.allocated().count());
  json.key("parts").begin_object();
  const auto part = [&](const char* name, Bytes bytes) { json.key(name).integer(bytes.count()); };
  part("parameters_bytes", peak.parts.parameters);
  part("buffers_bytes", peak.parts.buffers);
  part("gradients_bytes", peak.parts.gradients);
  part("buckets_bytes", peak.parts.buckets);
  part("comm_hook_bytes", peak.parts.hook);
  part("optimizer_bytes", peak.parts.optimizer);
  part("temporaries_bytes", peak.parts.temporaries);
  json.key("activations_bytes");
  if (peak.parts.activations)
    json.integer(peak.parts.activations->count());
  else
    json.null();
  part("rounding_bytes", peak.rounding);
  part("segments_bytes", peak.segments);
  part("nccl_bytes", peak.nccl);
  json.end_object();
  if (peak.host > Bytes()) json.key("host_bytes").integer(peak.host.count());
  json.key("activations_from");
  if (peak.activations)
    json.string(peak.activations->recorded ? "recording" : "layers");
  else
    json.null();
  json.key("optimizer").string(word_of(peak.optimizer.kind));
  json.key("optimizer_assumed").boolean(peak.optimizer.assumed);
  json.key("master_weights").boolean(peak.optimizer.master_weights);
  json.end_object();
}

void write_recorded(JsonWriter& json, const std::optional<RecordedJob>& recorded) {
  json.key("recorded");
  if (!recorded) {
    json.null();
    return;
  }
  const RecordedJob& current = *recorded;
  json.begin_object();
  json.key("torch").string_or_null(current.torch);
  json.key("nccl").string_or_null(current.nccl ? to_string(*current.nccl) : "");
  json.key("ranks").integer(current.ranks);
  json.key("comparable").boolean(current.comparable);
  json.key("same_buckets").boolean(current.same_buckets);
  json.key("all_reduce_us").time(current.recorded());
  json.key("predicted_us").time(current.predicted());
  json.key("steps").count(current.steps);
  json.key("iteration_us");
  write_iterations(json, current.iterations);
  json.key("channels").integer(current.channels);
  json.key("predicted_channels").integer(current.predicted_channels);
  json.key("buckets").begin_array();
  for (const RecordedBucket& bucket : current.buckets) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("bytes").integer(bucket.bytes.count());
    json.key("duration_us").begin_object(JsonWriter::Layout::line);
    json.key("min").time(bucket.least);
    json.key("median").time(bucket.median);
    json.key("max").time(bucket.most);
    json.end_object();
    json.key("transfer_us");
    if (current.waits_apart)
      json.time(bucket.median);
    else
      json.null();
    json.key("predicted_us").time(bucket.predicted);
    json.key("inside").boolean(is_inside(bucket, current.waits_apart));
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_calibrated_by(JsonWriter& json, const Cluster& cluster, Backend backend) {
  std::vector<CalibratedShape> logs;
  if (backend == Backend::gloo && cluster.gloo) logs = cluster.gloo->logs;
  if (backend == Backend::nccl && cluster.calibration) logs = cluster.calibration->shapes;
  std::erase_if(logs, [](const CalibratedShape& log) { return log.digest.empty(); });
  if (logs.empty()) return;
  json.key("calibrated_by").begin_array();
  for (const CalibratedShape& log : logs) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("source").string(log.source);
    json.key("digest").string(log.digest);
    json.end_object();
  }
  json.end_array();
}

void write_trust(JsonWriter& json, const ReportContext& context) {
  const Trust& trust = context.trust;
  write_confidence(json, trust.confidence);
  json.key("warnings").strings(trust.warnings.texts());
  write_calibrated_by(json, context.job.cluster(), backend_of(context.job.model()));
  if (trust.replay) {
    json.key("replay");
    write_replay(json, trust);
  }
}

void write_gain(JsonWriter& json, const Gain& gain) {
  json.begin_object(JsonWriter::Layout::line);
  json.key("value").time(gain.value);
  json.key("low").time(gain.low);
  json.key("high").time(gain.high);
  json.end_object();
}

}  // namespace ddpsim
