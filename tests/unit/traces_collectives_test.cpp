// Collectives of a trace: names and types of every era, calls seen twice, which all-reduces are the
// reducer's, and the compression hook that shows in what they carry.
#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

#include "recorded_collective.hpp"
#include "recorded_tensor.hpp"
#include "trace_builder.hpp"

using namespace ddpsim;
using namespace ddpsim::files;
using namespace ddpsim::literals;

namespace {

TraceEvent named(std::string_view name) {
  TraceEvent event;
  event.name = name;
  event.start_ns = 10;
  event.duration_ns = 5;
  return event;
}

Collective call(const std::string& operation, std::int64_t start_ns, std::int64_t end_ns,
                std::uint16_t thread = 0, std::optional<Bytes> bytes = {}) {
  Collective one;
  one.operation = operation;
  one.start_ns = start_ns;
  one.end_ns = end_ns;
  one.thread = thread;
  one.bytes = bytes;
  return one;
}

Collective kernel(std::int64_t launch_ns, std::uint16_t thread = 0) {
  Collective one;
  one.operation = "other";
  one.launch_ns = launch_ns;
  one.thread = thread;
  return one;
}

/// Backward from 150 to 200; a gradient whose shape is recorded where a type is given.
TraceBuilder before_hooks(const std::string& type = "", const std::string& dims = "[[2,4]]") {
  TraceBuilder trace;
  trace.ddp().step(1, 0, 5000).kernel(10, 20, 100, TraceBuilder::kCaller);
  trace.node("A", 110, 120).kernel(111, 150, 200);
  trace.hooks(121, 130).gradient(122, 123, TraceBuilder::kAutograd, type.empty() ? "" : dims, type);
  return trace;
}

}  // namespace

TEST_CASE("collectives: operations by the names of kernels") {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float", "allreduce"},
      {"ncclDevKernel_Broadcast_RING_LL", "broadcast"},
      {"ncclKernel_AllGather_RING_LL", "allgather"},
      {"ncclKernel_Reduce_RING_LL", "reduce"},
      {"ncclKernel_ReduceScatter_RING_LL", "reducescatter"},
      {"ncclDevKernel_SendRecv", "sendrecv"},
      {"ncclDevKernel_Generic", "other"}};
  for (const auto& [name, operation] : names) {
    CAPTURE(name);
    CHECK(collective_of_kernel(named(name)).operation == operation);
  }
  TraceEvent event = named("ncclDevKernel_Generic");
  event.collective = "_all_gather_base";  // the arguments know better, in one spelling
  CHECK(collective_of_kernel(event).operation == "allgatherbase");
  CHECK(collective_of_kernel(event).start_ns == 10);
  CHECK(collective_of_kernel(event).end_ns == 15);
}

TEST_CASE("collectives: which kernels and calls are NCCL's or RCCL's") {
  CHECK(is_nccl_kernel("ncclKernel_AllReduce"));
  CHECK(is_nccl_kernel("void ncclKernel<2>"));
  CHECK(is_nccl_kernel("rcclGenericKernel"));
  CHECK_FALSE(is_nccl_kernel("void elementwise_nccl"));
  CHECK(is_nccl_call("nccl:all_reduce"));
  CHECK_FALSE(is_nccl_call("ncclAllReduce"));
}

TEST_CASE("collectives: bytes are elements times the type, channels the blocks, within sense") {
  TraceEvent event = named("ncclKernel_AllReduce");
  event.elements = 12;
  event.dtype = "Half";
  event.blocks = 24;
  CHECK(collective_of_kernel(event).bytes == 24_B);
  CHECK(collective_of_kernel(event).dtype == Dtype::float16);
  CHECK_FALSE(collective_of_kernel(event).integers);
  CHECK(collective_of_kernel(event).channels == 24);
  event.blocks = 1025;
  CHECK(collective_of_kernel(event).channels == 1024);
  event.blocks = -1;
  CHECK(collective_of_kernel(event).channels == 0);
  event.dtype = "Int";
  CHECK(collective_of_kernel(event).bytes == 48_B);
  CHECK(collective_of_kernel(event).integers);
  event.elements = 0;
  CHECK(collective_of_kernel(event).bytes == Bytes(0));
  event.elements = -1;
  CHECK_FALSE(collective_of_kernel(event).bytes.has_value());
  event.dtype = "Quaternion";
  event.elements = 12;
  CHECK_FALSE(collective_of_kernel(event).bytes.has_value());
  CHECK_FALSE(collective_of_kernel(event).dtype.has_value());
}

