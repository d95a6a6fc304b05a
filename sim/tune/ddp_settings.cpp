#include "ddp_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "bucketing_search.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "ddpsim/sim/step/job_buckets.hpp"
#include "ddpsim/sim/tune/advise.hpp"
#include "ddpsim/sim/values/size_text.hpp"

namespace ddpsim {
namespace {

template <typename Set>
Change of_ddp(Set set) {
  return of_options([set](SimulationOptions& options) { set(options.ddp_to_set()); });
}

/// Sets options and drops recorded buckets, so that the job uses its own.
template <typename Set>
Change with_own_buckets(Set set) {
  return of_options([set](SimulationOptions& options) {
    options.buckets.reset();
    set(options.ddp_to_set());
  });
}

bool every_parameter_is_used(const Workload& workload) {
  std::vector<bool> written(workload.parameters.size(), false);
  for (const ReadyEvent& event : workload.backward->ready) written[event.parameter] = true;
  for (std::size_t i = 0; i < written.size(); ++i)
    if (!written[i] && is_reduced(workload.parameters[i])) return false;
  return true;
}

void add_arguments(const Job& job, std::vector<Setting>& settings) {
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

/// Casts only buckets of at least `least` MiB.
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

/// Within one node it would leave nothing out.
void add_local_sgd(const Job& job, std::vector<Setting>& settings) {
  if (job.options().ddp().comm_hook != CommHook::none || job.cluster().nodes == 1) return;
  constexpr int kAverageFrom = 100;  // as in PyTorch's examples
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
  // Under fp16 autocast, a GradScaler decides after backward whether a step is taken.
  if (job.options().ddp().optimizer_in_backward || job.workload().precision == "amp") return;
  const std::string name = "_apply_optimizer_in_backward";
  settings.push_back(
      {.name = name,
       .change = of_ddp([](DdpOptions& ddp) { ddp.optimizer_in_backward = true; }),
       // A class does not accept everything that it keeps among its defaults: AdamW has
       // "decoupled_weight_decay" there from 2.7 on.
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
                      .note = "statistics come from each rank's own batch"});
}

/// Groups the ranks of each node, so that only the network within nodes is used. Within one node
/// this would leave nothing out.
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
       .note = fmt::format("statistics come from the batch of {} GPUs", ranks)});
}

}  // namespace

std::string_view buffers_argument(TorchVersion torch) {
  constexpr TorchVersion kForwardSyncBuffers{2, 13};  // pull request 178054
  return torch >= kForwardSyncBuffers ? "forward_sync_buffers" : "broadcast_buffers";
}

std::vector<Setting> ddp_settings(const Job& job) {
  std::vector<Setting> settings;
  add_arguments(job, settings);
  add_optimizer_in_backward(job, settings);
  add_hooks(job, settings);
  add_power_sgd(job, settings);
  add_local_sgd(job, settings);
  add_accumulation(job, settings);
  add_sync_batchnorm(job, settings);
  add_sync_batchnorm_groups(job, settings);
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
    // A bucket closes with the gradient that fills it, so any limit works that the previous
    // gradient did not reach.
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

}  // namespace ddpsim
