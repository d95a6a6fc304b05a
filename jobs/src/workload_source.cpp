#include "ddpsim/jobs/workload_source.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <system_error>

#include "ddpsim/formats/files.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/formats/quote.hpp"
#include "ddpsim/formats/suggest.hpp"
#include "ddpsim/models/estimate.hpp"
#include "ddpsim/models/model_config.hpp"
#include "ddpsim/models/model_file.hpp"
#include "ddpsim/topologies/cluster_source.hpp"
#include "ddpsim/traces/import.hpp"

namespace ddpsim {
namespace {

/// In bytes: a config.json has a few thousand, the trace of a 70B model has 5 MB.
constexpr std::int64_t kMostModelFile = 64 << 20;
constexpr std::size_t kMostConfig = 1 << 20;

/// Describes MODEL if it is a file: a traced model or a config.json.
std::optional<ModelDescription> model_of_file(const std::string& text) {
  const std::string path(model_part(text));
  std::error_code error;
  if (describe_model(path) || !(path.ends_with(".json") || std::filesystem::exists(path, error)))
    return std::nullopt;
  const std::string content = read_file(path, kMostModelFile);
  if (is_model_file(content)) return parse_model_file(content, path);
  if (content.size() > kMostConfig)
    throw InputError(
        {.file = path,
         .where = "",
         .message = fmt::format("has {} bytes, too many for a config.json", content.size()),
         .hint = "Give a config.json, or the file that ddpsim.estimate wrote"});
  return model_of_config(content, path);
}

LoadedWorkload load_estimate(const std::string& text) {
  const EstimateSpec spec = parse_estimate_spec(text, model_of_file(text));
  if (const std::string problem = gpu_name_problem(spec.gpu); !problem.empty())
    throw InputError({.file = in_quotes(text),
                      .where = "",
                      .message = problem,
                      .hint = gpus_instead_of(spec.gpu)});
  return {.workload = estimate_workload(spec, *find_gpu(spec.gpu)), .warnings = {}};
}

/// Reduces the GPU's name to its model, because GPUs are compared by model: "Tesla V100-SXM2-16GB"
/// is a V100. What the recording says about the variant is kept separately.
void split_gpu_name(Workload& workload) {
  std::optional<GpuModel> gpu = find_gpu(workload.gpu);
  if (!gpu) return;
  for (const auto& [key, value] : workload.provenance) {
    const std::optional<GpuModel> device =
        gpu->variant_open && key == "gpu_name" ? find_gpu(value) : std::nullopt;
    if (device && device->name == gpu->name) gpu = device;
  }
  workload.gpu = gpu->name;
  if (std::string variant = gpu->known_variant(); !variant.empty())
    // An estimate knows its own variant.
    workload.gpu_variant = std::move(variant);
}

/// Which variant was assumed if the name of the GPU leaves it open: " for A100-80GB".
std::string taken_variant(const Workload& workload) {
  const std::optional<GpuModel> gpu = recorded_on(workload);
  return gpu && gpu->variant_open ? " for " + gpu->variant : "";
}

[[noreturn]] void refuse_unknown(const std::string& text) {
  std::vector<std::string> names = model_names();
  if (describe_model(text))
    throw InputError({.file = text,
                      .where = "",
                      .message = "a model alone has no times",
                      .hint = fmt::format("Estimate them for a GPU: {}@V100", text)});
  for (const BundledWorkload& bundled : bundled_workloads()) names.push_back(bundled.name);
  throw InputError({.file = text,
                    .where = "",
                    .message = "no such file and no bundled workload of that name",
                    .hint = did_you_mean(text, names, "`ddpsim list` shows what is bundled")});
}

}  // namespace

std::optional<GpuModel> recorded_on(const Workload& workload) {
  return find_gpu(workload.gpu_variant.empty() ? workload.gpu : workload.gpu_variant);
}

bool is_workload(const std::string& text) {
  std::error_code error;
  if (std::filesystem::exists(text, error)) return is_recording(text);
  if (bundled_workload(text)) return true;
  const std::string model(model_part(text));
  if (describe_model(model) || model.starts_with("llama:")) return true;
  // FILE.json@16 is a cluster of 16 nodes. No GPU's name begins with a digit or a range.
  const std::string_view behind = std::string_view(text).substr(model.size());
  return model.ends_with(".json") && std::filesystem::exists(model, error) && behind.size() > 1 &&
         std::isalpha(static_cast<unsigned char>(behind[1])) != 0;
}

LoadedWorkload load_workload(const WorkloadRequest& request) {
  const std::string& text = request.source;
  LoadedWorkload loaded;
  std::error_code error;
  const bool file = std::filesystem::exists(text, error);
  if (request.timing == Timing::compacted && (!file || bundled_workload(text)))
    throw InputError({.file = text,
                      .where = "",
                      .message = "only a profiler trace can be compacted",
                      .hint = "Leave out --timing compacted, or give the trace"});
  if (std::optional<Workload> bundled = bundled_workload(text)) {
    loaded.workload = std::move(*bundled);
  } else if (file) {
    ImportOptions options;
    options.model = request.model.value_or("");
    options.timing = request.timing;
    Imported imported = import_file(text, options);
    loaded = {std::move(imported.workload), std::move(imported.warnings),
              std::move(imported.ddp_log), imported.unprofiled_step};
  } else if (text.find('@') != std::string::npos) {
    loaded = load_estimate(text);
  } else {
    refuse_unknown(text);
  }
  split_gpu_name(loaded.workload);
  if (is_estimate(loaded.workload))
    loaded.warnings.insert(
        loaded.warnings.begin(),
        fmt::format(
            "an estimate{}: nobody measured this workload. Record a step once you have the GPU",
            taken_variant(loaded.workload)));
  for (const auto& [key, value] : loaded.workload.provenance) {
    if (key == kModelNoteMark) loaded.warnings.push_back(value);
    if (key == kNoteMark) loaded.warnings.push_back(fmt::format("config.json: {}", value));
    if (key == kIgnoredMark)
      loaded.warnings.push_back(
          fmt::format("config.json: ignored fields that change no parameter: {}", value));
  }
  return loaded;
}

}  // namespace ddpsim
