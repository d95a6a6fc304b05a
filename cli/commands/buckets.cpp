#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "commands.hpp"
#include "ddp_arguments.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/number.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/formats/words.hpp"
#include "ddpsim/jobs/evidence_warnings.hpp"
#include "ddpsim/jobs/job_warnings.hpp"
#include "ddpsim/jobs/workload_source.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/values/possible_versions.hpp"
#include "exit_code.hpp"
#include "help_format.hpp"
#include "job_arguments.hpp"
#include "logged_buckets.hpp"
#include "printing.hpp"
#include "terminal.hpp"
#include "word_option.hpp"

namespace ddpsim {
namespace {

struct BucketsArguments {
  std::string workload;
  std::optional<std::string> model;
  DdpArguments ddp;
  bool in_ready_order = true;
  std::optional<std::string> limits;
  OutputArguments output;
};

/// Returns a workload with the parameters of a named model and their ready order, without times.
std::optional<Workload> workload_of_model(const std::string& name) {
  std::optional<Model> model = find_model(name);
  if (!model) return std::nullopt;
  Workload workload;
  workload.name = model->name;
  workload.parameters = std::move(model->parameters);
  workload.backward.emplace();
  for (const std::size_t parameter : model->ready_order)
    workload.backward->ready.push_back({.parameter = parameter, .at = {}, .copied_at = {}});
  return workload;
}

std::vector<Bytes> parse_limits(const std::string& text) {
  std::vector<Bytes> limits;
  for (const std::string_view item : split(text, ',')) {
    const auto value = parse_number<std::int64_t>(item);
    if (!value || *value < 0)
      throw UsageError(
          "--bucket-limits",
          fmt::format("\"{}\" is not a whole number of bytes from 0 to 2^63 - 1", item));
    limits.emplace_back(*value);
  }
  return limits;
}

/// Returns the PyTorch version to assume. There is no cluster here, so the GPU is the recorded one.
TorchVersion assumed_for(const Workload& workload) {
  const std::optional<GpuModel> gpu = recorded_on(workload);
  return assumed_among(
      possible_versions(workload, Cluster{}, gpu ? &*gpu : nullptr, DdpOptions{}, std::nullopt));
}

/// Warns if buckets in ready order cannot be shown: none is recorded, or these buckets are never `rebuilt`.
void warn_of_order(const Workload& workload, bool rebuilt, std::vector<std::string>& warnings) {
  if (!rebuilt)
    warnings.emplace_back(
        "this PyTorch version with these flags never rebuilds buckets, so the buckets at "
        "construction are shown");
  else if (!workload.backward || workload.backward->ready.empty())
    warnings.emplace_back(
        "the order in which gradients become ready is not recorded; reverse definition order is "
        "used, which real models do not follow");
}

int run(const BucketsArguments& arguments) {
  const bool in_ready_order = arguments.in_ready_order;
  const std::optional<TorchVersion> stated = stated_torch(arguments.ddp.torch);
  DdpOptions options = ddp_options(arguments.ddp);
  if (stated) require_supported(options, *stated);
  std::optional<std::vector<Bytes>> limits;
  if (arguments.limits) limits = parse_limits(*arguments.limits);

  std::vector<std::string> warnings;
  std::optional<DdpLog> log;
  Workload workload;
  if (std::optional<Workload> model = workload_of_model(arguments.workload)) {
    workload = std::move(*model);
  } else {
    LoadedWorkload loaded = load_workload({.source = arguments.workload, .model = arguments.model});
    workload = std::move(loaded.workload);
    log = std::move(loaded.ddp_log);
    warnings.insert(warnings.end(), loaded.warnings.begin(), loaded.warnings.end());
    if (log)
      for (std::string& warning : warnings_in_workload(arguments.workload))
        warnings.push_back(std::move(warning));
  }
  TorchInForce torch = torch_in_force(stated, workload.torch);
  if (!torch.known) torch.version = assumed_for(workload);
  require_supported(options, torch.version);
  for (std::string& warning : ddp_warnings(options, torch.version))
    warnings.push_back(std::move(warning));
  if (const std::optional<std::string> problem = cannot_assign(workload))
    throw InputError({.file = arguments.workload, .where = "", .message = *problem, .hint = ""});

  std::optional<LoggedBuckets> logged;
  if (log && !limits) {
    adopt_logged_options(*log, options);
    require_supported(options, torch.version);
    logged = logged_buckets(*log, workload, options, torch.version, in_ready_order);
  }
  const BucketLimits derived = bucket_limits(options, torch.version);
  std::vector<Bucket> buckets;
  if (limits) {
    buckets = in_ready_order ? rebuilt_buckets(workload, *limits)
                             : construction_buckets(workload, *limits);
  } else {
    buckets = in_ready_order ? steady_buckets(workload, options, torch.version)
                             : construction_buckets(workload, derived.construction);
  }
  if (in_ready_order)
    warn_of_order(workload, limits.has_value() || derived.rebuilt_from.has_value(), warnings);

  deliver({.json = [&] { return buckets_json(buckets, warnings, torch, logged); },
           .text =
               [&](const TerminalStyle& style) {
                 return buckets_text(buckets, workload, style, logged);
               },
           .csv = [&] { return buckets_csv(buckets); }},
          arguments.output);
  if (!arguments.output.json)
    for (const std::string& warning : warnings) print_error("warning: " + warning);
  return kOk;
}

}  // namespace

void add_buckets(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "buckets", "Show which gradients share a bucket, and why each bucket closed");
  const auto arguments = std::make_shared<BucketsArguments>();
  command
      ->add_option("WORKLOAD", arguments->workload,
                   "A file (workload, trace, DDP logging data), a workload or model from `ddpsim "
                   "list`, or an estimate such as gpt2@A100:b8")
      ->required();
  add_bucket_options(*command, arguments->ddp);
  add_model_option(*command, arguments->model);
  add_word_option<bool>(*command, "--order", arguments->in_ready_order,
                        {{"ready", true}, {"definition", false}},
                        "Show buckets after the rebuild in ready order, or at construction in "
                        "definition order (default: ready)");
  command
      ->add_option("--bucket-limits", arguments->limits,
                   "Close buckets at exactly these limits; the last one repeats")
      ->type_name("BYTES,…");
  add_output_options(*command, arguments->output, false);
  add_example(*command, "ddpsim buckets resnet50 --bucket-cap-mb 50");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace ddpsim
