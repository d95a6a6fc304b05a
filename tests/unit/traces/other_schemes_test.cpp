// Traces of other schemes are refused by name, instead of being read as DDP without communication.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;

namespace {

/// A step with one gradient, after which autograd's thread calls these operations, with one kernel
/// each.
TraceBuilder step_of_operations(const std::vector<std::string>& operations) {
  TraceBuilder trace;
  trace.step(1, 0, 900).kernel(10, 20, 100, TraceBuilder::kCaller);
  trace.node("MulBackward0", 110, 116).kernel(111, 120, 170).gradient(117, 118);
  double at = 200;
  for (const std::string& operation : operations) {
    const std::string arguments =
        fmt::format(R"("Collective name":"{}","dtype":"Float","In msg nelems":8)", operation);
    trace.span("cpu_op", "record_param_comms", TraceBuilder::kAutograd, at - 0.5, at + 2,
               arguments);
    trace.kernel(at, at + 5, at + 15, TraceBuilder::kAutograd, "ncclDevKernel_Generic", arguments);
    at += 20;
  }
  return trace;
}

std::string scheme_refusal(const std::vector<std::string>& operations) {
  return complaint_of([&] { step_of_operations(operations).import(); });
}

}  // namespace

TEST_CASE(
    "other schemes: gradients without an all-reduce belong to another scheme, which is named") {
  CHECK(
      mentions(scheme_refusal({"_reduce_scatter_base", "_reduce_scatter_base"}),
               "ProfilerStep#1: 2 reduce-scatters a step and no all-reduce of gradients: they are "
               "sharded, as by FSDP, ZeRO or a distributed optimizer; ddpsim simulates "
               "DistributedDataParallel"));
  CHECK(mentions(scheme_refusal({"reduce_scatter_tensor_coalesced"}), "1 reduce-scatter a step"));
  CHECK(mentions(scheme_refusal({"_reduce_scatter_base", "all_gather"}),
                 "as by ZeRO 1 or 2 or Megatron-LM's distributed optimizer"));
  CHECK(mentions(scheme_refusal({"reduce_scatter_tensor", "allreduce"}),
                 "1 reduce-scatter a step and 1 all-reduce in backward: gradients are sharded "
                 "within a group and all-reduced between groups, as by hybrid FSDP (HSDP)"));
  CHECK(mentions(scheme_refusal({"allreduce", "_allgather_base"}),
                 "1 all-gather after backward: each rank updates its own part of the parameters"));
  CHECK(mentions(
      scheme_refusal({"reduce", "reduce"}),
      "2 reduces a step and no all-reduce of gradients: each goes to one rank, as with ZeRO"));
  CHECK(mentions(scheme_refusal({"send", "recv"}), "2 sends or receives a step"));
  CHECK(mentions(scheme_refusal({"sendrecv"}), "a stage of a pipeline"));
  CHECK(mentions(scheme_refusal({"all_to_allv"}),
                 "1 all-to-all a step and no all-reduce of gradients: "
                 "expert parallel"));
}

TEST_CASE("other schemes: DDP with other groups is DDP, and so is a job without communication") {
  for (const std::vector<std::string>& operations : {std::vector<std::string>{},
                                                     {"allreduce"},
                                                     {"all_to_allv", "allreduce"},
                                                     {"reduce_scatter_tensor", "allreduce"},
                                                     {"_allgather_base", "allreduce"},
                                                     {"broadcast"},
                                                     {"barrier"}}) {
    CAPTURE(operations.size());
    CHECK_NOTHROW(step_of_operations(operations).ddp().import());
  }
  // A gather for a metric is smaller than the parameters, whoever calls it.
  CHECK_NOTHROW(step_of_operations({"allreduce", "allreduce", "_allgather_base"}).import());
  const Imported beside =
      step_of_operations({"all_to_allv", "all_to_allv", "allreduce"}).ddp().import();
  CHECK(mentions(beside.recognised,
                 "other collectives than the gradients' all-reduces: 2 all-to-alls; they stay"));
  CHECK(beside.workload.recorded_with.collectives.size() == 1);
}

TEST_CASE("other schemes: names of ranges, nodes, modules and files identify a scheme") {
  // (category, name) and a part of the message.
  const std::vector<std::array<std::string, 3>> named = {
      {"cpu_op", "FullyShardedDataParallel.forward", "FullyShardedDataParallel ran"},
      {"user_annotation", "FSDP::root_pre_forward",
       "replicate, or fully_shard in groups of one rank, ran"},
      {"cpu_op", "autograd::engine::evaluate_function: RegisterPostBackwardFunctionBackward",
       "replicate, or fully_shard"},
      {"python_function", "horovod/torch/optimizer.py(80): step", "Horovod ran"},
      {"user_annotation", "HOROVOD_ALLREDUCE", "Horovod ran"}};
  for (const auto& row : named) {
    const std::string& category = row[0];
    const std::string& name = row[1];
    const std::string& said = row[2];
    CAPTURE(name);
    CHECK(mentions(complaint_of([&] {
                     step_of_operations({"allreduce"})
                         .span(category, name, TraceBuilder::kCaller, 1, 2)
                         .import();
                   }),
                   said));
  }
  const std::vector<std::array<std::string, 2>> sharding = {
      {"nn.Module: DeepSpeedEngine_0", "by DeepSpeed's ZeRO 1 or 2"},
      {"/opt/site/deepspeed/runtime/engine.py(1): step", "by DeepSpeed's ZeRO 1 or 2"},
      {"megatron/core/distributed/param_and_grad_buffer.py(9): start",
       "by Megatron-LM's distributed"}};
  for (const auto& row : sharding) {
    const std::string& name = row[0];
    const std::string& said = row[1];
    CAPTURE(name);
    CHECK(mentions(complaint_of([&] {
                     step_of_operations({"reduce_scatter_tensor"})
                         .span("python_function", name, TraceBuilder::kCaller, 1, 2)
                         .import();
                   }),
                   said));
  }
  // Names that only look similar.
  for (const std::string name : {"DistributedDataParallel.forward", "GatherBackward0",
                                 "transformers/integrations/deepspeed.py(8): is_enabled"})
    CHECK_NOTHROW(step_of_operations({"allreduce"})
                      .span(name.ends_with(")") || name.find(".py") != std::string::npos
                                ? "python_function"
                                : "cpu_op",
                            name, TraceBuilder::kCaller, 1, 2)
                      .import());
}

