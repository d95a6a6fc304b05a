#include "setting.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "bucketing_search.hpp"
#include "ddpsim/sim/simulate/cannot_simulate.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "ddpsim/sim/values/size_text.hpp"
#include "host_settings.hpp"
#include "loader_setting.hpp"
#include "scheme_settings.hpp"

namespace ddpsim {
namespace {

template <typename Set>
Change of_options(Set set) {
  return [set](const Job& job) {
    SimulationOptions options = job.options();
    set(options);
    return job.with(std::move(options));
  };
}

template <typename Set>
Change of_ddp(Set set) {
  return of_options([set](SimulationOptions& options) { set(options.ddp_to_set()); });
}

/// In place of recorded ones, where today's are.
template <typename Set>
Change with_own_buckets(Set set) {
  return of_options([set](SimulationOptions& options) {
    options.buckets.reset();
    set(options.ddp_to_set());
  });
}

template <typename Set>
Change of_nccl(Set set) {
  return [set](const Job& job) {
    CollectiveModel model = job.model();
    if (AnalyticModel* nccl = nccl_of(model)) set(nccl->tuning);
    return job.with(std::move(model));
  };
}

/// gloo reduces bfloat16 in the sources of 2.7 (pytorch/pytorch#113557) and refuses it in 1.13; which release began is
/// not known here.
constexpr TorchVersion kGlooBfloat16{2, 7};

/// A first backward under no_sync() ends in "expect_autograd_hooks_ INTERNAL ASSERT FAILED" where the graph is static
/// (pytorch/pytorch#143580; tried with 1.13 and 2.13).
bool fails_under_no_sync(const SimulationOptions& options) {
  return options.ddp().static_graph && options.accumulate > 1;
}

bool every_parameter_is_used(const Workload& workload) {
  std::vector<bool> written(workload.parameters.size(), false);
  for (const ReadyEvent& event : workload.backward->ready) written[event.parameter] = true;
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!written[i] && is_reduced(workload.parameters[i])) return false;
  return true;
}

void add_ddp_settings(const Job& job, std::vector<Setting>& settings) {
  const DdpOptions& current = job.options().ddp();
  const auto add = [&](const std::string& text, Change change, std::string note) {
    settings.push_back(
        {.name = text, .change = std::move(change), .argument = text, .note = std::move(note)});
  };
  if (current.broadcast_buffers && !job.workload().buffers.empty())
    add(fmt::format("{}=False", buffers_argument(job.options().torch)),
        of_ddp([](DdpOptions& ddp) { ddp.broadcast_buffers = false; }),
        "running statistics drift apart: save and evaluate rank 0's");
  if (!current.gradient_as_bucket_view)
    add("gradient_as_bucket_view=True",
        of_ddp([](DdpOptions& ddp) { ddp.gradient_as_bucket_view = true; }),
        "gradients cannot be detached");
  if (!current.static_graph)
    add("static_graph=True", of_ddp([](DdpOptions& ddp) { ddp.static_graph = true; }),
        "only where every step uses the same parameters in the same way");
  if (current.find_unused_parameters && every_parameter_is_used(job.workload()))
    add("find_unused_parameters=False",
        of_ddp([](DdpOptions& ddp) { ddp.find_unused_parameters = false; }),
        "every parameter was used in the workload's step");
}

constexpr const char* kHooks = "from torch.distributed.algorithms.ddp_comm_hooks import ";

Setting cast_setting(CommHook hook) {
  return {.name = std::string(name_of(hook)),
          .change = of_ddp([hook](DdpOptions& ddp) { ddp.comm_hook = hook; }),
          .after = fmt::format("model.register_comm_hook(None, default_hooks.{})", name_of(hook)),
          .changes_numerics = true,
          .note = "gradients travel with 16 bits",
          .imports = {fmt::format("{}default_hooks", kHooks)}};
}

/// Of buckets of `least` MiB or more.
Setting cast_setting(CommHook hook, double least) {
  Setting setting = cast_setting(hook);
  setting.name += fmt::format(" from {} MiB", least);
  setting.change = of_ddp([hook, least](DdpOptions& ddp) {
    ddp.comm_hook = hook;
    ddp.comm_hook_min_mb = least;
  });
  setting.after = fmt::format(
      "model.register_comm_hook(None, lambda group, bucket: (default_hooks.{} if "
      "bucket.buffer().numel() * bucket.buffer().element_size() >= {} else "
      "default_hooks.allreduce_hook)(group, bucket))",
      name_of(hook), static_cast<std::int64_t>(std::ceil(least * 1048576)));
  setting.note = "gradients of large buckets travel with 16 bits";
  return setting;
}

void add_hooks(const Job& job, std::vector<Setting>& settings) {
  if (job.options().ddp().comm_hook != CommHook::none) return;
  for (const CommHook hook : {CommHook::fp16_compress, CommHook::bf16_compress})
    settings.push_back(cast_setting(hook));
}

void add_power_sgd(const Job& job, std::vector<Setting>& settings) {
  if (job.options().ddp().comm_hook != CommHook::none) return;
  for (const int rank : {1, 4})
    settings.push_back(
        {.name = fmt::format("powerSGD_hook of rank {}", rank),
         .change = of_ddp([rank](DdpOptions& ddp) {
           ddp.comm_hook = CommHook::power_sgd;
           ddp.power_sgd = {.matrix_approximation_rank = rank};
         }),
         .after = fmt::format("model.register_comm_hook(powerSGD_hook.PowerSGDState(None, "
                              "matrix_approximation_rank={}), powerSGD_hook.powerSGD_hook)",
                              rank),
         .changes_numerics = true,
         .note =
             fmt::format("gradients are approximated by rank {}, from the 1000th step on", rank),
         .imports = {fmt::format("{}powerSGD_hook", kHooks)}});
}

/// Within one node there is nothing to leave out.
void add_local_sgd(const Job& job, std::vector<Setting>& settings) {
  if (job.options().ddp().comm_hook != CommHook::none || job.cluster().nodes == 1) return;
  constexpr int kAverageFrom = 100;  // as PyTorch's examples have it
  for (const int period : {4, 16})
    settings.push_back(
        {.name = fmt::format("post_localSGD_hook of period {}", period),
         .change = of_ddp([period](DdpOptions& ddp) {
           ddp.comm_hook = CommHook::post_local_sgd;
           ddp.local_sgd = {.period = period};
         }),
         .after = fmt::format("model.register_comm_hook(post_localSGD_hook.PostLocalSGDState(None, "
                              "None, {0}), post_localSGD_hook.post_localSGD_hook); "
                              "optimizer = PostLocalSGDOptimizer(optimizer, "
                              "averagers.PeriodicModelAverager({1}, {0}))",
                              kAverageFrom, period),
         .changes_numerics = true,
         .changes_batch = true,
         .note = fmt::format("from the {}th step on each node trains by itself on its own share of "
                             "the batch; parameters are averaged every {} steps",
                             kAverageFrom, period),
         .imports = {fmt::format("{}post_localSGD_hook", kHooks),
                     "from torch.distributed.algorithms.model_averaging import averagers",
                     "from torch.distributed.optim import PostLocalSGDOptimizer"}});
}

void add_optimizer_in_backward(const Job& job, std::vector<Setting>& settings) {
  // Under fp16 autocast a GradScaler decides after backward whether a step is taken.
  if (job.options().ddp().optimizer_in_backward || job.workload().precision == "amp") return;
  const std::string name = "_apply_optimizer_in_backward";
  settings.push_back(
      {.name = name,
       .change = of_ddp([](DdpOptions& ddp) { ddp.optimizer_in_backward = true; }),
       // What a class keeps among its defaults it does not always take: AdamW of 2.7 and later has "decoupled_weight_decay".
       .before =
           "_apply_optimizer_in_backward(type(optimizer), model.parameters(), {name: value for "
           "name, value in optimizer.defaults.items() if name in "
           "inspect.signature(type(optimizer)).parameters})",
       .note =
           "parameters step one by one: no clipping by the norm of all gradients, no GradScaler; "
           "leave out optimizer.step()",
       .imports = {"import inspect",
                   "from torch.distributed.optim import _apply_optimizer_in_backward"}});
}

void add_accumulation(const Job& job, std::vector<Setting>& settings) {
  for (const int times : {2, 4}) {
    const int micro_batches = times * job.options().accumulate;
    settings.push_back(
        {.name = fmt::format("accumulate {} under no_sync()", micro_batches),
         .change =
             of_options([=](SimulationOptions& options) { options.accumulate = micro_batches; }),
         .after = fmt::format("sync = lambda k: contextlib.nullcontext() if k % {} == {} "
                              "else model.no_sync()",
                              micro_batches, micro_batches - 1),
         .changes_numerics = true,
         .changes_batch = true,
         .note =
             fmt::format("the optimizer steps {} times more rarely, on a batch {} times as large; "
                         "micro-batch k runs forward and backward within \"with sync(k):\"",
                         times, times),
         .imports = {"import contextlib"}});
  }
}

void add_sync_batchnorm(const Job& job, std::vector<Setting>& settings) {
  if (!job.options().ddp().sync_batchnorm) return;
  settings.push_back({.name = "BatchNorm in place of SyncBatchNorm",
                      .change = of_ddp([](DdpOptions& ddp) {
                        ddp.sync_batchnorm = false;
                        ddp.sync_batchnorm_group.reset();
                      }),
                      .after = "# leave out torch.nn.SyncBatchNorm.convert_sync_batchnorm",
                      .changes_numerics = true,
                      .note = "statistics are of each rank's batch alone"});
}

/// Of a node each, which has a network of its own; within one node there is none to leave out.
void add_sync_batchnorm_groups(const Job& job, std::vector<Setting>& settings) {
  const Cluster& cluster = job.cluster();
  const DdpOptions& current = job.options().ddp();
  if (!current.sync_batchnorm || current.sync_batchnorm_group || cluster.nodes == 1 ||
      cluster.gpus_per_node == 1)
    return;
  const int ranks = cluster.gpus_per_node;
  settings.push_back(
      {.name = fmt::format("SyncBatchNorm over groups of {}", ranks),
       .change = of_ddp([ranks](DdpOptions& ddp) { ddp.sync_batchnorm_group = ranks; }),
       .before = fmt::format("group, _ = torch.distributed.new_subgroups({}); model = "
                             "torch.nn.SyncBatchNorm.convert_sync_batchnorm(model, group)",
                             ranks),
       .changes_numerics = true,
       .note = fmt::format("statistics are of the batch of {} GPUs", ranks)});
}

/// What today's setting takes out of NCCL's hands, given back to it.
void add_unset(const CollectiveTuning& current, std::vector<Setting>& settings) {
  const CollectiveTuning untouched{.nccl = current.nccl, .collnet = current.collnet};
  const auto add = [&](const char* variable, auto CollectiveTuning::*field) {
    if (current.*field == untouched.*field) return;
    settings.push_back({.name = fmt::format("{} unset", variable),
                        .change = of_nccl([field, untouched](CollectiveTuning& tuning) {
                          tuning.*field = untouched.*field;
                        }),
                        .before = variable,
                        .nccl_variable = true});
  };
  add("NCCL_ALGO", &CollectiveTuning::algorithms);
  add("NCCL_PROTO", &CollectiveTuning::protocols);
  add("NCCL_MIN_NCHANNELS", &CollectiveTuning::min_channels);
  add("NCCL_MAX_NCHANNELS", &CollectiveTuning::max_channels);
  add("NCCL_BUFFSIZE", &CollectiveTuning::buffer);
  add("NCCL_NVLS_ENABLE", &CollectiveTuning::nvls);
}

void add_nccl_settings(const Job& job, std::vector<Setting>& settings) {
  const AnalyticModel* nccl = nccl_of(job.model());
  if (nccl == nullptr || job.cluster().ranks() == 1) return;
  const CollectiveTuning& current = nccl->tuning;
  const auto add = [&](const std::string& text, Change change) {
    settings.push_back({.name = text,
                        .change = std::move(change),
                        .before = text,
                        .nccl_variable = true,
                        .other_collectives = true});
  };
  if (!current.algorithms)
    for (const auto& [algorithm, word] :
         {std::pair(Algorithm::ring, "Ring"), std::pair(Algorithm::tree, "Tree")})
      add(fmt::format("NCCL_ALGO={}", word),
          of_nccl([algorithm = algorithm](CollectiveTuning& tuning) {
            tuning.algorithms = AlgorithmSet{algorithm};
          }));
  if (!current.max_channels)
    for (const int channels : {1, 2, 4, 8})
      add(fmt::format("NCCL_MAX_NCHANNELS={}", channels),
          of_nccl([channels](CollectiveTuning& tuning) { tuning.max_channels = channels; }));
  if (!current.min_channels)
    for (const int channels : {16, 32})
      add(fmt::format("NCCL_MIN_NCHANNELS={}", channels),
          of_nccl([channels](CollectiveTuning& tuning) { tuning.min_channels = channels; }));
  add_unset(current, settings);
}

}  // namespace

