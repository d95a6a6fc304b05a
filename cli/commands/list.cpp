#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "command_list.hpp"
#include "commands.hpp"
#include "ddpsim/formats/json_writer.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/reports/schemas.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "ddpsim/topologies/cluster_line.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/traces/import.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "printing.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct ListArguments {
  bool commands = false;
  bool json = false;
  std::optional<std::string> schema;
};

struct Row {
  std::string name;
  std::string summary;
  std::string model = {};               ///< of a GPU
  std::string example = {};             ///< of a word's value
  bool joins_gpus = false;              ///< of a word
  std::vector<std::string> kinds = {};  ///< of network, of the word that names one
};

struct Section {
  std::string name;
  std::vector<Row> rows;
};

std::string summary_of(const Model& model) {
  std::int64_t bytes = 0;
  for (const Parameter& parameter : model.parameters)
    bytes += gradient_bytes(parameter).value_or(Bytes()).count();
  return fmt::format("{} parameters, {} bytes of fp32 gradients; estimates: batch {} of {} {}",
                     model.parameters.size(), bytes, model.default_batch, model.sample_size,
                     model.sample == SampleKind::image ? "pixels a side" : "tokens");
}

std::string summary_of(const GpuModel& gpu, const GpuFamily& family,
                       const std::set<std::string>& logged) {
  return fmt::format("{}: {:g} TFLOPS in half precision, {:g} GB/s of memory, {} GiB, {} {}{}{}",
                     family.name, gpu.half_tflops, gpu.memory_bandwidth.gigabytes_per_second(),
                     gpu.memory.count() >> 30, gpu.sms,
                     gpu.vendor == GpuVendor::amd ? "CUs" : "SMs",
                     gpu.name == "MI250X" ? "; one of the two dies of a card (GCD)"
                     : gpu.name == "A16"  ? "; one of the four GPUs of a card"
                                          : "",
                     logged.count(gpu.product()) != 0 || logged.count(gpu.name) != 0
                         ? ""
                         : "; data sheet values, no bundled log was taken on it");
}

std::string summary_of(const BundledCluster& cluster) {
  if (cluster.calibrated_nodes.empty()) return cluster.summary;
  const bool one = cluster.calibrated_nodes == std::vector{1};
  return fmt::format("{}; calibrated by published logs of {} node{}", cluster.summary,
                     fmt::join(cluster.calibrated_nodes, ", "), one ? "" : "s");
}

std::vector<Section> bundled() {
  Section workloads{"workloads", {}};
  for (const BundledWorkload& workload : bundled_workloads())
    workloads.rows.push_back({workload.name, workload.summary});
  Section models{"models", {}};
  for (const Model& model : bundled_models())
    models.rows.push_back({model.name, summary_of(model)});
  Section clusters{"clusters", {}};
  for (const BundledCluster& cluster : bundled_clusters())
    clusters.rows.push_back({cluster.name, summary_of(cluster)});
  Section gpus{"gpus", {}};
  std::set<std::string> logged;  // some cluster's published logs were taken on it
  for (const BundledCluster& cluster : bundled_clusters())
    if (!cluster.calibrated_nodes.empty()) logged.insert(cluster.gpu);
  for (const GpuFamily& family : gpu_families())
    for (const GpuModel& gpu : family.gpus)
      gpus.rows.push_back({gpu.product(), summary_of(gpu, family, logged), gpu.name});
  Section torch{"torch", {}};
  for (const TorchVersion release : torch_releases())
    torch.rows.push_back({to_string(release), "NCCL " + to_string(bundled_nccl(release))});
  Section words{"cluster_words", {}};
  for (const LineWord& word : line_words())
    words.rows.push_back(
        {.name = std::string(word.key),
         .summary = std::string(word.summary),
         .example = std::string(word.example),
         .joins_gpus = word.role == WordRole::joins_gpus,
         .kinds = word.key == "nic" ? network_kind_words() : std::vector<std::string>()});
  Section schemas{"schemas", {}};
  for (const std::string& name : schema_names())
    schemas.rows.push_back({name, schema_summary(name)});
  return {workloads, models, clusters, words, gpus, torch, schemas};
}

std::string json_of(const std::vector<Section>& sections) {
  JsonWriter json;
  json.begin_object();
  json.key("schema").string("ddpsim.list/1");
  for (const Section& section : sections) {
    json.key(section.name).begin_array();
    for (const Row& row : section.rows) {
      json.begin_object();
      json.key("name").string(row.name);
      json.key("summary").string(row.summary);
      if (!row.model.empty()) json.key("model").string(row.model);
      if (!row.example.empty()) json.key("example").string(row.example);
      if (row.joins_gpus) json.key("joins_gpus").boolean(true);
      if (!row.kinds.empty()) json.key("kinds").strings(row.kinds);
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
  return std::move(json).finish();
}

int list_all(bool json) {
  const std::vector<Section> sections = bundled();
  if (json) {
    print(json_of(sections));
    return kOk;
  }
  const auto shown = [](const Row& row) {
    return row.example.empty() ? row.name : row.name + ":" + row.example;
  };
  std::size_t width = 0;
  for (const Section& section : sections)
    for (const Row& row : section.rows) width = std::max(width, shown(row).size());
  std::string text;
  for (const Section& section : sections) {
    text += section.name + "\n";
    for (const Row& row : section.rows)
      text += fmt::format("  {:<{}}  {}\n", shown(row), width, row.summary);
  }
  print(text);
  return kOk;
}

std::string schema_named(const std::string& name) {
  const std::vector<std::string> known = schema_names();
  if (std::ranges::find(known, name) == known.end())
    throw UsageError("--schema", not_one_of(name, known));
  return schema_of(name);
}

int run(const CLI::App& program, const ListArguments& arguments) {
  if (arguments.schema)
    print(schema_named(*arguments.schema));
  else if (arguments.commands)
    print(arguments.json ? commands_json(program) : commands_text(program));
  else
    return list_all(arguments.json);
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("list", "bundled workloads, models, clusters; GPUs, PyTorch versions");
  const auto arguments = std::make_shared<ListArguments>();
  command->add_flag("--commands", arguments->commands,
                    "instead, every command with its arguments and options");
  command
      ->add_option("--schema", arguments->schema,
                   "instead, the JSON Schema of a document that --json prints: ddpsim.result/1")
      ->type_name("NAME")
      ->excludes("--commands");
  add_json_option(*command, arguments->json);
  add_example(*command, "ddpsim list");
  command->callback(
      [&action, &app, arguments] { action = [&app, arguments] { return run(app, *arguments); }; });
}

}  // namespace ddpsim
