// A small step by hand, shared by the tests of the writers: two buckets, the second exposed. No two figures
// that stand beside each other in a report are equal, so that none can take another's place unseen.
#pragma once

#include "ddpsim/reports/reports.hpp"
#include "small_jobs.hpp"

namespace ddpsim::sample {

using namespace ddpsim::literals;

using small::at;

inline Workload workload(const std::string& called = "tiny") {
  Workload workload;
  workload.name = called;
  for (const char* name : {"conv.weight", "conv.bias", "fc.weight"}) {
    Parameter parameter;
    parameter.name = name;
    workload.parameters.push_back(parameter);
  }
  return workload;
}

/// Backward ends at 90 ms, the last transfer at 93.6 ms, the step at 100 ms.
inline StepResult step() {
  StepResult step;
  step.times = {.iteration = 100_ms,
                .forward = 30_ms,
                .buffer_broadcast = 400_us,
                .backward = 60_ms,
                .backward_compute = 58_ms,
                .copies_in = 1500_us,
                .interference = 500_us,
                .communication = 20_ms,
                .wait = 1_ms,
                .exposed_communication = 3_ms,
                .overlap = 0.85,
                .finalize = Duration::picoseconds(1'250'000'001),
                .optimizer = 5_ms,
                .stall = Duration::picoseconds(749'999'999)};
  step.buckets.resize(2);
  BucketResult& first = step.buckets.front();
  first.bucket = {
      .parameters = {2}, .bytes = 1_MiB, .limit = 512_KiB, .closed_by = ClosedBy::limit};
  first.bytes = 1_MiB;
  first.ready = at(40_ms);
  first.launch = at(41_ms);
  first.start = at(42_ms);
  first.last_arrival = at(43_ms);
  first.last_rank = 3;
  first.end = at(60_ms);
  first.choice = CollectiveChoice{Algorithm::ring, Protocol::simple, 12, 1_ms};
  BucketResult& second = step.buckets.back();
  second.bucket = {
      .parameters = {1, 0}, .bytes = 2_MiB, .limit = 25_MiB, .closed_by = ClosedBy::end};
  second.bytes = 2_MiB;
  second.ready = at(90_ms);
  second.launch = at(85_ms);
  second.start = at(90.6_ms);
  second.last_arrival = at(92_ms);
  second.last_rank = 5;
  second.end = at(93.6_ms);
  second.exposed_because = "its last gradient is the end of backward";
  step.optimizer_start = at(94.85_ms);
  step.optimizer_end = at(99.85_ms);
  step.events = 42;
  return step;
}

inline SimulationResult result() {
  SimulationResult result;
  result.step = step();
  result.timeline.clock = "start of forward";
  result.timeline.provenance = {{"made by", "hand"}};
  result.timeline.ranks.push_back(
      {.rank = 0,
       .spans = {{Track::compute, "forward", std::nullopt, at(0_ms), at(30_ms)},
                 {Track::compute, "backward", std::nullopt, at(30_ms), at(90_ms)},
                 {Track::host, "launch", 0, at(40_ms), at(41_ms)},
                 {Track::communication, "all_reduce", 0, at(42_ms), at(60_ms)},
                 {Track::communication, "all_reduce", 1, at(90.6_ms), at(93.6_ms)},
                 {Track::compute, "optimizer", std::nullopt, at(94.85_ms), at(99.85_ms)}}});
  return result;
}

inline Confidence confidence() {
  Confidence confidence{Grade::c, -4, 18, {"specification only"}};
  confidence.provenance = "not calibrated: data sheets";
  return confidence;
}

/// `ranks` V100s in one node.
inline Cluster cluster(int ranks = 8) {
  Cluster cluster = small::node(ranks);
  cluster.name = "dgx1v";
  return cluster;
}

inline ReportContext context(int ranks = 8) {
  return {.job = Job(workload(), cluster(ranks), {}, AnalyticModel{}),
          .provenance = {},
          .trust = {.confidence = confidence()}};
}

/// The context with another workload, other options, or another model of collectives.
template <typename Part>
ReportContext with(Part part, ReportContext context = sample::context()) {
  context.job = context.job.with(std::move(part));
  return context;
}

/// One of `compare` that is called so.
inline CandidateContext candidate(const std::string& label, int ranks, std::int64_t batch = 32) {
  Workload batches = workload();
  batches.batch_per_gpu = batch;
  CandidateContext candidate{with(batches, context(ranks)), {}, {}};
  candidate.provenance.label = label;
  return candidate;
}

inline SimulateReport simulated(SimulationResult result = sample::result(),
                                ReportContext context = sample::context()) {
  return {.context = std::move(context), .result = std::move(result), .step = {}};
}

inline TuneReport tuned(TuneResult result, ReportContext context = sample::context()) {
  return {.context = std::move(context), .result = std::move(result), .step = {}};
}

inline AdviceReport advised(Advice advice, ReportContext context = sample::context()) {
  return {.context = std::move(context), .advice = std::move(advice), .step = {}};
}

inline AllReduceReport all_reduced(AllReduceTable table) {
  return {.table = std::move(table), .cluster = cluster(), .torch = {}, .nccl = {}};
}

inline CurvePoint point(std::optional<double> cap, Duration iteration, std::size_t buckets) {
  CurvePoint point;
  point.bucket_cap_mb = cap;
  if (cap) point.cap_range_mb = {*cap, *cap + 4.5};
  point.first_bucket_mb = cap ? *cap : 1;
  point.iteration = iteration;
  point.exposed_communication = 3_ms;
  point.blocking_communication = 3400_us;
  point.buckets = buckets;
  return point;
}

inline TuneResult keep() {
  TuneResult tune;
  tune.default_setting = point(std::nullopt, 98_ms, 5);
  tune.best = point(50, 97.8_ms, 2);
  tune.curve = {point(1, 99_ms, 60), tune.default_setting, point(25.1, 98.5_ms, 4), tune.best};
  tune.recommended.measurable = 1_ms;
  tune.lower_bound = 96_ms;
  tune.best_partition_absent_because = "the workload has no timings";
  return tune;
}

inline TuneResult set() {
  TuneResult tune = keep();
  tune.default_setting.iteration = 320_ms;
  tune.best = point(60, 279_ms, 2);
  tune.curve = {tune.default_setting, tune.best};
  tune.recommended = {
      .set = true,
      .bucket_cap_mb = 60,
      .first_bucket_mb = std::nullopt,
      .cap_range_mb = {54, 80},
      .gain = {41_ms, 30_ms, 52_ms},
      .expected = 42_ms,
      .next_worse = NextWorse{.below = Cliff{52.25, 5_ms}, .above = Cliff{96.5, 4_ms}},
      .measurable = 3_ms,
      .python = "DistributedDataParallel(model, bucket_cap_mb=60)",
      .reason = "the last bucket shrinks"};
  tune.best_partition = BestPartition{
      .buckets = {step().buckets[0].bucket, step().buckets[1].bucket}, .iteration = 275_ms};
  return tune;
}

}  // namespace ddpsim::sample
