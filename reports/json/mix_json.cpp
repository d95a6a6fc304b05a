#include "compare_json.hpp"
#include "ddpsim/reports/mix_report.hpp"

namespace ddpsim {
namespace {

void write_candidate(JsonWriter& json, const MixReport& report, std::size_t index) {
  const MixedCandidate& candidate = report.mix.candidates[index];
  const MixLabel& label = report.labels[index];
  json.begin_object();
  json.key("label").string(label.label);
  json.key("cluster").string(label.cluster_text);
  json.key("ranks").integer(label.ranks);
  json.key("grade").string(name_of(label.grade));
  json.key("changed_numerics").string_or_null(label.changed_numerics);
  write_range(json, "time", candidate.time);
  json.key("behind_percent");
  write_speedup(json, candidate.behind);
  write_speedup_reasons(json, candidate.behind);
  write_cost(json, report.costs, index, [&](const CandidateCost& cost) {
    constexpr double kHour = 3600;
    write_range(json, "usd_per_hour_of_reference", cost.usd_per_work.times(kHour));
  });
  json.end_object();
}

void write_mix(JsonWriter& json, const MixReport& report) {
  json.begin_object();
  json.key("reference").string(report.labels[report.reference].label);
  json.key("rows").begin_array();
  for (std::size_t i = 0; i < report.mix.candidates.size(); ++i) write_candidate(json, report, i);
  for (const NotCompared& job : report.not_compared) write_not_compared(json, job);
  json.end_array();
  json.key("by_speed").indices(report.mix.by_speed);
  if (report.costs) json.key("by_cost").indices(report.costs->by_cost);
  write_until(json, report.until);
  json.key("fastest_is_certain").boolean(contenders(report.mix).size() == 1);
  json.end_object();
}

}  // namespace

std::string mix_json(const MixReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string(kCompareSchema);
  json.key("workloads").begin_array();
  for (const MixedWorkload& workload : report.workloads) {
    json.begin_object();
    json.key("name").string(workload.name);
    json.key("share").ratio(workload.share);
    write_comparison(json, workload.report);
    json.end_object();
  }
  json.end_array();
  json.key("mix");
  write_mix(json, report);
  json.key("warnings").strings(report.warnings);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace ddpsim
