#include "ddpsim/reports/html_report.hpp"
#include "ddpsim/reports/reports.hpp"
#include "json_parts.hpp"

namespace ddpsim {

std::string allreduce_json(const AllReduceReport& report) {
  const AllReduceTable& table = report.table;
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.allreduce/1");
  if (table.collective != CollectiveKind::all_reduce)
    json.key("collective").string(name_of(table.collective));
  json.key("cluster").string(report.cluster.name);
  json.key("ranks").integer(table.ranks);
  json.key("nodes").integer(table.nodes);
  if (table.nodes_per_domain > 1) json.key("nodes_per_domain").integer(table.nodes_per_domain);
  json.key("gpus_per_node").integer(table.gpus_per_node);
  json.key("gpu").string(table.gpu);
  json.key("torch").string(to_string(report.torch));
  json.key("nccl").string(to_string(report.nccl));
  json.key("rows").begin_array();
  for (const AllReduceRow& row : table.rows) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("size_bytes").integer(row.size.count());
    json.key("time_us").time(row.time);
    json.key("low_us").time(row.low);
    json.key("high_us").time(row.high);
    json.key("algbw_gbps").ratio(algbw_gbps(row.size, row.time));
    json.key("busbw_gbps").ratio(busbw_gbps(row.size, row.time, table.ranks, table.collective));
    json.key("algorithm").string(name_of(row.choice.algorithm));
    json.key("protocol").string(name_of(row.choice.protocol));
    json.key("channels").integer(row.choice.channels);
    json.key("nccl_estimate_us").time(row.choice.nccl_estimate);
    if (const auto& ways = row.other_ways) {
      const auto time_or_null = [&](const char* key, const std::optional<Duration>& time) {
        if (time)
          json.key(key).time(*time);
        else
          json.key(key).null();
      };
      time_or_null("ring_us", ways->ring);
      time_or_null("tree_us", ways->tree);
      json.key("reduce_broadcast_us").time(ways->reduce_broadcast);
    }
    json.end_object();
  }
  json.end_array();
  described_confidence().write_members(json, table.confidence);
  json.key("warnings").strings(report.warnings.texts());
  write_calibrated_by(json, report.cluster, Backend::nccl);
  json.end_object();
  return std::move(json).finish();
}

std::string measured_all_reduces_json(const MeasuredAllReduces& measured) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.measured_all_reduces/1");
  json.key("source").string(measured.source);
  json.key("rows").begin_array();
  for (const auto& [size, time_us] : measured.time_us) {
    json.begin_object(JsonWriter::Layout::line);
    json.key("size_bytes").integer(size.count());
    json.key("time_us").ratio(time_us);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