TEST_CASE("collectives: nccl:all_reduce has its size in its first input, all_to_all has none") {
  TraceEvent event = named("nccl:all_reduce");
  event.dims = "[[3, 5]]";
  event.types = "[\"c10::BFloat16\"]";
  CHECK(collective_of_call(event).operation == "allreduce");
  CHECK(collective_of_call(event).bytes == 30_B);
  CHECK(collective_of_call(event).dtype == Dtype::bfloat16);
  event.types = "[\"long int\"]";
  CHECK(collective_of_call(event).integers);
  event.name = "nccl:all_to_all";
  CHECK(collective_of_call(event).operation == "alltoall");
  CHECK_FALSE(collective_of_call(event).bytes.has_value());
}

TEST_CASE("collectives: types by c10's name and by C++'s") {
  struct Named {
    const char *c10, *cpp;
    Dtype dtype;
    bool integer;
  };
  const Named types[] = {{"Float", "float", Dtype::float32, false},
                         {"Half", "c10::Half", Dtype::float16, false},
                         {"BFloat16", "c10::BFloat16", Dtype::bfloat16, false},
                         {"Double", "double", Dtype::float64, false},
                         {"Long", "long int", Dtype::int64, true},
                         {"Long", "long", Dtype::int64, true},
                         {"Int", "int", Dtype::int32, true},
                         {"Short", "short int", Dtype::int16, true},
                         {"Char", "signed char", Dtype::int8, true},
                         {"Byte", "unsigned char", Dtype::uint8, true},
                         {"Bool", "bool", Dtype::boolean, true},
                         {"ComplexFloat", "c10::complex<float>", Dtype::complex64, false},
                         {"ComplexDouble", "c10::complex<double>", Dtype::complex128, false}};
  for (const Named& type : types) {
    CAPTURE(type.cpp);
    CHECK(dtype_from_recorded(type.c10) == type.dtype);
    CHECK(dtype_from_recorded(type.cpp) == type.dtype);
    CHECK(is_integer(type.dtype) == type.integer);
  }
  CHECK_FALSE(dtype_from_recorded("").has_value());
}

TEST_CASE("tensors: the first input of a list as written, or nothing") {
  const auto shape = [](std::string_view dims, std::string_view types = "[\"float\"]") {
    const auto tensor = first_input(dims, types);
    return tensor ? std::optional(tensor->shape) : std::nullopt;
  };
  using Shape = std::vector<std::int64_t>;
  CHECK(shape("[[1000, 2048], [7]]") == Shape{1000, 2048});
  CHECK(shape(" [ [ 3 ] ] ") == Shape{3});
  CHECK(shape("[[]]") == Shape{});
  CHECK_FALSE(shape("[]").has_value());
  CHECK_FALSE(shape("[[3").has_value());
  CHECK_FALSE(shape("[[x]]").has_value());
  CHECK_FALSE(shape("[[-3]]").has_value());
  CHECK_FALSE(shape("[[3]]", "[]").has_value());
  CHECK_FALSE(shape("[[4294967296, 4294967296]]").has_value());  // beyond 63 bits
  std::string many = "[[1";
  for (int k = 1; k < 64; ++k) many += ",1";
  CHECK(shape(many + "]]").has_value());  // 64 dimensions
  CHECK_FALSE(shape(many + ",1]]").has_value());
  const auto undefined = first_input("[[]]", "[\"\"]");
  REQUIRE(undefined.has_value());
  CHECK_FALSE(undefined->dtype.has_value());
  CHECK_FALSE(bytes_of(*undefined).has_value());
}

