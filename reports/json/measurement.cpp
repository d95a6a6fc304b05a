#include "ddpsim/reports/measurement.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/sim/values/quantile.hpp"

namespace ddpsim {
namespace {

/// The type's name in nccl-tests.
std::string_view type_in_log(Dtype dtype) {
  if (dtype == Dtype::float32) return "float";
  return dtype == Dtype::float16 ? "half" : name_of(dtype);
}

/// Rounded to a nanosecond, the resolution of the clock. More digits would be noise.
double rounded(double us) {
  return std::round(us * 1000) / 1000;
}

void write(JsonWriter& json, const char* key, const Quantiles& quantiles) {
  json.key(key).begin_object(JsonWriter::Layout::line);
  json.key("median").number(rounded(quantiles.median));
  json.key("p10").number(rounded(quantiles.p10));
  json.key("p90").number(rounded(quantiles.p90));
  json.end_object();
}

void write(JsonWriter& json, std::size_t index, const MeasuredBucket& bucket) {
  json.begin_object();
  json.key("index").count(index);
  json.key("bytes").integer(bucket.bytes.count());
  json.key("parameter_indices").indices(bucket.parameters);
  write(json, "ready_us", bucket.ready_us);
  write(json, "launch_us", bucket.launch_us);
  write(json, "start_us", bucket.start_us);
  write(json, "last_arrival_us", bucket.last_arrival_us);
  write(json, "end_us", bucket.end_us);
  json.end_object();
}

void write(JsonWriter& json, const MeasuredConfiguration& configuration) {
  json.begin_object();
  json.key("name").string(configuration.name);
  json.key("bucket_cap_mb").number(configuration.bucket_cap_mb);
  json.key("gradient_as_bucket_view").boolean(configuration.gradient_as_bucket_view);
  write(json, "iteration_us", configuration.iteration_us);
  write(json, "forward_us", configuration.forward_us);
  write(json, "backward_us", configuration.backward_us);
  write(json, "communication_us", configuration.communication_us);
  write(json, "exposed_communication_us", configuration.exposed_communication_us);
  write(json, "finalize_us", configuration.finalize_us);
  write(json, "optimizer_us", configuration.optimizer_us);
  json.key("iterations_us").begin_array(JsonWriter::Layout::line);
  for (const double us : configuration.iterations_us) json.number(rounded(us));
  json.end_array();
  json.key("buckets").begin_array();
  for (std::size_t i = 0; i < configuration.buckets.size(); ++i)
    write(json, i, configuration.buckets[i]);
  json.end_array();
  json.key("timeline").string(configuration.timeline);
  json.end_object();
}

std::string bytes_of(const MeasuredConfiguration& configuration) {
  std::string text;
  for (const MeasuredBucket& bucket : configuration.buckets)
    text += fmt::format("{}{}", text.empty() ? "" : " ", bucket.bytes.count());
  return text;
}

std::string cap_of(const MeasuredConfiguration& configuration) {
  return configuration.bucket_cap_mb ? fmt::format("{}", *configuration.bucket_cap_mb) : "";
}

}  // namespace

Quantiles quantiles_of(const std::vector<double>& values) {
  if (values.empty()) return {};
  return {median(values), quantile(values, 0.1), quantile(values, 0.9)};
}

std::string measurement_json(const Measurement& measurement) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.measurement/1");
  json.key("ranks").integer(measurement.ranks);
  json.key("setup").begin_object();
  for (const auto& [key, text] : measurement.setup) json.key(key).string(text);
  json.end_object();
  json.key("configurations").begin_array();
  for (const MeasuredConfiguration& configuration : measurement.configurations)
    write(json, configuration);
  json.end_array();
  json.key("all_reduces").begin_array();
  for (const MeasuredAllReduce& row : measurement.all_reduces) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("size_bytes").integer(row.size.count());
    json.key("dtype").string(name_of(row.dtype));
    write(json, "time_us", row.time_us);
    if (row.compress_us) write(json, "compress_us", *row.compress_us);
    if (row.decompress_us) write(json, "decompress_us", *row.decompress_us);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

std::string measurement_csv(const Measurement& measurement) {
  std::string csv;
  for (const auto& [key, text] : measurement.setup) csv += fmt::format("# {}: {}\n", key, text);
  csv +=
      "name,bucket_cap_mb,gradient_as_bucket_view,iteration_us,iteration_p10_us,iteration_p90_us,"
      "forward_us,backward_us,communication_us,exposed_communication_us,finalize_us,optimizer_us,"
      "bucket_bytes\n";
  for (const MeasuredConfiguration& one : measurement.configurations) {
    csv += fmt::format(
        "{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{:.3f},{}\n", one.name,
        cap_of(one), one.gradient_as_bucket_view, one.iteration_us.median, one.iteration_us.p10,
        one.iteration_us.p90, one.forward_us.median, one.backward_us.median,
        one.communication_us.median, one.exposed_communication_us.median, one.finalize_us.median,
        one.optimizer_us.median, bytes_of(one));
  }
  for (const MeasuredAllReduce& row : measurement.all_reduces)
    csv += fmt::format("all_reduce:{},,,{:.3f},{:.3f},{:.3f},,,,,,,\n", row.size.count(),
                       row.time_us.median, row.time_us.p10, row.time_us.p90);
  return csv;
}

std::string measurement_log(const Measurement& measurement, const std::vector<std::string>& hosts,
                            const std::string& device) {
  std::string text =
      "# ddpsim-real, in the format of nccl-tests: measured in place, the same value in both "
      "halves\n"
      "# Using devices\n";
  int local = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    local = rank > 0 && hosts[rank] == hosts[rank - 1] ? local + 1 : 0;
    text += fmt::format("#  Rank {:>2} Group  0 Pid {:>6} on {:>10} device {:>2} [0x00] {}\n", rank,
                        rank + 1, hosts[rank], local, device);
  }
  text +=
      "#\n#                                                              out-of-place              "
      "         in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)\n";
  const double ranks = measurement.ranks;
  constexpr const char* kWrong = "N/A";  // sums are not checked
  constexpr double kBytesPerUs = 1000;   // bytes per µs in 1 GB/s
  for (const MeasuredAllReduce& row : measurement.all_reduces) {
    const double algbw = static_cast<double>(row.size.count()) / row.time_us.median / kBytesPerUs;
    const std::string half = fmt::format("{:>8.2f} {:>7.2f} {:>7.2f} {:>6}", row.time_us.median,
                                         algbw, algbw * 2 * (ranks - 1) / ranks, kWrong);
    text += fmt::format("{:>12} {:>13} {:>9} {:>7} {:>7} {} {}\n", row.size.count(),
                        row.size.count() / element_size(row.dtype), type_in_log(row.dtype), "sum",
                        -1, half, half);
  }
  return text;
}

