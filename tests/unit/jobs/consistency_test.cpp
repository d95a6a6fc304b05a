#include <doctest/doctest.h>

#include <string>

#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/job_request.hpp"

using namespace ddpsim;

namespace {

/// The complaint about a request that only `set` changes.
template <typename Set>
std::string contradiction_in(Set set) {
  JobRequest request{.workload = {.source = "w"}, .cluster = {.text = "c"}};
  set(request);
  try {
    require_consistent(request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// The option that the complaint names first.
template <typename Set>
std::string first_option(Set set) {
  const std::string problem = contradiction_in(set);
  return problem.substr(0, problem.find(':'));
}

void use_gloo(JobRequest& request) {
  request.collectives.backend = Backend::gloo;
}

void use_flow(JobRequest& request) {
  request.collectives.network = NetworkModel::flow;
}

}  // namespace

TEST_CASE("requests: an empty request has no contradictions") {
  CHECK(contradiction_in([](JobRequest&) {}) == "");
}

TEST_CASE("requests: options of DDP's reducer are refused by name for a scheme without it") {
  const auto refused = [](auto set) {
    return first_option([&](JobRequest& request) {
      request.scheme = Fsdp1();
      set(request.ddp);
    });
  };
  CHECK(refused([](auto& ddp) { ddp.bucket_cap_mb = 25; }) == "--bucket-cap-mb");
  CHECK(refused([](auto& ddp) { ddp.first_bucket_mb = 1; }) == "--first-bucket-mb");
  CHECK(refused([](auto& ddp) { ddp.bucket_cap_mb_list = {1}; }) == "--bucket-cap-mb-list");
  CHECK(refused([](auto& ddp) { ddp.find_unused_parameters = true; }) ==
        "--find-unused-parameters");
  CHECK(refused([](auto& ddp) { ddp.static_graph = true; }) == "--static-graph");
  CHECK(refused([](auto& ddp) { ddp.gradient_as_bucket_view = true; }) ==
        "--gradient-as-bucket-view");
  CHECK(refused([](auto& ddp) { ddp.broadcast_buffers = false; }) == "--no-broadcast-buffers");
  CHECK(refused([](auto& ddp) { ddp.process_groups = 2; }) == "--process-groups");
  CHECK(refused([](auto& ddp) { ddp.comm_hook = CommHook::fp16_compress; }) == "--comm-hook");
  CHECK(refused([](auto& ddp) { ddp.optimizer_in_backward = true; }) ==
        "--apply-optimizer-in-backward");
  CHECK(refused([](auto& ddp) { ddp.sync_batchnorm = true; }) == "--sync-batchnorm");
  CHECK(refused([](auto& ddp) { ddp.sync_batchnorm_group = 2; }) == "--sync-batchnorm-group");
}

TEST_CASE("requests: options of DDP's reducer work only with DDP") {
  const auto refused = [](const Scheme& scheme, auto set) {
    return contradiction_in([&](JobRequest& request) {
      request.scheme = scheme;
      set(request);
    });
  };
  const auto cap = [](JobRequest& request) { request.ddp.bucket_cap_mb = 25; };
  const auto views = [](JobRequest& request) { request.ddp.gradient_as_bucket_view = true; };
  CHECK(refused(Ddp(), cap) == "");
  CHECK(refused(ZeroRedundancy(), cap) == "");
  CHECK(refused(Compiled(), cap) == "");
  const Compiled python{.optimize_ddp = OptimizeDdp::python_reducer};
  CHECK(refused(python, cap) == "");  // for the kernels that Inductor fuses
  CHECK(refused(Compiled(), views) == "");
  CHECK(refused(python, views) ==
        "--gradient-as-bucket-view: it is an option of DistributedDataParallel's own reducer, and "
        "--scheme compiled:optimize_ddp=python_reducer is not simulated with it. Leave one out");
  CHECK(refused(PeriodicAveraging(), cap) != "");
  CHECK(refused(Fsdp1(), [](JobRequest&) {}) == "");
  CHECK(refused(Fsdp1(), cap) ==
        "--bucket-cap-mb: it is an option of DistributedDataParallel, and --scheme fsdp1 is not "
        "simulated with it. Leave one out");
  CHECK(refused(Fsdp2(), [](JobRequest& request) { request.accumulate = 4; }) == "");
}

TEST_CASE("requests: a loader excludes a measured step") {
  const auto loads = [](JobRequest& request) { request.data.loader = DataLoader(); };
  const auto measured = [](JobRequest& request) {
    request.measured_step = Duration::milliseconds(100);
  };
  CHECK(contradiction_in(loads) == "");
  CHECK(contradiction_in(measured) == "");
  CHECK(first_option([&](JobRequest& request) {
          loads(request);
          measured(request);
        }) == "--data-loader");
}

TEST_CASE("requests: ranks with different numbers of batches") {
  const auto uneven = [](auto set) {
    return contradiction_in([&](JobRequest& request) {
      request.data.uneven = UnevenRequest{.inputs = std::vector<std::int64_t>{1, 2}};
      set(request);
    });
  };
  const auto named = [&](auto set) {
    const std::string problem = uneven([&](JobRequest& request) { set(request.ddp); });
    const std::size_t from = problem.find("what ") + 5;
    return problem.substr(from, problem.find(" sends") - from);
  };
  CHECK(uneven([](JobRequest&) {}) == "");
  CHECK(uneven([](JobRequest& request) {
          request.data.set = DataSet{.size = 10};
        }).starts_with("--uneven-inputs: with --dataset-size"));
  CHECK(named([](auto& ddp) { ddp.sync_batchnorm = true; }) == "--sync-batchnorm");
  CHECK(named([](auto& ddp) { ddp.static_graph = true; }) == "--static-graph");
  CHECK(named([](auto& ddp) { ddp.process_groups = 2; }) == "--process-groups");
  CHECK(named([](auto& ddp) { ddp.comm_hook = CommHook::power_sgd; }) == "--comm-hook powersgd");
  CHECK(named([](auto& ddp) { ddp.comm_hook = CommHook::post_local_sgd; }) ==
        "--comm-hook post_localSGD");
  CHECK(uneven([](JobRequest& request) { request.ddp.comm_hook = CommHook::fp16_compress; }) == "");
  CHECK(uneven([](JobRequest& request) { request.scheme = Ddp(); }) == "");
  CHECK(uneven([](JobRequest& request) {
          request.scheme = ZeroRedundancy();
        }).find("--scheme zero_redundancy is not simulated with it") != std::string::npos);
}

TEST_CASE("requests: gloo refuses NCCL's options, and NCCL gloo's") {
  const auto beside_gloo = [](auto set) {
    return first_option([&](JobRequest& request) {
      use_gloo(request);
      set(request);
    });
  };
  const StatedGloo on_host{"tensors", "host", [](GlooLinks& links) { links.host_tensors = true; }};
  CHECK(contradiction_in(use_gloo) == "");
  CHECK(first_option([&](JobRequest& request) { request.collectives.gloo = {on_host}; }) ==
        "--gloo");
  CHECK(beside_gloo(use_flow) == "--network flow");
  CHECK(beside_gloo([](auto& request) { request.interference = Interference(); }) ==
        "--interference");
  CHECK(beside_gloo([](auto& request) { request.host.cuda_graph = true; }) == "--cuda-graph");
  CHECK(beside_gloo([](auto& request) { request.ddp.sync_batchnorm = true; }) ==
        "--sync-batchnorm");
  const auto in_backward = [](auto& request) { request.ddp.optimizer_in_backward = true; };
  CHECK(beside_gloo(in_backward) == "");
  CHECK(beside_gloo([&](auto& request) {
          in_backward(request);
          request.collectives.gloo = {on_host};
        }) == "--apply-optimizer-in-backward");
}

TEST_CASE("requests: --network flow runs one collective of all ranks at a time") {
  const auto over_flow = [](auto set) {
    return first_option([&](JobRequest& request) {
      use_flow(request);
      set(request);
    });
  };
  const auto background = [](JobRequest& request) { request.collectives.background = "others"; };
  CHECK(first_option(background) == "--background");
  CHECK(over_flow(background) == "");
  CHECK(over_flow([](auto& request) { request.ddp.process_groups = 2; }) == "--process-groups");
  CHECK(over_flow([](auto& request) { request.ddp.comm_hook = CommHook::post_local_sgd; }) ==
        "--comm-hook post_localSGD");
  CHECK(over_flow([](auto& request) { request.ddp.comm_hook = CommHook::power_sgd; }) == "");
  CHECK(over_flow([](auto& request) { request.ddp.sync_batchnorm_group = 8; }) ==
        "--sync-batchnorm-group");
}

TEST_CASE("requests: things that a CUDA graph cannot contain") {
  const auto in_graph = [](auto set) {
    return contradiction_in([&](JobRequest& request) {
      request.host.cuda_graph = true;
      set(request);
    });
  };
  CHECK(in_graph([](JobRequest&) {}) == "");
  CHECK(in_graph([](JobRequest& request) {
          request.host.launch_cost = Duration::microseconds(5);
        }).starts_with("--launch-cost:"));
  CHECK(in_graph([](JobRequest& request) {
          request.ddp.comm_hook = CommHook::power_sgd;
        }).find("--comm-hook powersgd") != std::string::npos);
  CHECK(in_graph([](JobRequest& request) {
          request.ddp.comm_hook = CommHook::post_local_sgd;
        }).find("--comm-hook post_localSGD") != std::string::npos);
  CHECK(in_graph([](JobRequest& request) {
          request.ddp.find_unused_parameters = true;
        }).find("--find-unused-parameters") != std::string::npos);
  CHECK(contradiction_in([](JobRequest& request) {
          request.ddp.find_unused_parameters = true;
          request.host.launch_cost = Duration::microseconds(5);
        }) == "");
}

TEST_CASE("requests: options that vary from step to step need several steps") {
  const auto over = [](int iterations, auto set) {
    return contradiction_in([&](JobRequest& request) {
      request.iterations = iterations;
      set(request.variation);
    });
  };
  const auto jitter = [](VariationRequest& variation) { variation.ranks.jitter = 0.02; };
  const auto stagger = [](VariationRequest& variation) {
    variation.ranks.stagger = Duration::milliseconds(5);
  };
  CHECK(over(0, jitter).starts_with("--jitter: it draws"));
  CHECK(over(0, stagger).starts_with("--stagger: it shows"));
  CHECK(over(1, jitter) == "");
  CHECK(over(1, stagger) == "");
  const auto slowdown = [](VariationRequest& variation) { variation.rank_slowdown = 0; };
  CHECK(over(0, slowdown) == "");
  CHECK(over(0, [&](VariationRequest& variation) {
          slowdown(variation);
          variation.gpu_spread = 0;
        }).starts_with("--rank-slowdown: it includes"));
}

TEST_CASE("requests: options that the NCCL version lacks, stated or shipped with PyTorch") {
  const auto with = [](std::optional<NcclVersion> nccl, std::optional<TorchVersion> torch,
                       auto set) {
    return contradiction_in([&](JobRequest& request) {
      request.collectives.nccl = nccl;
      request.torch = torch;
      set(request);
    });
  };
  const auto no_nvls = [](JobRequest& request) { request.collectives.tuning.nvls = false; };
  const auto collnet = [](JobRequest& request) { request.collectives.tuning.collnet = true; };
  const auto bf16 = [](JobRequest& request) { request.ddp.comm_hook = CommHook::bf16_compress; };
  CHECK(with({}, {}, no_nvls) == "");
  CHECK(with(NcclVersion{2, 16, 5}, {}, no_nvls) ==
        "--no-nvls: NCCL 2.16.5 does not have it yet; it came with 2.17.0");
  CHECK(with(NcclVersion{2, 17, 0}, {}, no_nvls) == "");
  CHECK(with({}, TorchVersion{1, 4}, collnet).starts_with("--collnet: NCCL 2.4"));
  CHECK(with(NcclVersion{2, 6, 0}, TorchVersion{1, 4}, collnet) == "");
  CHECK(with(NcclVersion{2, 9, 9}, {}, bf16).starts_with("--comm-hook bf16: NCCL 2.9.9"));
  CHECK(with(NcclVersion{2, 10, 0}, {}, bf16) == "");
  CHECK(with(NcclVersion{2, 9, 9}, {}, [&](JobRequest& request) {
          bf16(request);
          use_gloo(request);
        }) == "");
}