TEST_CASE("tensors: equal shapes are kept once, another type is another") {
  ShapeTable table;
  const auto a = table.index("[[3]]", "[\"float\"]");
  CHECK(a != ShapeTable::kNotRecorded);
  CHECK(table.index("[[3]]", "[\"float\"]") == a);
  const auto b = table.index("[[3]]", "[\"double\"]");
  CHECK(b != a);
  CHECK(table.find(a)->dtype == Dtype::float32);
  CHECK(table.find(b)->dtype == Dtype::float64);
  CHECK(table.index("", "[\"float\"]") == ShapeTable::kNotRecorded);
  CHECK(table.index("[[", "[\"float\"]") == ShapeTable::kNotRecorded);
  CHECK(table.index("[[3]]" + std::string(4091, ' '), "[\"float\"]") != ShapeTable::kNotRecorded);
  CHECK(table.index("[[3]]" + std::string(4092, ' '), "[\"float\"]") == ShapeTable::kNotRecorded);
  CHECK(table.find(ShapeTable::kNotRecorded) == nullptr);
}

TEST_CASE("collectives: a call within another of the same kind and thread is the same seen twice") {
  Collective outer = call("allreduce", 10, 20);
  CHECK(absorb(outer, call("allreduce", 10, 20, 0, 8_B)));
  CHECK(outer.bytes == 8_B);
  CHECK(absorb(outer, call("allreduce", 12, 18, 0, 9_B)));
  CHECK(outer.bytes == 8_B);  // the outer's own stays
  CHECK_FALSE(absorb(outer, call("allreduce", 9, 18)));
  CHECK_FALSE(absorb(outer, call("allreduce", 12, 21)));
  CHECK_FALSE(absorb(outer, call("allreduce", 12, 18, 1)));
  CHECK_FALSE(absorb(outer, call("broadcast", 12, 18)));
  Collective integers = call("allreduce", 12, 18);
  integers.integers = true;
  integers.dtype = Dtype::int32;
  CHECK(absorb(outer, integers));
  CHECK(outer.integers);
  CHECK(outer.dtype == Dtype::int32);
}

TEST_CASE("collectives: pairs are joined thread by thread") {
  const auto joined =
      joined_calls({call("allreduce", 10, 30, 0), call("allreduce", 11, 29, 1, 4_B),
                    call("allreduce", 12, 20, 0, 8_B), call("allreduce", 40, 50, 0)});
  REQUIRE(joined.size() == 3);
  CHECK(joined[0].bytes == 8_B);
  CHECK(joined[1].bytes == 4_B);
  CHECK(joined[2].start_ns == 40);
}

TEST_CASE("collectives: a kernel takes what the call around its launch says, the bytes once") {
  std::deque<Collective> kernels = {kernel(10), kernel(20), kernel(21), kernel(12, 1), kernel(9)};
  Collective integer = call("allreduce", 10, 20, 0, 8_B);
  integer.integers = true;
  integer.dtype = Dtype::int64;
  describe_kernels(kernels, {integer, call("broadcast", 11, 30, 1)});
  CHECK(kernels[0].operation == "allreduce");  // the call's start is in it
  CHECK(kernels[0].bytes == 8_B);
  CHECK(kernels[0].integers);
  CHECK(kernels[0].dtype == Dtype::int64);
  CHECK(kernels[1].operation == "other");  // its end too, but another kernel has its bytes
  CHECK_FALSE(kernels[1].bytes.has_value());
  CHECK(kernels[2].operation == "other");  // behind it
  CHECK(kernels[3].operation == "broadcast");
  CHECK(kernels[4].operation == "other");  // before it
}

TEST_CASE("reducer: all-reduces of hooks are its own, those inside a node or of integers are not") {
  TraceBuilder trace = before_hooks();
  trace.all_reduce(125, 200, 220, 8);
  trace.node("SyncBatchNorm", 131, 140).all_reduce(135, 220, 230, 16);
  trace.all_reduce(141, 230, 240, 4, "Int");  // which parameters were used
  trace.all_reduce(145, 240, 250, 2);
  const Imported imported = trace.import();
  const auto& collectives = imported.workload.recorded_with.collectives;
  REQUIRE(collectives.size() == 2);
  CHECK(collectives[0].bytes == 32_B);
  CHECK(collectives[1].bytes == 8_B);
  CHECK(imported.workload.recorded_with.nccl_kernels == 4);
  CHECK(imported.bucket_bytes == std::vector<Bytes>{32_B, 8_B});
  CHECK(mentions(imported.warnings, "1 all-reduces inside autograd nodes"));
  CHECK(mentions(imported.recognised, "2 buckets recorded: 32 8 bytes, 40 in all"));
  CHECK(mentions(imported.recognised, "4 NCCL kernels in the step, 2 of them the reducer's"));
  CHECK(imported.rank_trace->collectives.size() == 4);
}