std::string measurement_text(const Measurement& measurement) {
  std::string text = fmt::format("{} ranks", measurement.ranks);
  for (const auto& [key, value] : measurement.setup)
    if (key == "backend") text += ", " + value;
  text += "\n";
  constexpr double kMs = 1000;
  if (!measurement.configurations.empty())
    text += "configuration        buckets   step ms   p10 ms   p90 ms exposed ms finalize ms\n";
  for (const MeasuredConfiguration& one : measurement.configurations) {
    text += fmt::format("{:<20} {:>7} {:>9.3f} {:>8.3f} {:>8.3f} {:>10.3f} {:>11.3f}\n", one.name,
                        one.buckets.size(), one.iteration_us.median / kMs,
                        one.iteration_us.p10 / kMs, one.iteration_us.p90 / kMs,
                        one.exposed_communication_us.median / kMs, one.finalize_us.median / kMs);
  }
  if (measurement.all_reduces.empty()) return text;
  text += "       size B   time us   p10 us   p90 us algbw GB/s busbw GB/s\n";
  const double ranks = measurement.ranks;
  for (const MeasuredAllReduce& row : measurement.all_reduces) {
    const double algbw = static_cast<double>(row.size.count()) / row.time_us.median / kMs;
    text += fmt::format("{:>13} {:>9.1f} {:>8.1f} {:>8.1f} {:>10.3f} {:>10.3f}\n", row.size.count(),
                        row.time_us.median, row.time_us.p10, row.time_us.p90, algbw,
                        algbw * 2 * (ranks - 1) / ranks);
  }
  return text;
}

}  // namespace ddpsim
