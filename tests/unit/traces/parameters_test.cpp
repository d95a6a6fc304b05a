// Assigns the gradients of a trace to parameters, and reads GPU and job from its header. Covers the
// model that fits, a near miss, and several models with the same number of gradients.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "complaint.hpp"
#include "ddpsim/formats/input_error.hpp"
#include "model_fit.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

/// Types of AlexNet's gradients and of the all-reduces. Biases may have another type.
struct GradientTypes {
  std::string weights = "float";
  std::string biases = weights;
  std::string reduced = "Float";
};

/// A step with the gradients of AlexNet in ready order; gradient `wrong` is one element longer. The
/// buckets, if any, are all-reduces with these numbers of elements.
Imported alexnet_trace(bool shapes, const std::vector<std::int64_t>& buckets = {},
                       const ImportOptions& options = {}, std::optional<std::size_t> wrong = {},
                       const GradientTypes& types = {}) {
  const Model model = find_model("alexnet").value();
  TraceBuilder trace;
  trace.ddp().step(1, 0, 5000).kernel(10, 20, 100, TraceBuilder::kCaller);
  trace.node("A", 110, 120).kernel(111, 150, 200);
  for (std::size_t k = 0; k < model.ready_order.size(); ++k) {
    std::vector<std::int64_t> shape = *model.parameters[model.ready_order[k]].shape;
    if (k == wrong) ++shape.back();
    const double at = 121 + 2.0 * static_cast<double>(k);
    trace.gradient(at, at + 1, TraceBuilder::kAutograd,
                   shapes ? fmt::format("[[{}]]", fmt::join(shape, ",")) : "",
                   shape.size() > 1 ? types.weights : types.biases);
  }
  double at = 300;
  for (const std::int64_t elements : buckets) {
    at += 5;
    trace.all_reduce(at, at, at + 4, elements, types.reduced);
  }
  return trace.import(options);
}

std::string refusal(const ImportOptions& options, bool shapes, std::optional<std::size_t> wrong) {
  return complaint_of([&] { alexnet_trace(shapes, {}, options, wrong); });
}

/// Three gradients of 4, 8 and 16 bytes, ready in the reverse of definition order.
Model small_model() {
  Model model;
  for (const std::int64_t elements : {1, 2, 4})
    model.parameters.push_back({.name = "", .shape = {{elements}}, .device = ""});
  model.ready_order = {2, 1, 0};
  return model;
}

bool fits(const std::vector<std::int64_t>& sizes) {
  std::vector<Bytes> buckets;
  for (const std::int64_t size : sizes) buckets.emplace_back(size);
  return buckets_fit(small_model(), buckets);
}

constexpr std::int64_t kAlexNet = 61'100'840;
constexpr const char* kTwoGpus =
    R"("deviceProperties":[{"id":3,"name":"Tesla V100-SXM2-16GB"},{"id":5,"name":"NVIDIA A100"}])";

}  // namespace

TEST_CASE("model fit: buckets end exactly at gradients in ready order and hold all of them") {
  CHECK(fits({16, 12}));
  CHECK(fits({24, 4}));
  CHECK(fits({28}));
  CHECK(fits({16, 8, 4}));
  CHECK_FALSE(fits({12, 16}));  // another order
  CHECK_FALSE(fits({16, 8}));   // a gradient is left
  CHECK_FALSE(fits({16, 11}));
  CHECK_FALSE(fits({16, 13}));
  CHECK_FALSE(fits({16, 12, 4}));  // nothing is left
}

TEST_CASE("model fit: shapes in ready order, one of them off by one") {
  const Model model = find_model("alexnet").value();
  std::vector<std::vector<std::int64_t>> shapes;
  for (const std::size_t index : model.ready_order)
    shapes.push_back(*model.parameters[index].shape);
  CHECK(model_of_shapes(shapes)->name == "alexnet");
  ++shapes.back().back();
  CHECK_FALSE(model_of_shapes(shapes).has_value());
  --shapes.back().back();
  std::swap(shapes[0], shapes[1]);
  CHECK_FALSE(model_of_shapes(shapes).has_value());
  std::swap(shapes[0], shapes[1]);
  shapes.pop_back();
  CHECK_FALSE(model_of_shapes(shapes).has_value());
}