std::string_view buffers_argument(TorchVersion torch) {
  constexpr TorchVersion kForwardSyncBuffers{2, 13};  // pull request 178054
  return torch >= kForwardSyncBuffers ? "forward_sync_buffers" : "broadcast_buffers";
}

bool is_possible(const Job& job, const Job& current) {
  const DdpOptions& ddp = job.options().ddp();
  if (unsupported(ddp, job.options().torch) || cannot_simulate(job)) return false;
  if (fails_under_no_sync(job.options()) && !fails_under_no_sync(current.options())) return false;
  if (const GlooModel* gloo = std::get_if<GlooModel>(&job.model()))
    // DDP takes the 16-bit hook of this name only where PyTorch was built for CUDA.
    return !(gloo->links.host_tensors &&
             (ddp.optimizer_in_backward || ddp.comm_hook == CommHook::bf16_compress)) &&
           !(ddp.comm_hook == CommHook::bf16_compress && job.options().torch < kGlooBfloat16);
  const AnalyticModel* nccl = nccl_of(job.model());
  if (nccl == nullptr) return true;
  constexpr NcclVersion kBfloat16{2, 10, 0};
  if (ddp.comm_hook == CommHook::bf16_compress && nccl->tuning.nccl < kBfloat16) return false;
  const CollectiveTuning& tuning = nccl->tuning;
  if (tuning.min_channels && tuning.max_channels && *tuning.min_channels > *tuning.max_channels)
    return false;
  return can_select_algorithm(job.cluster(), tuning);
}

