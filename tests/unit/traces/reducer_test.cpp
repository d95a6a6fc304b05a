// Which collectives of a step belong to the reducer, and what they reveal: a compression hook,
// parameters outside DDP, a compiled backward.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

/// Backward from 150 to 200. The gradient's shape is recorded if a type is given.
TraceBuilder before_hooks(const std::string& type = "", const std::string& dims = "[[2,4]]") {
  TraceBuilder trace;
  trace.ddp().step(1, 0, 5000).kernel(10, 20, 100, TraceBuilder::kCaller);
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 130).gradient(122, 123, TraceBuilder::kAutograd, type.empty() ? "" : dims, type);
  return trace;
}

}  // namespace

TEST_CASE("reducer: all-reduces of hooks are its own, but not those inside a node or of integers") {
  TraceBuilder trace = before_hooks();
  trace.all_reduce(125, 200, 220, 8);
  trace.node("B", 131, 140).all_reduce(135, 220, 230, 16);
  trace.all_reduce(141, 230, 240, 4, "Int");  // the map of used parameters
  trace.all_reduce(145, 240, 250, 2);
  const Imported imported = trace.import();
  const auto& collectives = imported.workload.recorded_with.collectives;
  REQUIRE(collectives.size() == 2);
  CHECK(collectives[0].bytes == 32_B);
  CHECK(collectives[1].bytes == 8_B);
  CHECK(imported.workload.recorded_with.nccl_kernels == 4);
  CHECK(imported.bucket_bytes == std::vector<Bytes>{32_B, 8_B});
  CHECK(mentions(imported.warnings, "1 all-reduces inside autograd nodes"));
  CHECK_FALSE(imported.workload.recorded_with.sync_batchnorm);
  CHECK(mentions(imported.recognised, "2 buckets recorded: 32 8 bytes, 40 in all"));
  CHECK(mentions(imported.recognised, "4 NCCL kernels in the step, 2 of them the reducer's"));
  CHECK(imported.rank_trace->collectives.size() == 4);
}

TEST_CASE(
    "reducer: all-reduces inside SyncBatchNorm's node belong to it and stay in the recording") {
  TraceBuilder trace = before_hooks();
  trace.all_reduce(125, 200, 220, 8);
  trace.node("SyncBatchNormBackward", 131, 140).all_reduce(135, 220, 230, 16);
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.sync_batchnorm);
  CHECK(imported.bucket_bytes == std::vector<Bytes>{32_B});
  CHECK(mentions(imported.recognised, "SyncBatchNorm ran: 1 all-reduce inside backward's nodes"));
  CHECK_FALSE(mentions(imported.warnings, "inside autograd nodes"));
}

TEST_CASE("reducer: an all-reduce launched when a node ends is the reducer's, but not earlier") {
  const auto count = [](double node_end) {
    TraceBuilder trace = before_hooks();
    trace.node("B", 131, node_end);
    const std::string arguments =
        R"("Collective name":"allreduce","dtype":"Float","In msg nelems":8)";
    trace.kernel(140, 200, 210, TraceBuilder::kAutograd, "ncclKernel_AllReduce", arguments);
    return trace.import().workload.recorded_with.collectives.size();
  };
  CHECK(count(140) == 1);
  CHECK(count(140.001) == 0);
}

TEST_CASE("reducer: each field of a recorded collective, on backward's clock") {
  TraceBuilder trace = before_hooks();
  trace.kernel(
      127, 205, 233, TraceBuilder::kAutograd, "ncclKernel_AllReduce",
      R"("Collective name":"allreduce","dtype":"Float","In msg nelems":10,"grid":[12,1,1])");
  const auto collectives = trace.import().workload.recorded_with.collectives;
  REQUIRE(collectives.size() == 1);
  CHECK(collectives[0].bytes == 40_B);
  CHECK(collectives[0].launch == -23_us);  // 127 - 150
  CHECK(collectives[0].start == 55_us);
  CHECK(collectives[0].duration == 28_us);
  CHECK(collectives[0].channels == 12);
}

TEST_CASE("reducer: all-reduces without sizes are counted, but their times are left out") {
  TraceBuilder trace = before_hooks();
  trace.all_reduce(125, 200, 220).kernel(127, 220, 230, 2, "ncclKernel_AllReduce");
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.collectives.empty());
  CHECK(imported.workload.recorded_with.nccl_kernels == 2);
  CHECK(imported.workload.recorded_with.exposed == 30_us);
  CHECK(mentions(imported.warnings, "the all-reduces carry no sizes"));
}

TEST_CASE("broadcasts: count if other threads launch them before backward") {
  const std::string arguments =
      R"("Collective name":"broadcast","dtype":"Float","In msg nelems":8)";
  const auto broadcast = [&](double from_1, double to_1, double from_2, double to_2, int thread) {
    TraceBuilder trace = before_hooks();
    trace.kernel(12, from_1, to_1, thread, "ncclKernel_Broadcast", arguments);
    trace.kernel(13, from_2, to_2, thread, "ncclKernel_Broadcast", arguments);
    return trace.import().workload.recorded_with.buffer_broadcast;
  };
  CHECK(broadcast(30, 35, 22, 40, TraceBuilder::kCaller) == 18_us);
  CHECK(broadcast(30, 35, 149, 160, TraceBuilder::kCaller) == 130_us);  // begins before backward
  CHECK(broadcast(30, 35, 150, 160, TraceBuilder::kCaller) == 5_us);    // begins with it
  CHECK_FALSE(broadcast(30, 35, 22, 40, TraceBuilder::kAutograd).has_value());
}