TEST_CASE("other schemes: gradients all-reduced among some ranks belong to a part of a model") {
  const auto among = [](int ranks, const std::string& name) {
    TraceBuilder trace = step_of_operations({});
    const std::string arguments = fmt::format(
        R"("Collective name":"allreduce","dtype":"Float","In msg nelems":8,"Group size":{},"Process Group Name":"7","Process Group Description":"{}")",
        ranks, name);
    trace.span("cpu_op", "record_param_comms", TraceBuilder::kAutograd, 199, 202, arguments);
    trace.kernel(200, 205, 215, TraceBuilder::kAutograd, "ncclDevKernel_Generic");
    return trace.ddp().with(R"("distributedInfo":{"backend":"nccl","rank":0,"world_size":8})");
  };
  CHECK_NOTHROW(among(8, "default_pg").import());
  CHECK(mentions(
      complaint_of([&] { among(4, "dp").import(); }),
      "gradients are all-reduced among 4 of 8 ranks (group dp): the others hold other parts "
      "of the model"));
}

TEST_CASE("other schemes: DDP on several ranks without all-reduces ran under no_sync") {
  const auto on = [](const std::string& backend) {
    return step_of_operations({}).ddp().with(
        fmt::format(R"("distributedInfo":{{"backend":"{}","rank":0,"world_size":2}})", backend));
  };
  CHECK(mentions(
      complaint_of([&] { on("nccl").import(); }),
      "DDP ran on 2 ranks, but no step launches an all-reduce: all are micro-batches under "
      "no_sync()"));
  CHECK_NOTHROW(on("gloo").import());  // gloo launches no kernels
}

TEST_CASE("other schemes: all-reduces of the script or other hooks are kept and reported") {
  const auto with_script = [](int elements, double at = 300) {
    TraceBuilder trace = step_of_operations({});
    const std::string arguments = fmt::format(
        R"("Collective name":"allreduce","dtype":"Float","In msg nelems":{})", elements);
    trace.span("cpu_op", "record_param_comms", TraceBuilder::kCaller, at - 1, at + 2, arguments);
    return trace.kernel(at, at + 10, at + 30, TraceBuilder::kCaller, "ncclDevKernel_Generic");
  };
  const Imported script = with_script(6).import();
  CHECK(script.workload.recorded_with.reduced_by == ReducedBy::script);
  CHECK(script.workload.recorded_with.collectives.size() == 1);
  CHECK(script.workload.recorded_with.exposed == Duration::microseconds(160));  // 170 to 330
  CHECK(mentions(
      script.recognised,
      "not DDP's reducer but the script, after backward, made the 1 all-reduce of gradients"));
  CHECK(with_script(0).import().workload.recorded_with.collectives.empty());  // too few elements
  // In forward, it belongs to tensor parallelism or a metric, because gradients do not exist yet.
  const Imported metric = with_script(6, 50).import();
  CHECK(metric.workload.recorded_with.reduced_by == ReducedBy::reducer);
  CHECK(metric.workload.recorded_with.collectives.empty());

  TraceBuilder hooks = step_of_operations({"allreduce", "allreduce"});
  hooks.gradient(119, 120);
  CHECK(hooks.import().workload.recorded_with.reduced_by == ReducedBy::hooks);
  CHECK(hooks.ddp().import().workload.recorded_with.reduced_by == ReducedBy::reducer);
}

TEST_CASE(
    "other schemes: all-reduces of compiled nodes are gradients unless forward has some too") {
  const std::string arguments =
      R"("Collective name":"allreduce","dtype":"Float","In msg nelems":8,"Group size":2)";
  TraceBuilder compiled;
  compiled.step(1, 0, 900).kernel(10, 20, 100, TraceBuilder::kCaller);
  compiled.node("CompiledFunctionBackward", 110, 140).kernel(111, 120, 170);
  compiled.span("cpu_op", "record_param_comms", TraceBuilder::kAutograd, 119, 123, arguments);
  compiled.kernel(121, 170, 190, TraceBuilder::kAutograd, "ncclDevKernel_AllReduce", arguments);
  compiled.gradient(141, 142);
  CHECK(compiled.import().workload.recorded_with.reduced_by == ReducedBy::compiled);
  // All-reduces of forward belong to tensor-parallel ranks, and then so do those of backward.
  TraceBuilder sharded = compiled;
  sharded.span("cpu_op", "record_param_comms", TraceBuilder::kCaller, 49, 53, arguments);
  sharded.kernel(51, 100, 110, TraceBuilder::kCaller, "ncclDevKernel_AllReduce", arguments);
  CHECK(
      mentions(complaint_of([&] { sharded.import(); }),
               "1 all-reduce a step in forward and 1 inside nodes of backward, none of gradients"));
}

TEST_CASE("other schemes: without host operators, the scheme is unknown") {
  CHECK(mentions(complaint_of([] { TraceBuilder().kernel(10, 20, 30).import(); }),
                 "cannot tell how gradients are reduced, nor when they are ready"));
}
