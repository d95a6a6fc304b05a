#include "ddpsim/traces/ddp_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <utility>

#include "ddp_log_fields.hpp"
#include "ddp_log_text.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "ddpsim/models/catalogue.hpp"
#include "model_fit.hpp"
#include "ready_shares.hpp"

namespace ddpsim {
namespace {

constexpr Bytes kDefaultCap = Bytes(25 << 20);

double milliseconds(const std::optional<Duration>& time) {
  return time.value_or(Duration()).milliseconds();
}

/// Recognises a hook by its name in Python, or by the logger's name for a built-in hook.
CommHook known_hook(const std::string& logged) {
  if (logged == "BuiltinCommHookType.FP16_COMPRESS") return CommHook::fp16_compress;
  for (const CommHook hook : comm_hooks())
    if (logged == name_of(hook)) return hook;
  return CommHook::none;
}

class LogImport {
 public:
  LogImport(DdpLogFields fields, std::string file, const ImportOptions& options)
      : fields_(std::move(fields)), file_(std::move(file)), options_(options) {}

  Imported run() {
    describe();
    choose_model();
    fill_order();
    fill_times();
    note_options();
    return std::move(result_);
  }

 private:
  void describe();
  void choose_model();
  void fill_order();
  void fill_times();
  void note_options();
  std::optional<std::string> does_not_fit(const Model& model) const;
  std::vector<Parameter> parameters_of(const Model& model) const;

