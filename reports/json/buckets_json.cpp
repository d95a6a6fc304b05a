#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/reports.hpp"

namespace ddpsim {

std::string buckets_json(const std::vector<Bucket>& buckets,
                         const std::vector<std::string>& warnings, TorchInForce torch,
                         const std::optional<LoggedBuckets>& logged) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.buckets/1");
  json.key("torch").string(to_string(torch.version));
  json.key("torch_known").boolean(torch.known);
  json.key("buckets").begin_array();
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& bucket = buckets[i];
    json.begin_object();
    json.key("index").count(i);
    json.key("bytes").integer(bucket.bytes.count());
    json.key("parameter_indices").indices(bucket.parameters);
    json.key("limit_bytes").integer(bucket.limit.count());
    json.key("closed_by").string(name_of(bucket.closed_by));
    json.key("dtype").string(name_of(bucket.dtype));
    json.end_object();
  }
  json.end_array();
  if (logged) {
    const std::optional<std::size_t> differs = first_difference(buckets, logged->bytes);
    json.key("logged").begin_object();
    json.key("match").boolean(!differs);
    if (differs) json.key("first_difference").count(*differs);
    json.key("bytes").begin_array();
    for (const Bytes bytes : logged->bytes) json.integer(bytes.count());
    json.end_array();
    json.end_object();
  }
  json.key("warnings").strings(warnings);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
