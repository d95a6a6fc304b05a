#include "consistency.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/job_request.hpp"

namespace ddpsim {
namespace {

void require(bool sound, const char* option, const char* problem, const char* remedy) {
  if (!sound) throw UsageError(option, problem, remedy);
}

/// The name of a scheme, with its option if compiled: "compiled:optimize_ddp=python_reducer".
std::string words_of(const Scheme& scheme) {
  const Compiled* compiled = std::get_if<Compiled>(&scheme);
  if (compiled == nullptr) return std::string(name_of(scheme));
  return fmt::format("compiled:optimize_ddp={}", name_of(compiled->optimize_ddp));
}

void require_data(const JobRequest& request) {
  require(
      !request.data.loader || !request.measured_step, "--data-loader",
      "the residual of --measured-step is attributed to compute and communication, which is wrong "
      "for a step that waits for data",
      "Leave one out");
  if (!request.data.uneven) return;
  require(!request.data.set, "--uneven-inputs",
          "with --dataset-size, DistributedSampler gives every rank the same number of batches",
          "Leave one out");
  const DdpOptions& ddp = request.ddp;
  const std::array<std::pair<const char*, bool>, 5> not_joined = {{
      {"--sync-batchnorm", ddp.sync_batchnorm},
      {"--static-graph", ddp.static_graph},
      {"--process-groups", ddp.process_groups > 1},
      {"--comm-hook powersgd", ddp.comm_hook == CommHook::power_sgd},
      {"--comm-hook post_localSGD", ddp.comm_hook == CommHook::post_local_sgd},
  }};
  for (const auto& [option, given] : not_joined)
    if (given)
      throw UsageError("--uneven-inputs",
                       fmt::format("a rank without inputs does not shadow what {} sends", option),
                       "Leave one out");
  if (request.scheme && !std::holds_alternative<Ddp>(*request.scheme))
    throw UsageError(
        "--uneven-inputs",
        fmt::format(
            "it is DistributedDataParallel's join(), and --scheme {} is not simulated with it",
            name_of(*request.scheme)),
        "Leave one out");
}

void require_backend(const JobRequest& request) {
  const CollectivesRequest& collectives = request.collectives;
  const bool flow = collectives.network == NetworkModel::flow;
  require(!collectives.background || flow, "--background",
          "only --network flow simulates other traffic", "Add it");
  if (collectives.backend == Backend::nccl) {
    require(collectives.gloo.empty(), "--gloo", "it needs --backend gloo", "Add it");
    return;
  }
  require(!flow, "--network flow", "it simulates only NCCL's collectives", "Leave it out");
  require(!request.interference, "--interference",
          "only NCCL's kernels slow compute, and --backend gloo has none", "Leave it out");
  require(!request.host.cuda_graph, "--cuda-graph",
          "a graph cannot hold collectives of --backend gloo", "Leave one out");
  require(!request.ddp.sync_batchnorm, "--sync-batchnorm",
          "its layers exchange over NCCL, which --backend gloo does not use", "Leave one out");
  GlooLinks links;
  for (const StatedGloo& stated : collectives.gloo) stated.set(links);
  require(
      !request.ddp.optimizer_in_backward || !links.host_tensors, "--apply-optimizer-in-backward",
      "DDP's hook needs streams of an accelerator and fails on host tensors (tried with PyTorch "
      "2.13)",
      "Leave one out");
}

void require_flow(const JobRequest& request) {
  if (request.collectives.network != NetworkModel::flow) return;
  const DdpOptions& ddp = request.ddp;
  require(ddp.process_groups <= 1, "--process-groups",
          "--network flow runs one collective at a time", "Leave one out");
  require(
      ddp.comm_hook != CommHook::post_local_sgd, "--comm-hook post_localSGD",
      "post_localSGD reduces within nodes, but --network flow simulates only collectives of all "
      "ranks",
      "Leave one out");
  require(!ddp.sync_batchnorm_group, "--sync-batchnorm-group",
          "--network flow simulates only collectives of all ranks", "Leave one out");
}

void require_host(const JobRequest& request) {
  if (!request.host.cuda_graph) return;
  const DdpOptions& ddp = request.ddp;
  require(!request.host.launch_cost, "--launch-cost", "a --cuda-graph launches no single kernels",
          "Leave one out");
  require(!stops_backward(ddp.comm_hook), "--cuda-graph",
          "a graph cannot hold what --comm-hook powersgd waits for on the host", "Leave one out");
  require(
      ddp.comm_hook != CommHook::post_local_sgd, "--cuda-graph",
      "a graph holds the addresses of parameters, but --comm-hook post_localSGD moves them when "
      "it averages",
      "Leave one out");
  require(!ddp.find_unused_parameters, "--cuda-graph",
          "a graph cannot hold what --find-unused-parameters reads on the host", "Leave one out");
}

void require_variation(const JobRequest& request) {
  const VariationRequest& variation = request.variation;
  require(!variation.rank_slowdown || !variation.gpu_spread, "--rank-slowdown",
          "it includes the slowest GPU", "Leave out --gpu-spread");
  if (request.iterations > 0) return;
  require(variation.ranks.jitter == 0, "--jitter", "it draws different steps",
          "Say how many with `simulate --iterations 200`");
  require(variation.ranks.stagger <= Duration(), "--stagger",
          "it shows only in the first steps of a run",
          "Ask for them with `simulate --iterations 10`");
}

/// Refuses options of DDP's reducer with a scheme that has none.
void require_reducer(const Scheme& scheme, const DdpOptions& ddp) {
  if (uses_reducer(scheme)) return;
  const std::array<std::pair<const char*, bool>, 12> reducers = {{
      {"--bucket-cap-mb", ddp.bucket_cap_mb.has_value()},
      {"--first-bucket-mb", ddp.first_bucket_mb.has_value()},
      {"--bucket-cap-mb-list", !ddp.bucket_cap_mb_list.empty()},
      {"--find-unused-parameters", ddp.find_unused_parameters},
      {"--static-graph", ddp.static_graph},
      {"--gradient-as-bucket-view", ddp.gradient_as_bucket_view},
      {"--no-broadcast-buffers", !ddp.broadcast_buffers},
      {"--process-groups", ddp.process_groups > 1},
      {"--comm-hook", ddp.comm_hook != CommHook::none},
      {"--apply-optimizer-in-backward", ddp.optimizer_in_backward},
      {"--sync-batchnorm", ddp.sync_batchnorm},
      {"--sync-batchnorm-group", ddp.sync_batchnorm_group.has_value()},
  }};
  const Compiled* compiled = std::get_if<Compiled>(&scheme);
  for (const auto& [option, given] : reducers) {
    const bool caps_fusion = compiled != nullptr && option == reducers.front().first;
    if (given && !caps_fusion)
      throw UsageError(option,
                       fmt::format("it is an option of DistributedDataParallel{}, and --scheme {} "
                                   "is not simulated with it",
                                   compiled != nullptr ? "'s own reducer" : "", words_of(scheme)),
                       "Leave one out");
  }
}

void require_since(const char* option, bool used, NcclVersion nccl, NcclVersion since) {
  if (used && nccl < since)
    throw UsageError(option, fmt::format("NCCL {} does not have it yet; it came with {}",
                                         to_string(nccl), to_string(since)));
}

}  // namespace

void require_of_nccl(const CollectiveTuning& tuning) {
  require_since("--no-nvls", !tuning.nvls, tuning.nccl, {2, 17, 0});
  require_since("--collnet", tuning.collnet, tuning.nccl, {2, 6, 0});
}

void require_of_nccl(const JobRequest& request, NcclVersion nccl) {
  CollectiveTuning tuning = request.collectives.tuning;
  tuning.nccl = nccl;
  require_of_nccl(tuning);
  require_since("--comm-hook bf16",
                request.ddp.comm_hook == CommHook::bf16_compress &&
                    request.collectives.backend == Backend::nccl,
                nccl, {2, 10, 0});
}

void require_supported(const DdpOptions& options, TorchVersion torch) {
  if (const std::optional<std::string> problem = unsupported(options, torch))
    throw UsageError(*problem);
}

void require_consistent(const JobRequest& request) {
  if (request.scheme) require_reducer(*request.scheme, request.ddp);
  require_data(request);
  require_backend(request);
  require_flow(request);
  require_host(request);
  require_variation(request);
  // If no version is given, check against the newest, which has every option.
  require_of_nccl(request, request.collectives.nccl.value_or(
                               bundled_nccl(request.torch.value_or(kNewestTorch))));
}

}  // namespace ddpsim