  const DdpLogFields fields_;
  const std::string file_;
  const ImportOptions& options_;
  std::vector<std::size_t> model_order_;  ///< the model's ready order; empty if unknown
  Imported result_;
};

void LogImport::describe() {
  Workload& workload = result_.workload;
  const std::filesystem::path path(file_);
  workload.name = path.stem().string();
  workload.provenance.emplace_back("source", path.filename().string());
  workload.provenance.emplace_back("kind", "DDP logging data");
  workload.provenance.emplace_back("rank", std::to_string(fields_.rank));
  result_.recognised.push_back(fmt::format(
      "DDP logging data of {}, rank {} of {}, after {} iterations: {} parameters, {} bytes{}",
      fields_.module_name.empty() ? "a model" : fields_.module_name, fields_.rank,
      fields_.world_size, fields_.iteration, fields_.parameters, fields_.total.count(),
      fields_.backend.empty() ? "" : ", over " + fields_.backend));
  workload.gpu = options_.gpu;
  if (workload.gpu.empty())
    result_.warnings.push_back("the GPU is not recorded; name it with --gpu");
  RecordedWith& recorded = workload.recorded_with;
  recorded.ddp_hooks = true;
  recorded.world_size = fields_.world_size;
  const std::vector<Bytes>& buckets =
      fields_.rebuilt_bucket_sizes.empty() ? fields_.bucket_sizes : fields_.rebuilt_bucket_sizes;
  if (fields_.backend == "nccl") recorded.nccl_kernels = static_cast<std::int64_t>(buckets.size());
}

/// The model's parameters, in the log's dtype if the log has only one.
std::vector<Parameter> LogImport::parameters_of(const Model& model) const {
  std::vector<Parameter> parameters = model.parameters;
  if (fields_.dtypes.size() == 1) {
    for (Parameter& parameter : parameters) parameter.dtype = fields_.dtypes.front();
  }
  return parameters;
}

std::optional<std::string> LogImport::does_not_fit(const Model& model) const {
  const std::vector<Parameter> parameters = parameters_of(model);
  if (parameters.size() != fields_.parameters) {
    return fmt::format("it has {} parameters, but the log has {}", parameters.size(),
                       fields_.parameters);
  }
  Bytes total;
  for (const Parameter& parameter : parameters) total += *gradient_bytes(parameter);
  if (total != fields_.total) {
    return fmt::format("its parameters have {} bytes, but those of the log have {}", total.count(),
                       fields_.total.count());
  }
  for (std::size_t b = 0; b < fields_.rebuilt_members.size(); ++b) {
    Bytes held;
    for (const std::size_t index : fields_.rebuilt_members[b]) {
      held += *gradient_bytes(parameters[index]);
    }
    if (held != fields_.rebuilt_bucket_sizes[b]) {
      return fmt::format("its parameters {} have {} bytes, but bucket {} of the log has {}",
                         fmt::join(fields_.rebuilt_members[b], " "), held.count(), b,
                         fields_.rebuilt_bucket_sizes[b].count());
    }
  }
  return std::nullopt;
}

void LogImport::choose_model() {
  Workload& workload = result_.workload;
  std::optional<Model> model;
  std::vector<std::string> fitting;
  if (!options_.model.empty()) {
    model = named_model(options_.model, fields_.parameters, file_);
    if (const auto problem = does_not_fit(*model)) {
      throw InputError({file_, "", fmt::format("does not fit {}: {}", model->name, *problem),
                        "Name the model that was trained with --model, or leave it out"});
    }
    result_.recognised.push_back(
        fmt::format("shapes of {}, as asked; its parameters fill the log's buckets", model->name));
  } else {
    for (const Model& candidate : bundled_models()) {
      if (does_not_fit(candidate)) continue;
      fitting.push_back(candidate.name);
      model = candidate;
    }
    if (fitting.size() > 1) model.reset();
    if (model) {
      result_.recognised.push_back(
          fmt::format("shapes are not in the log; used those of {}, the only bundled model that "
                      "fills its buckets",
                      model->name));
    }
  }
  if (model) {
    workload.parameters = parameters_of(*model);
    workload.buffers = std::move(model->buffers);
    workload.provenance.emplace_back("shapes", source_of(*model));
    model_order_ = std::move(model->ready_order);
    return;
  }
  for (std::size_t k = 0; k < fields_.parameters; ++k) {
    workload.parameters.push_back(
        {.name = fmt::format("parameter_{}", k),
         .shape = {},
         .dtype = fields_.dtypes.empty() ? Dtype::float32 : fields_.dtypes.front(),
         .device = {}});
  }
  result_.warnings.push_back(
      fitting.empty() ? "shapes are not in the log, and no bundled model fills its buckets. They "
                        "stay unknown unless you name the model with --model"
                      : fmt::format("shapes are not in the log and stay unknown, because {} all "
                                    "fit. Name the trained model with --model",
                                    fmt::join(fitting, ", ")));
}

/// The order of the gradients. The rebuilt buckets' order is preferred, because it decides which
/// gradients are sent together. Then the order of the last sampled iteration, then that of the
/// model.
void LogImport::fill_order() {
  std::vector<std::size_t> rebuilt;
  for (const auto& members : fields_.rebuilt_members) {
    rebuilt.insert(rebuilt.end(), members.begin(), members.end());
  }
  const bool last_is_whole = fields_.last_ready_order.size() == fields_.parameters;
  std::vector<std::size_t> order;
  if (rebuilt.size() == fields_.parameters) {
    order = rebuilt;
    result_.recognised.push_back("ready order of the rebuilt buckets");
    if (last_is_whole && fields_.last_ready_order != rebuilt) {
      result_.warnings.push_back(
          "gradients came in another order in the last sampled iteration than when the buckets "
          "were rebuilt");
    }
  } else if (last_is_whole) {
    order = fields_.last_ready_order;
    result_.recognised.push_back("ready order of the last sampled iteration");
  } else if (!model_order_.empty()) {
    order = model_order_;
    result_.warnings.push_back(fmt::format(
        "the log's ready order names only {} of {} parameters; the model's own order is used",
        fields_.last_ready_order.size(), fields_.parameters));
  } else {
    result_.warnings.push_back("no complete ready order is in the log, and no model is known");
    return;
  }
  result_.workload.backward.emplace();
  for (const std::size_t parameter : order) {
    result_.workload.backward->ready.push_back({.parameter = parameter, .at = {}, .copied_at = {}});
  }
}

void LogImport::fill_times() {
  Workload& workload = result_.workload;
  workload.forward = fields_.forward;
  if (!fields_.backward || !workload.backward) {
    result_.warnings.push_back(
        "no backward time is in the log: DDP samples iterations 1 to 10 and every 100th, and "
        "writes them at the next forward");
    return;
  }
  workload.backward->duration = *fields_.backward;
  workload.recorded_with.exposed = fields_.tail;
  result_.recognised.push_back(fmt::format(
      "last sampled iteration: forward {:.3f} ms, backward compute {:.3f} ms, then {:.3f} ms of "
      "communication and copies out. The means of all sampled iterations, including the slow first "
      "one, are {:.3f} and {:.3f} ms",
      milliseconds(fields_.forward), milliseconds(fields_.backward), milliseconds(fields_.tail),
      milliseconds(fields_.mean_forward), milliseconds(fields_.mean_backward)));
  std::vector<ReadyEvent>& ready = workload.backward->ready;
  std::vector<std::size_t> order;
  for (const ReadyEvent& event : ready) order.push_back(event.parameter);
  const ReadyShares shares = ready_shares(workload.parameters, order);
  for (std::size_t k = 0; k < ready.size(); ++k) {
    ready[k].at = workload.backward->duration.scaled(shares.share[k]);
  }
  const std::string assumed =
      shares.source.empty()
          ? std::string("spread evenly over backward")
          : fmt::format("spread over backward as in the bundled {}", shares.source);
  workload.provenance.emplace_back("ready_times", "assumed: " + assumed);
  result_.warnings.push_back(fmt::format(
      "the log does not say when each gradient was ready: they are {}. This assumption is off by "
      "{} of backward and affects the exposed communication. A profiler trace has the true times",
      assumed, shares.source.empty() ? "6 to 34 %" : "a few percent"));
  result_.warnings.push_back("no optimizer and no time between steps is in the log");
}

void LogImport::note_options() {
  DdpOptions& ddp = result_.ddp_log.emplace().options;
  if (fields_.bucket_cap != kDefaultCap) {
    ddp.bucket_cap_mb = static_cast<double>(fields_.bucket_cap.count()) / (1 << 20);
  }
  ddp.find_unused_parameters = fields_.find_unused_parameters;
  ddp.static_graph = fields_.static_graph;
  ddp.gradient_as_bucket_view = fields_.gradient_as_bucket_view;
  ddp.broadcast_buffers = fields_.broadcast_buffers;
  ddp.sync_batchnorm = fields_.has_sync_bn;
  result_.ddp_log->construction_bytes = fields_.bucket_sizes;
  result_.ddp_log->rebuilt_bytes = fields_.rebuilt_bucket_sizes;
  result_.bucket_bytes = fields_.rebuilt_bucket_sizes;
  ddp.comm_hook = known_hook(fields_.comm_hook);
  if (!fields_.comm_hook.empty() && ddp.comm_hook == CommHook::none) {
    result_.warnings.push_back(fmt::format(
        "a communication hook ({}) was in use, which is not simulated", fields_.comm_hook));
  }
  std::string line;
  if (ddp.bucket_cap_mb) line += fmt::format(" --bucket-cap-mb {}", *ddp.bucket_cap_mb);
  if (ddp.find_unused_parameters) line += " --find-unused-parameters";
  if (ddp.static_graph) line += " --static-graph";
  if (ddp.gradient_as_bucket_view) line += " --gradient-as-bucket-view";
  if (!ddp.broadcast_buffers) line += " --no-broadcast-buffers";
  if (ddp.sync_batchnorm) line += " --sync-batchnorm";
  if (ddp.comm_hook != CommHook::none)
    line += fmt::format(" --comm-hook {}", word_of(ddp.comm_hook));
  if (ddp.comm_hook == CommHook::power_sgd) line += " --matrix-approximation-rank R";
  if (ddp.comm_hook == CommHook::post_local_sgd) line += " --local-sgd-period N";
  if (!line.empty()) {
    result_.recognised.push_back("to simulate it as it ran, pass" + line + ", and --torch VERSION");
  }
}

bool is_json_object(std::string_view text) {
  const std::size_t brace = text.find_first_not_of(" \t\r\n");
  if (brace == std::string_view::npos || text[brace] != '{') return false;
  const std::size_t next = text.find_first_not_of(" \t\r\n", brace + 1);
  return next != std::string_view::npos && (text[next] == '"' || text[next] == '}');
}

}  // namespace

Imported parse_ddp_log(std::string_view text, const std::string& file,
                       const ImportOptions& options) {
  if (is_json_object(text)) return LogImport(read_ddp_log(text, file), file, options).run();
  const PrintedDdpLog printed = read_printed_ddp_log(text, file);
  Imported result = LogImport(read_ddp_log(printed.json, file), file, options).run();
  if (printed.number > 1)
    result.recognised.push_back(fmt::format(
        "it holds {} printouts; the last one is used, on line {}", printed.number, printed.line));
  return result;
}

}  // namespace ddpsim
