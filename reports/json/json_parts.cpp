#include "json_parts.hpp"

#include "described_advice.hpp"

namespace ddpsim {
namespace {

template <typename T>
void write_or_null(JsonWriter& json, const std::optional<T>& value, const Described<T>& described) {
  if (value)
    described.write(json, *value);
  else
    json.null();
}

template <typename T>
void write_list(JsonWriter& json, const std::vector<T>& values, const Described<T>& described) {
  json.begin_array();
  for (const T& value : values) described.write(json, value);
  json.end_array();
}

}  // namespace

void write_loss(JsonWriter& json, const Loss& loss, const Confidence& confidence) {
  write_list(json.key("loss"), loss_rows(loss, confidence), described_loss());
}

void write_memory(JsonWriter& json, const std::optional<PeakMemory>& memory) {
  write_or_null(json.key("memory"), memory, described_memory());
}

void write_recorded(JsonWriter& json, const std::optional<RecordedJob>& recorded) {
  write_or_null(json.key("recorded"), recorded, described_recorded());
}

void write_elastic(JsonWriter& json, const std::optional<ElasticAnswer>& elastic) {
  if (elastic) described_elastic().write(json.key("elastic"), *elastic);
}

void write_recommendation(JsonWriter& json, const Recommendation& recommended) {
  described_recommendation().write(json, {recommended});
}

}  // namespace ddpsim
