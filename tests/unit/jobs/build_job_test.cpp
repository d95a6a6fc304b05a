#include "ddpsim/jobs/build_job.hpp"

#include <doctest/doctest.h>

#include <string>

#include "complaint.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "ddpsim/jobs/memory.hpp"
#include "ddpsim/jobs/replay.hpp"
#include "ddpsim/sim/simulate/simulate.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

/// ResNet-50 as recorded on a V100, on two nodes of eight.
JobRequest asked_of_resnet() {
  return {.workload = {.source = "resnet50-v100-b32"}, .cluster = {.text = "p3dn@2"}};
}

template <typename Set>
BuiltJob built_with(Set set) {
  JobRequest request = asked_of_resnet();
  set(request);
  return build_job(request);
}

template <typename Set>
std::string refused_with(Set set) {
  try {
    built_with(set);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("jobs: the names of a workload and a cluster suffice") {
  const BuiltJob built = build_job(asked_of_resnet());
  CHECK(built.job.cluster().ranks() == 16);
  CHECK(built.job.workload().name == "resnet50-v100-b32");
  CHECK(built.provenance.workload_source == "resnet50-v100-b32");
  CHECK(built.provenance.cluster_source == "p3dn@2");
  CHECK_FALSE(built.provenance.scheme_asked);
  CHECK(built.job.options().scheme == Scheme(Ddp()));
  CHECK_FALSE(built.measured_step);
  CHECK(simulate_times(built.job).iteration > 90_ms);
}

TEST_CASE("jobs: the stated version, else the recorded one, else an assumed one") {
  const BuiltJob assumed = build_job(asked_of_resnet());
  CHECK_FALSE(assumed.provenance.torch_known);
  CHECK_FALSE(assumed.job.options().possible_versions.empty());
  const BuiltJob stated = built_with([](JobRequest& request) { request.torch = {1, 13}; });
  CHECK(stated.provenance.torch_known);
  CHECK(stated.job.options().possible_versions.empty());
  CHECK(stated.job.options().torch == TorchVersion{1, 13});
  CHECK(nccl_of(stated.job.model())->tuning.nccl == bundled_nccl({1, 13}));
  const BuiltJob nccl = built_with([](JobRequest& request) {
    request.collectives.nccl = NcclVersion{2, 21, 5};
  });
  CHECK(nccl_of(nccl.job.model())->tuning.nccl == NcclVersion{2, 21, 5});
}

TEST_CASE("jobs: an option that the version lacks is refused after the workload is read") {
  CHECK(refused_with([](JobRequest& request) {
          request.torch = {1, 4};
          request.collectives.tuning.collnet = true;
        }).starts_with("--collnet: NCCL 2.4"));
}

TEST_CASE("jobs: requested micro-batches, else recorded ones") {
  CHECK(build_job(asked_of_resnet()).job.options().accumulate == 1);
  const BuiltJob asked = built_with([](JobRequest& request) { request.accumulate = 4; });
  CHECK(asked.job.options().accumulate == 4);
  LoadedWorkload read = load_workload(asked_of_resnet().workload);
  read.workload.recorded_with.accumulate = 3;
  CHECK(build_job(asked_of_resnet(), read).job.options().accumulate == 3);
}

TEST_CASE("jobs: a group of SyncBatchNorm consists of whole nodes") {
  const auto group = [](int ranks) {
    return refused_with([&](JobRequest& request) {
      request.ddp.sync_batchnorm = true;
      request.ddp.sync_batchnorm_group = ranks;
    });
  };
  CHECK(group(8) == "");
  CHECK(group(16) == "");
  CHECK(
      group(4).find("p3dn has 2 of 8 GPUs, so the size must be a multiple of 8 that divides 16") !=
      std::string::npos);
  CHECK_FALSE(group(24).empty());
  const BuiltJob pairs = built_with([](JobRequest& request) {
    request.cluster.text = "p3dn@4";
    request.ddp.sync_batchnorm = true;
    request.ddp.sync_batchnorm_group = 16;
  });
  CHECK(pairs.job.has_group(2));
}

TEST_CASE("jobs: a scheme's process groups are known") {
  const BuiltJob hybrid = built_with([](JobRequest& request) {
    request.scheme = Fsdp1{.strategy = ShardingStrategy::hybrid_shard, .group = 4};
  });
  CHECK(hybrid.provenance.scheme_asked);
  CHECK(hybrid.job.has_group(1, 4));
  CHECK(hybrid.job.has_group(2, 2));
}

TEST_CASE("jobs: an estimate in bf16 gives FSDP its types, unless they are stated") {
  const auto built = [](const char* estimate, Scheme scheme) {
    return build_job({.workload = {.source = estimate},
                      .cluster = {.text = "dgxa100"},
                      .scheme = std::move(scheme)});
  };
  const auto told = [](const BuiltJob& job) {
    return mentions(job.trust.warnings.texts(), "param_dtype=bf16 and reduce_dtype=fp32 follow");
  };
  const BuiltJob followed = built("gpt2@A100:b1:s8:bf16", Fsdp2{});
  const auto& scheme = std::get<Fsdp2>(followed.job.options().scheme);
  CHECK(scheme.param_dtype == Dtype::bfloat16);
  CHECK(scheme.reduce_dtype == Dtype::float32);
  CHECK(told(followed));
  CHECK(told(built("gpt2@A100:b1:s8:bf16", Replicate{})));
  CHECK(told(built("gpt2@A100:b1:s8:bf16", Fsdp1{})));
  for (const Scheme& stated : {Scheme(Fsdp2{.param_dtype = Dtype::float32}),
                               Scheme(Fsdp2{.reduce_dtype = Dtype::bfloat16}),
                               Scheme(Fsdp2{.own_types = true}), Scheme(Ddp())}) {
    const BuiltJob job = built("gpt2@A100:b1:s8:bf16", stated);
    CHECK(job.job.options().scheme == stated);
    CHECK_FALSE(told(job));
  }
  CHECK(complaint_of([&] {
          built("resnet18@A100:b1:amp:channels_last", Fsdp2{});
        }).starts_with("resnet18@A100:b1:amp:channels_last: --scheme fsdp2 takes no parameters"));
  built("resnet18@A100:b1:amp:channels_last", Fsdp1{});
  for (const char* other : {"gpt2@A100:b1:s8:amp", "gpt2@A100:b1:s8:bf16-true", "gpt2@A100:b1:s8"})
    CHECK_FALSE(told(built(other, Fsdp2{})));
}

TEST_CASE("jobs: batches of an epoch, spread evenly over the ranks") {
  const auto with = [](RankInputs inputs) {
    return built_with([&](JobRequest& request) {
      request.cluster.text = "p3dn@1";
      request.cluster.gpus_per_node = 4;
      request.data.uneven =
          UnevenRequest{.inputs = std::move(inputs), .divide_by_initial_world_size = false};
    });
  };
  using Range = std::pair<std::int64_t, std::int64_t>;
  const UnevenInputs uneven = *with(Range{90, 100}).job.options().uneven_inputs;
  CHECK(uneven.least == 90);
  CHECK(uneven.most == 100);
  CHECK(uneven.total == 90 + 93 + 96 + 100);
  CHECK_FALSE(uneven.divide_by_initial_world_size);
  const UnevenInputs listed =
      *with(std::vector<std::int64_t>{7, 9, 8, 5}).job.options().uneven_inputs;
  CHECK(listed.least == 5);
  CHECK(listed.most == 9);
  CHECK(listed.total == 29);
  std::string problem;
  try {
    with(std::vector<std::int64_t>{7, 9});
  } catch (const UsageError& error) {
    problem = error.what();
  }
  CHECK(problem == "--uneven-inputs: inputs names 2 ranks, but the cluster has 4");
}

TEST_CASE("jobs: the size of a data set needs a known batch") {
  JobRequest request = asked_of_resnet();
  request.data.set = DataSet{.size = 1000};
  CHECK(build_job(request).job.options().data_set->size == 1000);
  LoadedWorkload read = load_workload(request.workload);
  read.workload.batch_per_gpu.reset();
  CHECK(complaint_of([&] { build_job(request, read); })
            .starts_with("resnet50-v100-b32:/batch_per_gpu: --dataset-size: the number of samples "
                         "in a batch is unknown. Add batch_per_gpu"));
  request.data.set.reset();
  request.data.loader = DataLoader{.num_workers = 2, .sample = 2_ms};
  CHECK(complaint_of([&] { build_job(request, read); }).find("batch=120ms") != std::string::npos);
  request.data.loader = DataLoader{.num_workers = 2, .batch = 20_ms};
  CHECK(build_job(request, read).job.options().data_loader->batch == 20_ms);
}

TEST_CASE("jobs: a loader copies over the cluster's PCIe unless another rate is stated") {
  const auto pcie = [](std::optional<Bandwidth> stated) {
    return *built_with([&](JobRequest& request) {
              request.data.loader =
                  DataLoader{.batch = 20_ms, .batch_bytes = 1_MiB, .pcie = stated};
            })
                .job.options()
                .data_loader->pcie;
  };
  CHECK(pcie(Bandwidth::gigabytes_per_second(3)) == Bandwidth::gigabytes_per_second(3));
  CHECK(pcie({}) > Bandwidth::gigabytes_per_second(3));
}

TEST_CASE("jobs: stragglers must be ranks of the cluster") {
  const auto straggler = [](int rank) {
    return refused_with([&](JobRequest& request) {
      request.variation.ranks.stragglers = {{rank, 1.2}};
    });
  };
  CHECK(straggler(15) == "");
  CHECK(straggler(16) == "--straggler: the cluster has ranks 0 to 15, but no rank 16");
}

TEST_CASE("jobs: the multi-GPU overhead is published, or stated and then certain") {
  const BuiltJob published = build_job(asked_of_resnet());
  CHECK(published.job.options().rank_slowdown.gpu_spread > 0);
  CHECK(published.job.options().rank_slowdown_range);
  const BuiltJob stated =
      built_with([](JobRequest& request) { request.variation.rank_slowdown = 0.03; });
  CHECK(stated.job.options().rank_slowdown == RankSlowdown{.given = 0.03});
  CHECK_FALSE(stated.job.options().rank_slowdown_range);
  const BuiltJob spread =
      built_with([](JobRequest& request) { request.variation.gpu_spread = 0.004; });
  const auto& [least, most] = *spread.job.options().rank_slowdown_range;
  CHECK(least.gpu_spread == 0.004);
  CHECK(most.gpu_spread == 0.004);
  CHECK(least.several_gpus < most.several_gpus);
}

TEST_CASE("jobs: a CUDA graph launches nothing, and a stated launch cost is used") {
  const BuiltJob usual = build_job(asked_of_resnet());
  CHECK_FALSE(usual.job.options().launch_cost_known);
  const BuiltJob graph = built_with([](JobRequest& request) { request.host.cuda_graph = true; });
  CHECK(graph.job.options().launch_cost_known);
  CHECK(graph.job.options().costs.host_kernel == Duration());
  CHECK(graph.job.options().costs.host_hook == Duration());
  const BuiltJob stated = built_with([](JobRequest& request) { request.host.launch_cost = 9_us; });
  CHECK(stated.job.options().launch_cost_known);
  CHECK(stated.job.options().costs.host_kernel == 9_us);
  CHECK(stated.job.options().costs.host_hook == usual.job.options().costs.host_hook);
}

TEST_CASE("jobs: gloo's values as stated, in their order") {
  const BuiltJob gloo = built_with([](JobRequest& request) {
    request.collectives.backend = Backend::gloo;
    const auto step = [](Duration time) { return [time](GlooLinks& links) { links.step = time; }; };
    request.collectives.gloo = {{"step", "20us", step(20_us)}, {"step", "30us", step(30_us)}};
  });
  REQUIRE(std::holds_alternative<GlooModel>(gloo.job.model()));
  CHECK(std::get<GlooModel>(gloo.job.model()).links.step == 30_us);
}

TEST_CASE("jobs: rates of gloo that make a step last for days are refused") {
  CHECK(refused_with([](JobRequest& request) {
          request.collectives.backend = Backend::gloo;
          request.collectives.gloo = {{"process", "1Bps", [](GlooLinks& links) {
                                         links.process = Bandwidth::gigabytes_per_second(1e-9);
                                       }}};
        }).starts_with("--gloo: a step would take longer than"));
}

TEST_CASE("jobs: memory is counted and must fit into the stated size") {
  BuiltJob fits = build_job(asked_of_resnet());
  const CountedMemory counted = count_memory(fits);
  CHECK_FALSE(counted.problem);
  CHECK(counted.remedy.empty());
  CHECK(require_memory(fits).total() == counted.peak.total());
  BuiltJob small =
      built_with([](JobRequest& request) { request.memory.limit = Bytes(1'000'000'000); });
  CHECK(
      complaint_of([&] { require_memory(small); }).starts_with("resnet50-v100-b32: needs about "));
  const CountedMemory more = count_memory(small);
  CHECK(more.problem);
  CHECK(mentions(more.remedy, "A batch of "));
  const BuiltJob adam =
      built_with([](JobRequest& request) { request.memory.optimizer = Optimizer::adam; });
  CHECK(adam.job.options().optimizer.kind == Optimizer::adam);
  CHECK_FALSE(adam.job.options().optimizer.assumed);
  CHECK(fits.job.options().optimizer.kind == Optimizer::momentum);
  CHECK(fits.job.options().optimizer.assumed);
}

TEST_CASE("jobs: the measured step is replayed and its residual carried along") {
  BuiltJob built =
      built_with([](JobRequest& request) { request.measured_step = Duration(120_ms); });
  REQUIRE(built.measured_step);
  CHECK(built.measured_step->median == 120_ms);
  const Job measured = replay_current(built, built.job);
  CHECK(simulate_times(measured).iteration.milliseconds() == doctest::Approx(120).epsilon(1e-6));
  CHECK(built.trust.replay->measured == 120_ms);
  CHECK(built.trust.correction);
  BuiltJob without = build_job(asked_of_resnet());
  replay_current(without, without.job);
  CHECK_FALSE(without.trust.replay);
}

TEST_CASE("jobs: a measured step that cannot be this job's is refused, or overturns the answer") {
  BuiltJob shorter =
      built_with([](JobRequest& request) { request.measured_step = Duration(20_ms); });
  CHECK(mentions(complaint_of([&] { replay_current(shorter, shorter.job); }),
                 "is too short. Forward, backward and optimizer of the recorded step"));
  BuiltJob longer =
      built_with([](JobRequest& request) { request.measured_step = Duration(900_ms); });
  const std::size_t before = longer.trust.warnings.overturning();
  replay_current(longer, longer.job);
  CHECK_FALSE(longer.trust.correction);
  CHECK(longer.trust.warnings.overturning() == before + 1);
  CHECK(mentions(longer.trust.warnings.texts().front(), "another job, or another unit?"));
}

TEST_CASE("jobs: options that exclude each other are refused before anything is simulated") {
  CHECK(refused_with([](JobRequest& request) {
          request.ddp.comm_hook = CommHook::power_sgd;
          request.ddp.optimizer_in_backward = true;
          request.measured_step = Duration(120_ms);
        }).starts_with("_apply_optimizer_in_backward is a communication hook itself"));
  CHECK(refused_with([](JobRequest& request) {
          request.ddp.bucket_cap_mb = 25;
          request.ddp.first_bucket_mb = 2;
          // When several caps are tried, some of them may be reachable.
        }) == "");
}

TEST_CASE("jobs: a search over caps has a limit of parameters") {
  BuiltJob built = build_job(asked_of_resnet());
  CHECK(complaint_of([&] { require_searchable(built, "so"); }).empty());
  CHECK(complaint_of([&] { require_simulatable(built); }).empty());
  LoadedWorkload many = load_workload(asked_of_resnet().workload);
  many.workload.parameters.resize(50'001);
  many.workload.backward.reset();
  BuiltJob large = build_job(asked_of_resnet(), many);
  CHECK(mentions(complaint_of([&] { require_searchable(large, "Ask for one cap"); }),
                 "has 50001 parameters"));
}

TEST_CASE("jobs: parts of a step are the same however finely its compute is written") {
  for (const char* scheme : {"ddp", "fsdp2", "parameter server"})
    for (const bool on_host : {false, true}) {
      CAPTURE(scheme);
      CAPTURE(on_host);
      const BuiltJob built = built_with([&](JobRequest& request) {
        request.cluster.text = "p3dn@1";
        request.workload.source = "resnet18@V100:b4";
        if (scheme == std::string("fsdp2")) request.scheme = Fsdp2();
        if (scheme == std::string("parameter server"))
          request.scheme = ParameterServer{.mode = ParameterServer::Mode::async};
        if (!on_host) return;
        request.collectives.backend = Backend::gloo;
        request.collectives.gloo = {
            {"tensors", "host", [](GlooLinks& links) { links.host_tensors = true; }}};
      });
      const StepTimes fine = simulate(built.job).step.times;
      const StepTimes coarse = simulate_times(built.job);
      CHECK(coarse.iteration == fine.iteration);
      CHECK(coarse.forward == fine.forward);
      CHECK(coarse.backward == fine.backward);
      CHECK(coarse.backward_compute == fine.backward_compute);
      CHECK(coarse.copies_in == fine.copies_in);
      CHECK(coarse.exposed_communication == fine.exposed_communication);
      CHECK(coarse.slowest_gpu == fine.slowest_gpu);
      CHECK(coarse.unexplained == fine.unexplained);
      CHECK(coarse.loss == fine.loss);
    }
}
