// Parts of documents that are still written member by member: described parts under their keys.
#pragma once

#include <optional>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"
#include "described_elastic.hpp"
#include "described_job.hpp"
#include "described_step.hpp"
#include "described_trust.hpp"

namespace ddpsim {

/// `loss`
void write_loss(JsonWriter& json, const Loss& loss, const Confidence& confidence);
/// `memory`; null where it was not counted.
void write_memory(JsonWriter& json, const std::optional<PeakMemory>& memory);
/// `recorded`; null where nothing was.
void write_recorded(JsonWriter& json, const std::optional<RecordedJob>& recorded);
/// `elastic`; nothing where there is none.
void write_elastic(JsonWriter& json, const std::optional<ElasticAnswer>& elastic);

/// What `tune` recommends.
void write_recommendation(JsonWriter& json, const Recommendation& recommended);

}  // namespace ddpsim
