#include "ddpsim/reports/reports.hpp"
#include "described_advice.hpp"
#include "json_parts.hpp"

namespace ddpsim {
namespace {

using Layout = JsonWriter::Layout;

void write_range(JsonWriter& json, const std::pair<double, double>& range) {
  json.begin_array(Layout::line);
  json.number(range.first);
  json.number(range.second);
  json.end_array();
}

void write_gain(JsonWriter& json, const Gain& gain) {
  described_interval().write(json, shown_interval(gain));
}

/// `loss_us` is the smaller of both sides' losses: what the next worse cap costs at least.
void write_next_worse(JsonWriter& json, const std::optional<NextWorse>& worse) {
  if (!worse || (!worse->below && !worse->above)) {
    json.null();
    return;
  }
  const auto cap = [&](const std::optional<Cliff>& cliff) {
    cliff ? json.number(cliff->cap_mb) : json.null();
  };
  const auto loss = [&](const std::optional<Cliff>& cliff) {
    cliff ? json.time(cliff->loss) : json.null();
  };
  json.begin_object(Layout::line);
  json.key("below_mb");
  cap(worse->below);
  json.key("above_mb");
  cap(worse->above);
  json.key("loss_us");
  loss(!worse->below || (worse->above && worse->above->loss < worse->below->loss) ? worse->above
                                                                                  : worse->below);
  json.key("below_loss_us");
  loss(worse->below);
  json.key("above_loss_us");
  loss(worse->above);
  json.end_object();
}

void write_point(JsonWriter& json, const CurvePoint& point) {
  json.begin_object(Layout::line);
  json.key("bucket_cap_mb").number(point.bucket_cap_mb);
  json.key("first_bucket_mb").number(point.first_bucket_mb);
  json.key("cap_range_mb");
  write_range(json, point.cap_range_mb);
  json.key("iteration_us").time(point.iteration);
  json.key("exposed_communication_us").time(point.exposed_communication);
  json.key("blocking_communication_us").time(point.blocking_communication);
  json.key("buckets").count(point.buckets);
  json.key("reachable").boolean(point.reachable);
  if (point.if_communication) json.key("if_communication_us").time(*point.if_communication);
  json.end_object();
}

/// Of AdviceByVersion or AdviceByCause, which have begun their object.
template <typename Advice>
void write_setting(JsonWriter& json, const Advice& advice,
                   const std::optional<CurrentBuckets>& current) {
  json.key("action").string(advice.set ? "set" : current ? "keep today" : "keep default");
  json.key("bucket_cap_mb").number(advice.bucket_cap_mb);
  json.key("first_bucket_mb").number(advice.first_bucket_mb);
  json.key("gain_us");
  write_gain(json, advice.gain);
  json.end_object();
}

void write_advice(JsonWriter& json, const AdviceByCause& advice,
                  const std::optional<CurrentBuckets>& current) {
  json.begin_object(Layout::line);
  json.key("cause").string(name_of(advice.cause));
  write_setting(json, advice, current);
}

/// `setting`: options that give the recorded buckets.
void write_current(JsonWriter& json, const CurrentBuckets& current,
                   const std::optional<BucketSetting>& setting) {
  json.begin_object();
  json.key("recorded").boolean(current.recorded);
  json.key("bucket_cap_mb").number(setting ? setting->bucket_cap_mb : current.point.bucket_cap_mb);
  json.key("first_bucket_mb")
      .number(setting ? setting->first_bucket_mb : current.point.first_bucket_mb);
  json.key("bucket_bytes").begin_array(Layout::line);
  for (const Bytes bytes : current.bucket_bytes) json.integer(bytes.count());
  json.end_array();
  json.key("iteration_us").time(current.point.iteration);
  json.key("exposed_communication_us").time(current.point.exposed_communication);
  json.key("blocking_communication_us").time(current.point.blocking_communication);
  json.end_object();
}

void write_advice(JsonWriter& json, const AdviceByVersion& advice,
                  const std::optional<CurrentBuckets>& current) {
  const VersionRange& versions = advice.versions;
  json.begin_object(Layout::line);
  json.key("torch_from").string(to_string(versions.from));
  json.key("torch_to").string_or_null(versions.to == kNewestTorch ? "" : to_string(versions.to));
  json.key("nccl").begin_array(Layout::line);
  json.string(to_string(versions.oldest_nccl));
  json.string(to_string(versions.newest_nccl));
  json.end_array();
  write_setting(json, advice, current);
}

void write_measure_first(JsonWriter& json, const MeasureFirst& first) {
  json.begin_object();
  json.key("doubt").string(name_of(first.doubt));
  json.key("because").string(first.because);
  json.key("bucket_cap_mb").number(first.bucket_cap_mb);
  json.key("first_bucket_mb").number(first.first_bucket_mb);
  json.key("gain_us");
  write_gain(json, first.gain);
  json.key("sizes_bytes").begin_array(Layout::line);
  for (const Bytes size : first.sizes) json.integer(size.count());
  json.end_array();
  json.key("command").string(first.command);
  json.key("then").string_or_null(first.then);
  json.key("takes_us").time(first.takes);
  json.key("deciding_bytes").integer(first.deciding.count());
  json.key("predicted_us").time(first.predicted);
  json.key("set_up_to_us");
  if (first.set_up_to)
    json.time(*first.set_up_to);
  else
    json.null();
  json.end_object();
}

void write_partition(JsonWriter& json, const BestPartition& partition) {
  json.begin_object();
  json.key("bucket_bytes").begin_array(Layout::line);
  for (const Bucket& bucket : partition.buckets) json.integer(bucket.bytes.count());
  json.end_array();
  json.key("iteration_us").time(partition.iteration);
  json.key("reachable").boolean(partition.reachable);
  json.key("buckets").count(partition.buckets.size());
  json.end_object();
}

}  // namespace

void write_recommendation(JsonWriter& json, const Recommendation& recommended,
                          const std::string& no_cap_because) {
  json.begin_object();
  if (!no_cap_because.empty()) {
    json.key("action").string("none");
    json.key("reason").string(no_cap_because);
    json.end_object();
    return;
  }
  json.key("action").string(recommended.set                  ? "set"
                            : recommended.default_as_current ? "keep default"
                                                             : "keep today");
  json.key("bucket_cap_mb").number(recommended.bucket_cap_mb);
  json.key("first_bucket_mb").number(recommended.first_bucket_mb);
  json.key("cap_range_mb");
  write_range(json, recommended.cap_range_mb);
  json.key("gain_us");
  write_gain(json, recommended.gain);
  json.key("most_robust_gain_us");
  if (recommended.most_robust) {
    write_gain(json, *recommended.most_robust);
  } else {
    json.null();
  }
  json.key("measure_first");
  if (recommended.measure_first)
    write_measure_first(json, *recommended.measure_first);
  else
    json.null();
  json.key("expected_gain_us").time(recommended.expected);
  json.key("regret_us").time(recommended.regret);
  json.key("next_worse");
  write_next_worse(json, recommended.next_worse);
  json.key("measurable_us").time(recommended.measurable);
  json.key("python").string(recommended.python);
  json.key("reason").string(recommended.reason);
  json.end_object();
}

std::string tune_json(const TuneReport& report) {
  const ReportContext& context = report.context;
  const TuneResult& result = report.result;
  const std::optional<RecordedJob>& recorded = context.provenance.recorded;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.tune/1");
  described_setting().write_members(json, context);
  write_budget(json, report.step.budget);
  described_speed().write_members(json, report.step.speed);
  json.key("default");
  write_point(json, result.default_setting);
  json.key("today");
  if (result.current)
    write_current(json, *result.current, recorded ? recorded->setting : std::nullopt);
  else
    json.null();
  json.key("best");
  write_point(json, result.best);
  json.key("recommended");
  write_recommendation(json, result.recommended, report.no_cap_because);
  json.key("recommended_by_version");
  if (result.by_version.empty() || !report.no_cap_because.empty()) {
    json.null();
  } else {
    json.begin_array();
    for (const AdviceByVersion& advice : result.by_version)
      write_advice(json, advice, result.current);
    json.end_array();
  }
  if (!result.by_cause.empty() && report.no_cap_because.empty()) {
    json.key("recommended_by_cause").begin_array();
    for (const AdviceByCause& advice : result.by_cause) write_advice(json, advice, result.current);
    json.end_array();
  }
  json.key("better_lever");
  if (report.better_setting)
    described_advice_row().write(json, *report.better_setting);
  else
    json.null();
  json.key("bucketings").count(result.curve.size() + result.unsimulated);
  json.key("curve").begin_array();
  for (const CurvePoint& point : result.curve) write_point(json, point);
  json.end_array();
  json.key("lower_bound_us").time(result.lower_bound);
  json.key("best_partition");
  if (result.best_partition) {
    write_partition(json, *result.best_partition);
  } else {
    json.null();
    json.key("best_partition_absent_because").string(result.best_partition_absent_because);
  }
  write_recorded(json, recorded);
  described_trust().write_members(json, context);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
