#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/sweep_report.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "described_step.hpp"

namespace ddpsim {
namespace {

void write_cluster(JsonWriter& json, const std::optional<Cluster>& cluster) {
  const auto integer = [&](const char* key, int (Cluster::*count)() const) {
    json.key(key);
    cluster ? json.integer(((*cluster).*count)()) : json.null();
  };
  integer("nodes", &Cluster::hosts);
  integer("gpus_per_node", &Cluster::gpus_per_host);
  integer("ranks", &Cluster::ranks);
  json.key("gpu").string_or_null(cluster ? cluster->gpu.name : "");
  const bool network = cluster && cluster->network.kind != NetworkKind::none;
  json.key("nics_per_node");
  network ? json.integer(cluster->network.nics_per_node / cluster->hosts_per_node) : json.null();
  json.key("per_nic_gbps");
  constexpr double kBitsInAGbit = 1e9 / 8;
  network ? json.ratio(cluster->network.per_nic.bytes_per_second() / kBitsInAGbit) : json.null();
  json.key("network").string_or_null(network ? kind_word(cluster->network) : "");
  json.key("oversubscription");
  network ? json.number(cluster->network.oversubscription) : json.null();
}

/// "iteration_us", and how low and how high it may be.
void write_step(JsonWriter& json, const SweepRow& row) {
  std::optional<Duration> step;
  std::optional<Duration> low;
  std::optional<Duration> high;
  if (row.times) step = row.times->iteration;
  if (step && row.confidence) {
    constexpr double kPercent = 100;
    low = step->scaled(1 + row.confidence->low_percent / kPercent);
    high = step->scaled(1 + row.confidence->high_percent / kPercent);
  }
  json.key("iteration_us").time(step);
  json.key("iteration_low_us").time(low);
  json.key("iteration_high_us").time(high);
  json.key("grade").string_or_null(row.confidence ? name_of(row.confidence->grade) : "");
  json.key("provenance").string_or_null(row.confidence ? row.confidence->provenance : "");
  json.key("corrected_by").string_or_null(row.corrected_by);
  std::optional<Duration> exposed;
  std::optional<Duration> blocking;
  if (row.times) {
    exposed = row.times->exposed_communication;
    blocking = row.times->blocking_communication();
  }
  described_speed().write_members(
      json, row.times ? training_speed(row.work, *row.times) : TrainingSpeed());
  json.key("exposed_communication_us").time(exposed);
  json.key("blocking_communication_us").time(blocking);
  json.key("memory_bytes");
  row.memory&& row.memory->activations ? json.integer(row.memory->total().count()) : json.null();
  std::optional<double> usd_per_hour;
  const auto of_steps = [&](std::optional<Duration> one) -> std::optional<double> {
    if (!one || !row.cost) return std::nullopt;
    constexpr double kSteps = 1000;
    constexpr double kSecondsPerHour = 3600;
    return row.cost->usd_per_hour / kSecondsPerHour * one->seconds() * kSteps / row.cost->goodput;
  };
  if (row.cost) usd_per_hour = row.cost->usd_per_hour;
  json.key("usd_per_hour").number(usd_per_hour);
  json.key("usd_per_1000_steps").ratio(of_steps(step));
  json.key("usd_per_1000_steps_low").ratio(of_steps(low));
  json.key("usd_per_1000_steps_high").ratio(of_steps(high));
}

}  // namespace

std::string sweep_line(const SweepRow& row) {
  JsonWriter json;
  json.begin_object(JsonWriter::Layout::line);
  json.key("point").count(row.point);
  json.key("workload").string(row.workload);
  json.key("label").string(row.label);
  json.key("cluster").string(row.cluster_text);
  write_cluster(json, row.cluster);
  json.key("grid").begin_object();
  for (const auto& [option, value] : row.grid) json.key(option).value(value);
  json.end_object();
  write_step(json, row);
  json.key("warnings").strings(row.warnings);
  json.key("error").string_or_null(row.error);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