TEST_CASE("parameters: recorded shapes identify the model, and a near miss does not") {
  const Imported known = alexnet_trace(true);
  CHECK(mentions(known.recognised, "the 16 recorded shapes are those of alexnet, in ready order"));
  CHECK(known.workload.parameter_order == ParameterOrder::definition);
  CHECK(known.workload.parameters[0].name == "features.0.weight");
  const auto& first = known.workload.backward->ready[0];
  CHECK(known.workload.parameters[first.parameter].name == "classifier.6.bias");
  const Imported other = alexnet_trace(true, {}, {}, 2);
  CHECK(mentions(other.warnings, "no bundled model has these 16 shapes"));
  CHECK(other.workload.parameter_order == ParameterOrder::assumed);
  CHECK(other.workload.parameters[15].name == "parameter_15");
  CHECK(other.workload.parameters[15].shape == std::vector<std::int64_t>{1000});
  CHECK(other.workload.backward->ready[0].parameter == 15);
}

TEST_CASE("parameters: names and shapes come from a bundled model, types from the recording") {
  const Workload half =
      alexnet_trace(true, {}, {}, {}, {.weights = "c10::BFloat16", .biases = "float"}).workload;
  CHECK(half.parameters[0].name == "features.0.weight");
  CHECK(half.parameters[0].dtype == Dtype::bfloat16);
  CHECK(half.parameters[1].name == "features.0.bias");
  CHECK(half.parameters[1].dtype == Dtype::float32);
  // Without shapes, the all-reduces decide, by the number of elements and the type.
  const Imported reduced =
      alexnet_trace(false, {4'097'000, kAlexNet - 4'097'000}, {}, {}, {.reduced = "Half"});
  CHECK(mentions(reduced.recognised, "and the recorded buckets end exactly at them"));
  for (const Parameter& parameter : reduced.workload.parameters)
    CHECK(parameter.dtype == Dtype::float16);
  CHECK(mentions(reduced.warnings, "If it is float32, fp16_compress_hook was on"));
  const Imported asked = alexnet_trace(false, {4'097'000, kAlexNet - 4'097'000},
                                       {.model = "alexnet"}, {}, {.reduced = "Half"});
  CHECK_FALSE(mentions(asked.warnings, "bucket bytes do not fit"));
  CHECK(asked.workload.parameters[0].dtype == Dtype::float16);
}

TEST_CASE("parameters: without shapes, the number of gradients and the buckets decide") {
  CHECK(mentions(alexnet_trace(false).recognised,
                 "used those of alexnet: it has 16 gradients (no bucket bytes are recorded"));
  const Imported fitting = alexnet_trace(false, {4'097'000, kAlexNet - 4'097'000});
  CHECK(mentions(fitting.recognised, "and the recorded buckets end exactly at them"));
  CHECK(fitting.workload.parameters[0].name == "features.0.weight");
  const auto shapes_from = [](const Imported& imported) {
    for (const auto& [key, text] : imported.workload.provenance)
      if (key == "shapes") return text;
    return std::string("nowhere");
  };
  CHECK(shapes_from(fitting) == "bundled model alexnet");
  CHECK(shapes_from(alexnet_trace(true, {}, {}, 2)) == "recorded");
  CHECK(shapes_from(alexnet_trace(false, {5})) == "nowhere");
  const Imported off = alexnet_trace(false, {4'097'001, kAlexNet - 4'097'001});
  CHECK(mentions(off.warnings, "no bundled model fits 16 gradients and these buckets"));
  CHECK_FALSE(off.workload.parameters[0].shape.has_value());
}

TEST_CASE("parameters: the requested model must fit the shapes, and should fit the buckets") {
  CHECK(refusal({.model = "alexnet"}, true, {}) == "");
  CHECK(refusal({.model = "alexnet"}, false, 3) == "");  // no shape to contradict it
  CHECK(refusal({.model = "alexnet"}, true, 2)
            .find("gradient 2 was recorded with shape [4097], but alexnet has classifier.4.bias "
                  "[4096] there") != std::string::npos);
  CHECK(refusal({.model = "vgg11"}, true, {}).find("16 gradients, but vgg11 has 22") !=
        std::string::npos);
  const Imported asked = alexnet_trace(false, {kAlexNet}, {.model = "alexnet"});
  CHECK(mentions(asked.recognised, "shapes of alexnet, as asked"));
  CHECK_FALSE(mentions(asked.warnings, "do not fit"));
  CHECK(mentions(alexnet_trace(false, {kAlexNet - 1}, {.model = "alexnet"}).warnings,
                 "the recorded bucket bytes do not fit alexnet"));
}