std::vector<Setting> settings_of(const Job& job) {
  std::vector<Setting> settings;
  if (std::optional<Setting> loader = loader_setting(job)) settings.push_back(*std::move(loader));
  if (!uses_reducer(job.options().scheme)) {
    for (Setting& setting : scheme_settings(job)) settings.push_back(std::move(setting));
    add_nccl_settings(job, settings);
    std::erase_if(settings,
                  [&](const Setting& setting) { return !is_possible(setting.change(job), job); });
    return settings;
  }
  for (Setting& setting : host_settings(job)) settings.push_back(std::move(setting));
  add_ddp_settings(job, settings);
  add_optimizer_in_backward(job, settings);
  add_hooks(job, settings);
  add_power_sgd(job, settings);
  add_local_sgd(job, settings);
  add_accumulation(job, settings);
  add_sync_batchnorm(job, settings);
  add_sync_batchnorm_groups(job, settings);
  add_nccl_settings(job, settings);
  std::erase_if(settings,
                [&](const Setting& setting) { return !is_possible(setting.change(job), job); });
  return settings;
}

std::optional<Setting> partial_cast_setting(const Job& job, CommHook hook) {
  if (!uses_reducer(job.options().scheme) || job.options().ddp().comm_hook != CommHook::none)
    return std::nullopt;
  std::vector<Bytes> sizes;
  for (const Bucket& bucket : buckets_of(job)) sizes.push_back(bucket.bytes);
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  const auto step = [&](const Setting& setting) {
    return simulate_times(setting.change(job)).iteration;
  };
  std::optional<Setting> best;
  if (!is_possible(cast_setting(hook).change(job), job)) return best;
  Duration shortest = step(cast_setting(hook));
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    Setting setting = cast_setting(hook, round_cap(mib(sizes[i - 1] + Bytes(1)), mib(sizes[i])));
    const Duration time = step(setting);
    if (time >= shortest) continue;
    shortest = time;
    best = std::move(setting);
  }
  return best;
}

