// Comma-separated tables: units in the column names, fields quoted as RFC 4180 says, lines ended by
// a single newline.
#include <fmt/format.h>

#include <initializer_list>

#include "ddpsim/reports/reports.hpp"
#include "json_writer.hpp"

namespace ddpsim {
namespace {

std::string quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

void add_row(std::string& csv, std::initializer_list<std::string> fields) {
  const char* separator = "";
  for (const std::string& field : fields) {
    csv += separator;
    csv += quoted(field);
    separator = ",";
  }
  csv += '\n';
}

std::string text(std::int64_t value) {
  return std::to_string(value);
}
std::string text(std::size_t value) {
  return std::to_string(value);
}
std::string text(TimePoint instant) {
  return microseconds_token(instant.since_start());
}
std::string text(const std::optional<double>& value) {
  return value ? number_token(*value) : "";
}

}  // namespace

std::string result_csv(const SimulationResult& result) {
  std::string csv =
      "bucket,bytes,tensors,ready_us,launch_us,start_us,last_arrival_us,last_rank,end_us,"
      "algorithm,protocol,channels,closed_by,exposed_because\n";
  for (std::size_t i = 0; i < result.step.buckets.size(); ++i) {
    const BucketResult& bucket = result.step.buckets[i];
    const auto& choice = bucket.choice;
    add_row(csv, {text(i), text(bucket.bucket.bytes.count()), text(bucket.bucket.parameters.size()),
                  text(bucket.ready), text(bucket.launch), text(bucket.start),
                  text(bucket.last_arrival), std::to_string(bucket.last_rank), text(bucket.end),
                  choice ? std::string(name_of(choice->algorithm)) : "",
                  choice ? std::string(name_of(choice->protocol)) : "",
                  choice ? std::to_string(choice->channels) : "",
                  std::string(name_of(bucket.bucket.closed_by)), bucket.exposed_because});
  }
  return csv;
}

std::string tune_csv(const TuneResult& result) {
  std::string csv =
      "bucket_cap_mb,first_bucket_mb,cap_low_mb,cap_high_mb,iteration_us,"
      "exposed_communication_us,buckets,reachable\n";
  for (const CurvePoint& point : result.curve) {
    add_row(csv,
            {text(point.bucket_cap_mb), text(point.first_bucket_mb),
             number_token(point.cap_range_mb.first), number_token(point.cap_range_mb.second),
             microseconds_token(point.iteration), microseconds_token(point.exposed_communication),
             text(point.buckets), point.reachable ? "true" : "false"});
  }
  return csv;
}

std::string buckets_csv(const std::vector<Bucket>& buckets) {
  std::string csv = "bucket,bytes,tensors,limit_bytes,closed_by,dtype,parameter_indices\n";
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    const Bucket& bucket = buckets[i];
    add_row(csv, {text(i), text(bucket.bytes.count()), text(bucket.parameters.size()),
                  text(bucket.limit.count()), std::string(name_of(bucket.closed_by)),
                  std::string(name_of(bucket.dtype)),
                  fmt::format("{}", fmt::join(bucket.parameters, " "))});
  }
  return csv;
}

}  // namespace ddpsim