TEST_CASE("compression: only half-precision all-reduces of wider gradients show a hook") {
  const auto wire = [](const std::string& gradients, const std::string& carried) {
    return before_hooks(gradients)
        .all_reduce(125, 200, 220, 8, carried)
        .import()
        .workload.recorded_with.wire;
  };
  CHECK(wire("float", "Half") == Dtype::float16);
  CHECK(wire("float", "BFloat16") == Dtype::bfloat16);
  CHECK(wire("double", "Half") == Dtype::float16);
  CHECK_FALSE(wire("float", "Float").has_value());
  // PyTorch has no hook that casts to 32 bits
  CHECK_FALSE(wire("double", "Float").has_value());
  CHECK_FALSE(wire("c10::Half", "Half").has_value());
  CHECK_FALSE(wire("c10::Half", "BFloat16").has_value());
  CHECK_FALSE(wire("", "Half").has_value());
}

TEST_CASE("compression: buckets count gradients, and collectives count the bytes they carried") {
  const Imported imported =
      before_hooks("double").all_reduce(125, 200, 220, 8, "BFloat16").import();
  CHECK(imported.bucket_bytes == std::vector<Bytes>{64_B});
  CHECK(imported.workload.recorded_with.collectives.at(0).bytes == 16_B);
  CHECK(mentions(imported.recognised,
                 "a compression hook was on (bf16_compress_hook): the all-reduces carry bfloat16, "
                 "the gradients are wider; to simulate it as it ran, pass --comm-hook bf16"));
  const Imported unknown = before_hooks().all_reduce(125, 200, 220, 8, "BFloat16").import();
  CHECK(mentions(unknown.warnings, "If it is float32, bf16_compress_hook was on"));
}

TEST_CASE("compression: all-reduces or gradients of two types show nothing") {
  TraceBuilder carried = before_hooks("float");
  carried.all_reduce(125, 200, 220, 8, "Half").all_reduce(128, 220, 230, 8, "Float");
  CHECK_FALSE(carried.import().workload.recorded_with.wire.has_value());
  TraceBuilder gradients = before_hooks("float");
  gradients.hooks(131, 140).gradient(132, 133, TraceBuilder::kAutograd, "[[4]]", "c10::Half");
  gradients.all_reduce(135, 200, 220, 12, "Half");
  CHECK_FALSE(gradients.import().workload.recorded_with.wire.has_value());
  // A gradient that stayed undefined has no type and is ignored.
  TraceBuilder undefined = before_hooks("float");
  undefined.hooks(131, 140).gradient(132, 133, TraceBuilder::kAutograd, "[[]]", "");
  undefined.all_reduce(135, 200, 220, 8, "Half");
  CHECK(undefined.import().workload.recorded_with.wire == Dtype::float16);
}

TEST_CASE("unused: late or undefined gradients are outside DDP if the bytes agree") {
  const auto ignored = [](std::int64_t elements) {
    TraceBuilder trace = before_hooks("float");  // 2 x 4 elements
    trace.all_reduce(125, 200, 220, elements);
    trace.hooks(131, 140).gradient(132, 133, TraceBuilder::kAutograd, "[[16]]", "float");
    trace.hooks(141, 150).gradient(142, 143, TraceBuilder::kAutograd, "[[]]", "");
    return trace.import();
  };
  const Imported agrees = ignored(8);
  const auto& parameters = agrees.workload.parameters;  // in the reverse order of gradients
  REQUIRE(parameters.size() == 3);
  CHECK_FALSE(parameters[2].ignored);
  CHECK(parameters[1].ignored);
  CHECK(parameters[0].ignored);
  CHECK(parameters[2].shape == std::vector<std::int64_t>{2, 4});
  CHECK(parameters[1].shape == std::vector<std::int64_t>{16});
  CHECK_FALSE(parameters[0].shape.has_value());
  CHECK(parameters[2].name == "parameter_2");
  CHECK(agrees.workload.backward->ready[0].parameter == 2);
  CHECK(mentions(agrees.recognised, "2 of 3 gradients are outside DDP"));
  CHECK_FALSE(mentions(agrees.warnings, "not certain"));
  const Imported differs = ignored(9);
  CHECK_FALSE(differs.workload.parameters[1].ignored);
  CHECK(differs.workload.parameters[0].ignored);
  CHECK(mentions(
      differs.warnings,
      "the recorded buckets hold 36 bytes, but the gradients before the last of them hold 32"));
  CHECK(mentions(differs.recognised, "1 of 3 gradients are outside DDP"));
}

TEST_CASE("compiled: a gradient right after a compiled node came from it") {
  TraceBuilder trace = before_hooks();
  trace.node("CompiledFunctionBackward", 131, 140).kernel(132, 200, 260);
  trace.gradient(141, 142).gradient(143, 144);
  trace.node("B", 145, 150).kernel(146, 260, 270).gradient(151, 152);
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.compiled_gradients == 2);
  CHECK(mentions(imported.recognised, "compiled backward: 2 of 4 gradients"));
}