std::optional<Setting> cap_list_setting(const Job& job, const std::vector<Bucket>& buckets) {
  constexpr std::size_t kMostLimits = 24;
  if (!has_bucket_cap_mb_list(job.options().torch) || buckets.size() > kMostLimits)
    return std::nullopt;
  const Workload& workload = job.workload();
  std::vector<double> list;
  for (const Bucket& bucket : buckets) {
    // A bucket closes with the gradient that fills it: any limit that the one before did not reach.
    const Bytes last =
        gradient_bytes(workload.parameters[bucket.parameters.back()]).value_or(Bytes());
    list.push_back(round_cap(mib(bucket.bytes - last + Bytes(1)), mib(bucket.bytes)));
  }
  const auto set = [list](DdpOptions& ddp) {
    ddp.bucket_cap_mb.reset();
    ddp.first_bucket_mb.reset();
    ddp.bucket_cap_mb_list = list;
  };
  DdpOptions ddp = job.options().ddp();
  set(ddp);
  const std::vector<Bucket> given = steady_buckets(workload, ddp, job.options().torch);
  const bool same =
      std::ranges::equal(given, buckets, {}, &Bucket::parameters, &Bucket::parameters);
  if (unsupported(ddp, job.options().torch) || !same) return std::nullopt;
  const std::string text = fmt::format("bucket_cap_mb_list=[{}]", fmt::join(list, ", "));
  return Setting{
      .name = text, .change = with_own_buckets(set), .argument = text, .sets_buckets = true};
}

