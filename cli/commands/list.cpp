#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "command_list.hpp"
#include "commands.hpp"
#include "ddpsim/formats/described.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/reports/schemas.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "ddpsim/topologies/cluster_line.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/topologies/kind_words.hpp"
#include "ddpsim/traces/import.hpp"
#include "documents.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "terminal.hpp"

namespace ddpsim {
namespace {

struct ListArguments {
  bool commands = false;
  OutputArguments forms;  ///< of the answer
  std::optional<std::string> schema;
};

struct Row {
  std::string name;
  std::string summary;
  std::string family = {};              ///< of a model
  std::string model = {};               ///< of a GPU
  std::string example = {};             ///< value of a word
  bool joins_gpus = false;              ///< of a word
  std::vector<std::string> kinds = {};  ///< of networks
};

/// Everything that the program contains: bundled inputs, known names and schemas.
struct Bundle {
  std::vector<Row> workloads;
  std::vector<Row> models;
  std::vector<Row> clusters;
  std::vector<Row> words;
  std::vector<Row> gpus;
  std::vector<Row> torch;
  std::vector<Row> schemas;
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

Bundle bundled() {
  Bundle all;
  for (const BundledWorkload& workload : bundled_workloads())
    all.workloads.push_back({workload.name, workload.summary});
  auto model = bundled_models().begin();
  for (const ModelFamily& family : model_families())
    for (std::size_t k = 0; k < family.models.size(); ++k, ++model)
      all.models.push_back({model->name, summary_of(*model), std::string(family.name)});
  for (const BundledCluster& cluster : bundled_clusters())
    all.clusters.push_back({cluster.name, summary_of(cluster)});
  // GPUs that published logs were taken on.
  std::set<std::string> logged;
  for (const BundledCluster& cluster : bundled_clusters())
    if (!cluster.calibrated_nodes.empty()) logged.insert(cluster.gpu);
  for (const GpuFamily& family : gpu_families())
    for (const GpuModel& gpu : family.gpus)
      all.gpus.push_back(
          {.name = gpu.product(), .summary = summary_of(gpu, family, logged), .model = gpu.name});
  for (const TorchVersion release : torch_releases())
    all.torch.push_back({to_string(release), "NCCL " + to_string(bundled_nccl(release))});
  for (const LineWord& word : line_words())
    all.words.push_back(
        {.name = std::string(word.key),
         .summary = std::string(word.summary),
         .example = std::string(word.example),
         .joins_gpus = word.role == WordRole::joins_gpus,
         .kinds = word.key == "nic" ? network_kind_words() : std::vector<std::string>()});
  for (const DocumentType& document : all_documents())
    all.schemas.push_back({document.name, document.type->says});
  return all;
}

const Described<Row>& described_bundled() {
  static const auto described =
      Described<Row>("Bundled", "something with a name")
          .text("name", &Row::name, "the name, as arguments and options take it")
          .text("summary", &Row::summary, "what the name means, in one line")
          .text("family", unless_empty(&Row::family),
                "the models that it is listed with; only for models", Absent::left_out)
          .text("model", unless_empty(&Row::model),
                "the GPU's model without its variant; only for GPUs", Absent::left_out);
  return described;
}

const Described<Row>& described_word() {
  static const auto described =
      Described<Row>("ClusterWord", "a word in the one-line form of a cluster")
          .text("name", &Row::name, "the word before the colon")
          .text("summary", &Row::summary, "what the word means")
          .text("example", &Row::example, "a value that may follow the colon")
          .boolean(
              "joins_gpus",
              [](const Row& of) { return of.joins_gpus ? std::optional(true) : std::nullopt; },
              "whether the word says how GPUs of a node are joined; left out if not",
              Absent::left_out)
          .texts("kinds", unless_empty(&Row::kinds),
                 "kinds of network that the value may name; only for the word that names one",
                 Absent::left_out);
  return described;
}

struct Section {
  const char* name;
  std::vector<Row> Bundle::*rows;
  const Described<Row>& (*described)();
  const char* says;
};

constexpr std::array kSections = {
    Section{"workloads", &Bundle::workloads, &described_bundled, "bundled workloads"},
    Section{"models", &Bundle::models, &described_bundled, "models whose steps can be estimated"},
    Section{"clusters", &Bundle::clusters, &described_bundled, "bundled clusters"},
    Section{"cluster_words", &Bundle::words, &described_word,
            "words in the one-line form of a cluster"},
    Section{"gpus", &Bundle::gpus, &described_bundled, "GPUs whose data sheets are known"},
    Section{"torch", &Bundle::torch, &described_bundled,
            "PyTorch versions, each with the NCCL version that it ships"},
    Section{"schemas", &Bundle::schemas, &described_bundled,
            "documents with a JSON Schema, which list --schema NAME prints"},
};

const Described<Bundle>& described_list() {
  static const auto described = [] {
    Described<Bundle> list("ListResult", "bundled inputs, known names and schemas");
    list.constant("schema", "ddpsim.list/1", "which document this is");
    for (const Section& section : kSections)
      list.list(section.name, section.rows, section.described(), section.says);
    return list;
  }();
  return described;
}

std::string list_text(const Bundle& all) {
  const auto shown = [](const Row& row) {
    return row.example.empty() ? row.name : row.name + ":" + row.example;
  };
  std::size_t width = 0;
  for (const Section& section : kSections)
    for (const Row& row : all.*section.rows) width = std::max(width, shown(row).size());
  std::string text;
  for (const Section& section : kSections) {
    text += section.name + std::string("\n");
    std::string_view family;
    for (const Row& row : all.*section.rows) {
      if (row.family != family) text += fmt::format("  {}\n", row.family);
      family = row.family;
      const std::size_t indent = family.empty() ? 2 : 4;
      text +=
          fmt::format("{:{}}{:<{}}  {}\n", "", indent, shown(row), width + 2 - indent, row.summary);
    }
  }
  return text;
}

DocumentType document_named(const std::string& name) {
  const std::vector<DocumentType> documents = all_documents();
  std::vector<std::string> known;
  for (const DocumentType& document : documents) {
    if (document.name == name) return document;
    known.push_back(document.name);
  }
  throw UsageError("--schema", not_one_of(name, known));
}

Answer answer_of_schema(const DocumentType& document) {
  return {.json = [document] { return json_schema(document); },
          .text = [document](const TerminalStyle& style) { return schema_text(document, style); }};
}

Answer answer_of_commands(const CLI::App& program) {
  return {.json = [&program] { return commands_json(program); },
          .text = [&program](const TerminalStyle&) { return commands_text(program); }};
}

Answer answer_of_list() {
  return {.json = [] { return described_list().text_of(bundled()); },
          .text = [](const TerminalStyle&) { return list_text(bundled()); }};
}

int run(const CLI::App& program, const ListArguments& arguments) {
  deliver(arguments.schema     ? answer_of_schema(document_named(*arguments.schema))
          : arguments.commands ? answer_of_commands(program)
                               : answer_of_list(),
          arguments.forms);
  return kOk;
}

}  // namespace

const ObjectType& list_document() {
  return described_list().type();
}

void add_list(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "list", "List bundled workloads, models, clusters, GPUs, PyTorch versions");
  const auto arguments = std::make_shared<ListArguments>();
  command->add_flag("--commands", arguments->commands,
                    "List every command with its arguments and options instead");
  command
      ->add_option("--schema", arguments->schema,
                   "List the keys of this document instead, such as ddpsim.result/1; with --json, "
                   "its JSON Schema")
      ->type_name("NAME")
      ->excludes("--commands");
  add_form_options(*command, arguments->forms);
  add_example(*command, "ddpsim list");
  command->callback(
      [&action, &app, arguments] { action = [&app, arguments] { return run(app, *arguments); }; });
}

}  // namespace ddpsim