TEST_CASE(
    "trace header: the GPU is that of the events, otherwise the first, otherwise the requested "
    "one") {
  const auto gpu = [](const std::string& header, const std::string& device,
                      const std::string& asked = "") {
    TraceBuilder trace;
    trace.step(1, 0, 5000).node("A", 110, 120).kernel(111, 150, 200, 2, "k", device);
    trace.gradient(121, 122);
    if (!header.empty()) trace.with(header);
    return trace.import({.gpu = asked});
  };
  CHECK(gpu(kTwoGpus, R"("device":5)").workload.gpu == "A100");
  CHECK(gpu(kTwoGpus, R"("device":3)").workload.gpu == "V100");
  CHECK(gpu(kTwoGpus, R"("device":7)").workload.gpu == "V100");
  CHECK(gpu(kTwoGpus, "").workload.gpu == "V100");
  CHECK(gpu(kTwoGpus, R"("device":5)", "H100").workload.gpu == "H100");
  CHECK(gpu("", "", "H100").workload.gpu == "H100");
  const Imported unknown = gpu("", "");
  CHECK(unknown.workload.gpu.empty());
  CHECK(mentions(unknown.warnings, "name it with --gpu"));
  CHECK_FALSE(mentions(gpu("", "", "H100").warnings, "--gpu"));
  CHECK(gpu(R"("deviceProperties":[{"id":0},{"id":1,"name":"Tesla P100"}])", R"("device":0)")
            .workload.gpu == "P100");
}