Setting cap_setting(const Recommendation& recommended) {
  const auto set = [cap = recommended.bucket_cap_mb,
                    first = recommended.first_bucket_mb](DdpOptions& ddp) {
    ddp.bucket_cap_mb_list.clear();
    ddp.bucket_cap_mb = cap;
    ddp.first_bucket_mb = first;
  };
  Setting setting{.name = {}, .change = with_own_buckets(set), .sets_buckets = true};
  if (recommended.bucket_cap_mb)
    setting.argument = fmt::format("bucket_cap_mb={}", *recommended.bucket_cap_mb);
  setting.name = setting.argument.empty() ? "no bucket_cap_mb" : setting.argument;
  if (recommended.first_bucket_mb) {
    const auto bytes = std::llround(*recommended.first_bucket_mb * 1048576);
    setting.before = fmt::format("torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = {}", bytes);
    setting.name = fmt::format("{}{}first bucket {}", setting.argument,
                               setting.argument.empty() ? "" : " and ", size_text(Bytes(bytes)));
  }
  return setting;
}

namespace {

/// `text` with `by` in place of each `what`.
std::string replaced(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// NCCL's variables: in a shell, or in Python beside what is written there. One without a value is unset.
std::string variable_of(const Setting& setting, bool in_python) {
  const std::size_t equals = setting.before.find('=');
  if (equals == std::string::npos)
    return in_python ? fmt::format("os.environ.pop(\"{}\", None)", setting.before)
                     : "unset " + setting.before;
  if (!in_python) return "export " + setting.before;
  return fmt::format("os.environ[\"{}\"] = \"{}\"", setting.before.substr(0, equals),
                     setting.before.substr(equals + 1));
}

/// DeepSpeed's configuration and Megatron-LM's options are no Python.
bool is_python(const Setting& setting) {
  return !setting.nccl_variable && !setting.call.starts_with('{') &&
         !setting.argument.starts_with("--");
}

class PythonLine {
 public:
  explicit PythonLine(const std::vector<Setting>& settings)
      : settings_(settings), in_python_(std::ranges::any_of(settings, is_python)) {}

  std::string text() {
    imports();
    for (const Setting& setting : settings_)
      if (setting.nccl_variable)
        add(variable_of(setting, in_python_));
      else
        add(setting.before);
    call();
    for (const bool comments : {false, true})  // what follows a comment would belong to it
      for (const Setting& setting : settings_)
        if (setting.after.starts_with('#') == comments) add(setting.after);
    return fmt::format("{}", fmt::join(statements_, "; "));
  }

 private:
  void add(const std::string& statement) {
    if (!statement.empty()) statements_.push_back(statement);
  }
  void imports() {
    std::vector<std::string> needed;
    if (in_python_ && std::ranges::any_of(settings_, &Setting::nccl_variable))
      needed.emplace_back("import os");
    for (const Setting& setting : settings_)
      needed.insert(needed.end(), setting.imports.begin(), setting.imports.end());
    for (const std::string& import : needed)
      if (std::ranges::find(statements_, import) == statements_.end()) add(import);
  }
  void call() {
    std::vector<std::string> arguments;
    std::string call;
    std::string mesh;
    for (const Setting& setting : settings_) {
      if (!setting.call.empty() && (call.empty() || setting.argument.empty())) call = setting.call;
      if (!setting.argument.empty()) arguments.push_back(setting.argument);
      if (setting.argument.starts_with("mesh=")) mesh = ", " + setting.argument;
    }
    if (!call.empty()) {
      if (arguments.empty()) call = replaced(call, ", {}", "");
      call = replaced(call, "{mesh}", mesh);
      add(replaced(call, "{}", fmt::format("{}", fmt::join(arguments, ", "))));
    } else if (!arguments.empty()) {
      const bool goes_on = std::ranges::any_of(settings_, [](const Setting& setting) {
        return setting.after.find("model") != std::string::npos;
      });
      add(fmt::format("{}DistributedDataParallel(model, {})", goes_on ? "model = " : "",
                      fmt::join(arguments, ", ")));
    }
  }

  const std::vector<Setting>& settings_;
  bool in_python_;
  std::vector<std::string> statements_;
};

}  // namespace

std::string python_of(const std::vector<Setting>& settings) {
  return PythonLine(settings).text();
}

ChangeTraits traits_of(const std::vector<Setting>& settings) {
  return {.sets_buckets = std::ranges::any_of(settings, &Setting::sets_buckets),
          .sets_else = !std::ranges::all_of(settings, &Setting::sets_buckets),
          .loads_data = std::ranges::any_of(settings, &Setting::loads_data),
          .spares_host = std::ranges::any_of(settings, &Setting::spares_host),
          .other_collectives = std::ranges::any_of(settings, &Setting::other_collectives)};
}

Change together(const std::vector<Setting>& settings) {
  return [settings](const Job& job) {
    Job changed = job;
    for (const Setting& setting : settings) changed = setting.change(changed);
    return changed;
  };
}

}  // namespace ddpsim
