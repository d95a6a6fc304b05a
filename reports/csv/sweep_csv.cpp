#include <array>

#include "ddpsim/formats/csv.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/reports/sweep_report.hpp"

namespace ddpsim {
namespace {

/// Keys of a line before and behind its grid; columns are called alike.
constexpr std::array kBefore = {"point",         "workload",      "label",   "cluster",
                                "nodes",         "gpus_per_node", "ranks",   "gpu",
                                "nics_per_node", "per_nic_gbps",  "network", "oversubscription"};
constexpr std::array kBehind = {"iteration_us",
                                "iteration_low_us",
                                "iteration_high_us",
                                "grade",
                                "provenance",
                                "corrected_by",
                                "samples_per_second",
                                "tokens_per_second",
                                "model_flops_utilization",
                                "scaling_efficiency",
                                "exposed_communication_us",
                                "blocking_communication_us",
                                "memory_bytes",
                                "usd_per_hour",
                                "usd_per_1000_steps",
                                "usd_per_1000_steps_low",
                                "usd_per_1000_steps_high",
                                "error"};

/// A list of values with a blank between.
std::string cell(const Cursor& value) {
  constexpr double kAny = 1e300;
  if (value.is_string()) return value.string();
  if (value.is_number()) return number_token(value.number(-kAny, kAny));
  if (!value.is_array()) return value.boolean() ? "true" : "false";
  std::string cells;
  for (const Cursor& item : value.array()) cells += (cells.empty() ? "" : " ") + cell(item);
  return cells;
}

std::string cell(const std::optional<Cursor>& value) {
  return value ? cell(*value) : "";
}

}  // namespace

std::string sweep_csv_header(const std::vector<std::string>& grid) {
  std::vector<std::string> names(kBefore.begin(), kBefore.end());
  for (const std::string& option : grid) names.push_back("--" + option);
  names.insert(names.end(), kBehind.begin(), kBehind.end());
  return csv_row(names);
}

std::string sweep_csv_row(std::string_view line, const std::vector<std::string>& grid) {
  const Document document = Document::parse(line, "");
  const Object row = document.root().free_object();
  const Object values = row.required("grid").free_object();
  std::vector<std::string> cells;
  for (const char* key : kBefore) cells.push_back(cell(row.optional(key)));
  for (const std::string& option : grid) cells.push_back(cell(values.optional(option)));
  for (const char* key : kBehind) cells.push_back(cell(row.optional(key)));
  return csv_row(cells);
}

}  // namespace ddpsim