TEST_CASE("trace header: rank, world size and NCCL's version are found in all places") {
  const auto job = [](const std::string& info) {
    TraceBuilder trace;
    trace.ddp().step(1, 0, 5000).node("A", 110, 120).kernel(111, 150, 200).gradient(121, 122);
    return trace.with(R"("distributedInfo":{)" + info + "}").import();
  };
  const Imported told = job(R"("rank":3,"world_size":7,"nccl_version":"2.21.5")");
  CHECK(told.rank_trace->rank == 3);
  CHECK(told.rank_trace->world_size == 7);
  CHECK(told.workload.recorded_with.world_size == 7);
  CHECK(mentions(told.recognised, "world size 7"));
  CHECK_FALSE(mentions(told.recognised, "(assumed)"));
  const auto& provenance = told.workload.provenance;
  const auto said = [&](const std::string& key) {
    const auto found = std::find_if(provenance.begin(), provenance.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    return found == provenance.end() ? "" : found->second;
  };
  CHECK(said("rank") == "3");
  CHECK(said("nccl") == "2.21.5");
  CHECK(said("step") == "ProfilerStep#1");
  CHECK(said("source") == "t.json");
  CHECK(told.workload.name == "t");
  for (const char* senseless :
       {R"("world_size":0)", R"("world_size":1000000001)", R"("world_size":"2")"}) {
    const Imported none = job(senseless);
    CHECK_FALSE(none.rank_trace->world_size.has_value());
    CHECK(none.workload.recorded_with.world_size == 1);
    CHECK(mentions(none.recognised, "world size 1 (assumed)"));
  }
  CHECK(job(R"("world_size":1000000000)").workload.recorded_with.world_size == 1'000'000'000);
}

TEST_CASE("trace: activities on several GPUs are reported") {
  TraceBuilder trace;
  trace.ddp().step(1, 0, 5000).node("A", 110, 120).kernel(111, 150, 200, 2, "k", R"("device":0)");
  trace.hooks(121, 130).gradient(122, 123).all_reduce(125, 200, 220);
  TraceBuilder two = trace;
  two.kernel(126, 200, 201, 2, "k", R"("device":1)");
  CHECK_FALSE(mentions(trace.import().warnings, "GPUs; a DDP rank uses one"));
  CHECK(mentions(two.import().warnings, "activities on 2 GPUs; a DDP rank uses one"));
  TraceBuilder one = trace;
  CHECK(one.with(R"("distributedInfo":{"world_size":1})").import().alone.empty());
  TraceBuilder job = trace;
  job.with(R"("distributedInfo":{"world_size":2})");
  CHECK(job.import().alone.find("one rank's recording") == 0);
}

TEST_CASE("trace: without distributedInfo the largest group that a collective names is the world") {
  const auto job = [](const std::string& call, const std::string& kernel) {
    TraceBuilder trace;
    trace.ddp().step(1, 0, 5000).node("A", 110, 120).kernel(111, 150, 200);
    trace.hooks(121, 130).gradient(122, 123);
    trace.span("cpu_op", "record_param_comms", TraceBuilder::kAutograd, 124, 128,
               R"("Collective name":"allreduce","dtype":"Float","In msg nelems":8)" + call);
    trace.kernel(125, 200, 220, TraceBuilder::kAutograd, "ncclKernel_AllReduce", kernel);
    return trace;
  };
  const std::string sixteen = R"(,"Group size":16)";
  for (const Imported& told : {job(sixteen, "").import(),
                               job("", R"("Collective name":"allreduce")" + sixteen).import()}) {
    CHECK(told.workload.recorded_with.world_size == 16);
    CHECK(told.rank_trace->world_size == 16);
    CHECK(mentions(told.recognised, "The largest group that a collective names has 16 ranks"));
    CHECK(told.alone.find("one rank's recording") == 0);
  }
  const Imported stated = job(sixteen, "").with(R"("distributedInfo":{"world_size":16})").import();
  CHECK_FALSE(mentions(stated.recognised, "largest group"));
  // NCCL's kernels run with two or more ranks; the number is unknown.
  const Imported unknown = job("", "").import();
  CHECK(unknown.workload.recorded_with.world_size == 0);
  CHECK(unknown.workload.recorded_with.several_ranks());
  CHECK_FALSE(unknown.rank_trace->world_size.has_value());
  CHECK(mentions(unknown.recognised, "world size not known"));
  CHECK(mentions(unknown.warnings, "the number of ranks is unknown"));
  CHECK(unknown.alone.find("one rank's recording") == 0);
}

TEST_CASE("trace: every PyTorch name of an all-reduce is recognised, others are reported") {
  const auto job = [](const std::string& name) {
    TraceBuilder trace;
    trace.ddp().step(1, 0, 5000).node("A", 110, 120).kernel(111, 150, 200);
    trace.hooks(121, 130).gradient(122, 123);
    const std::string arguments =
        R"("dtype":"Float","In msg nelems":8,"Group size":2,"Collective name":")" + name + '"';
    trace.span("cpu_op", "record_param_comms", TraceBuilder::kAutograd, 124, 128, arguments);
    trace.span("user_annotation", "nccl:all_reduce", TraceBuilder::kAutograd, 124.2, 127);
    trace.kernel(125, 200, 220, TraceBuilder::kAutograd, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                 arguments);
    return trace.import();
  };
  for (const char* name : {"allreduce", "all_reduce", "allreduce_coalesced", "allreduce_sparse",
                           "ALLREDUCE_COALESCED"}) {
    CAPTURE(name);
    const Imported one = job(name);
    REQUIRE(one.bucket_bytes.size() == 1);
    CHECK(one.bucket_bytes.front() == Bytes(32));
    CHECK_FALSE(mentions(one.warnings, "not taken for the gradients'"));
  }
  TraceBuilder other;
  other.ddp().step(1, 0, 5000).node("A", 110, 120).kernel(111, 150, 200).hooks(121, 130);
  other.gradient(122, 123).kernel(125, 200, 220, TraceBuilder::kAutograd,
                                  "ncclDevKernel_AllReduce_Sum",
                                  R"("Collective name":"fused_sum")");
  const Imported unknown = other.import();
  CHECK(unknown.bucket_bytes.empty());
  CHECK(
      mentions(unknown.warnings,
               "1 NCCL all-reduce of backward is not taken for the gradients' (the trace calls it "
               "\"fusedsum\")"));
}
