// Parts that several documents share.
#pragma once

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

/// workload, cluster, ranks, versions, compute_scale, rank_slowdown, variation, bucket_setting.
void write_setting(JsonWriter& json, const ReportContext& context);

/// torch, nccl (null where it is not the backend), backend, network.
void write_versions(JsonWriter& json, const ReportContext& context);

/// Every cause, in one order; intervals are those of `confidence`.
void write_loss(JsonWriter& json, const Loss& loss, const Confidence& confidence);
/// `budget`: what the GPU does with the step, in parts that add up to it.
void write_budget(JsonWriter& json, const StepBudget& budget);
/// What the job gets done in a second; null where that is not known.
void write_speed(JsonWriter& json, const TrainingSpeed& speed);
void write_confidence(JsonWriter& json, const Confidence& confidence);
/// What `tune` advises.
/// `no_cap_because`: why no cap can be recommended at all; empty when one can.
void write_recommendation(JsonWriter& json, const Recommendation& recommended,
                          const std::string& no_cap_because = "");

/// What a rank's memory holds at most, part by part.
void write_memory(JsonWriter& json, const std::optional<PeakMemory>& memory);

/// What the recorded job did.
void write_recorded(JsonWriter& json, const std::optional<RecordedJob>& recorded);

/// What was measured, what the replay misses of it, and the two explanations.
void write_replay(JsonWriter& json, const Trust& trust);

/// `calibrated_by`: logs whose measured times the cluster gives back. Nothing where there are none.
void write_calibrated_by(JsonWriter& json, const Cluster& cluster, Backend backend);

/// confidence, warnings, and the replay where today's step was measured.
void write_trust(JsonWriter& json, const ReportContext& context);

/// A row of ddpsim.advice/1.
void write_advice_row(JsonWriter& json, const AdviceRow& row);

/// {"value", "low", "high"}, in microseconds.
void write_gain(JsonWriter& json, const Gain& gain);

}  // namespace ddpsim