TEST_CASE(
    "reducer: an all-reduce launched as a node ends is the reducer's, a nanosecond before not") {
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

TEST_CASE("reducer: each column of a recorded collective, on backward's clock") {
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

TEST_CASE("reducer: all-reduces without sizes are counted, their times left out") {
  TraceBuilder trace = before_hooks();
  trace.all_reduce(125, 200, 220).kernel(127, 220, 230, 2, "ncclKernel_AllReduce");
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.collectives.empty());
  CHECK(imported.workload.recorded_with.nccl_kernels == 2);
  CHECK(imported.workload.recorded_with.exposed == 30_us);
  CHECK(mentions(imported.warnings, "the all-reduces carry no sizes"));
}

TEST_CASE(
    "broadcasts: of other threads and before backward, from the first start to the last end") {
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

TEST_CASE("compression: half-precision all-reduces of wider gradients, and only those") {
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
  CHECK_FALSE(wire("double", "Float").has_value());  // no hook of PyTorch casts to 32 bits
  CHECK_FALSE(wire("c10::Half", "Half").has_value());
  CHECK_FALSE(wire("c10::Half", "BFloat16").has_value());
  CHECK_FALSE(wire("", "Half").has_value());
}

TEST_CASE("compression: buckets are counted in gradients, collectives in what they carried") {
  const Imported imported =
      before_hooks("double").all_reduce(125, 200, 220, 8, "BFloat16").import();
  CHECK(imported.bucket_bytes == std::vector<Bytes>{64_B});
  CHECK(imported.workload.recorded_with.collectives.at(0).bytes == 16_B);
  CHECK(mentions(imported.recognised,
                 "a compression hook was on (bf16_compress_hook): the all-reduces carry bfloat16, "
                 "the gradients are wider; to simulate it as it ran, pass --comm-hook bf16"));
  const Imported unknown = before_hooks().all_reduce(125, 200, 220, 8, "BFloat16").import();
  CHECK(mentions(unknown.warnings, "if it is float32, bf16_compress_hook was on"));
}

TEST_CASE("compression: all-reduces or gradients of two types tell nothing") {
  TraceBuilder carried = before_hooks("float");
  carried.all_reduce(125, 200, 220, 8, "Half").all_reduce(128, 220, 230, 8, "Float");
  CHECK_FALSE(carried.import().workload.recorded_with.wire.has_value());
  TraceBuilder gradients = before_hooks("float");
  gradients.hooks(131, 140).gradient(132, 133, TraceBuilder::kAutograd, "[[4]]", "c10::Half");
  gradients.all_reduce(135, 200, 220, 12, "Half");
  CHECK_FALSE(gradients.import().workload.recorded_with.wire.has_value());
  // A gradient that stayed undefined has no type and disturbs nothing.
  TraceBuilder undefined = before_hooks("float");
  undefined.hooks(131, 140).gradient(132, 133, TraceBuilder::kAutograd, "[[]]", "");
  undefined.all_reduce(135, 200, 220, 8, "Half");
  CHECK(undefined.import().workload.recorded_with.wire == Dtype::float16);
}

TEST_CASE(
    "unused: gradients behind the last bucket or undefined are outside DDP where bytes agree") {
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
  CHECK(mentions(differs.warnings,
                 "the recorded buckets hold 36 bytes, the gradients before the last of them 32"));
  CHECK(mentions(differs.recognised, "1 of 3 gradients are outside DDP"));
}

TEST_CASE("compiled: a gradient right behind a compiled node came out of it") {
  TraceBuilder trace = before_hooks();
  trace.node("CompiledFunctionBackward", 131, 140).kernel(132, 200, 260);
  trace.gradient(141, 142).gradient(143, 144);
  trace.node("B", 145, 150).kernel(146, 260, 270).gradient(151, 152);
  const Imported imported = trace.import();
  CHECK(imported.workload.recorded_with.compiled_gradients == 2);
  CHECK(mentions(imported.recognised, "compiled backward: 2 of 4 gradients"));
}
