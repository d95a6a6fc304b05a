// Collectives and tensors in events: names and types of every era, and nested calls.
#include <doctest/doctest.h>

#include <deque>
#include <string>
#include <vector>

#include "recorded_collective.hpp"
#include "recorded_tensor.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
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

}  // namespace

TEST_CASE("collectives: operations follow from kernel names") {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"ncclKernel_AllReduce_RING_LL_Sum_float", "allreduce"},
      {"ncclDevKernel_Broadcast_RING_LL", "broadcast"},
      {"ncclKernel_AllGather_RING_LL", "allgather"},
      {"ncclKernel_Reduce_RING_LL", "reduce"},
      {"ncclKernel_ReduceScatter_RING_LL", "reducescatter"},
      {"ncclDevKernel_SendRecv", "sendrecv"},
      {"ncclDevKernel_Generic", "other"}};
  for (const auto& kernel : names) {
    CAPTURE(kernel.first);
    CHECK(collective_of_kernel(named(kernel.first)).operation == kernel.second);
  }
  TraceEvent event = named("ncclDevKernel_Generic");
  event.collective = "_all_gather_base";  // the arguments decide, in a common spelling
  CHECK(collective_of_kernel(event).operation == "allgatherbase");
  CHECK(collective_of_kernel(event).start_ns == 10);
  CHECK(collective_of_kernel(event).end_ns == 15);
}

TEST_CASE("collectives: kernels and calls of NCCL and RCCL are recognised") {
  CHECK(is_nccl_kernel("ncclKernel_AllReduce"));
  CHECK(is_nccl_kernel("void ncclKernel<2>"));
  CHECK(is_nccl_kernel("rcclGenericKernel"));
  CHECK_FALSE(is_nccl_kernel("void elementwise_nccl"));
  CHECK(is_nccl_call("nccl:all_reduce"));
  CHECK_FALSE(is_nccl_call("ncclAllReduce"));
}

TEST_CASE("collectives: bytes are elements times type size, channels are blocks, within limits") {
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

TEST_CASE("collectives: the first input of nccl:all_reduce has its size, all_to_all has none") {
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

TEST_CASE("collectives: types have a c10 name or a C++ name") {
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

TEST_CASE("tensors: the first input of a list, or nothing") {
  const auto shape = [](std::string_view dims, std::string_view types = "[\"float\"]") {
    const auto tensor = first_input(dims, types);
    return tensor ? std::optional(tensor->shape) : std::nullopt;
  };
  using Lengths = std::vector<std::int64_t>;
  CHECK(shape("[[1000, 2048], [7]]") == Lengths{1000, 2048});
  CHECK(shape(" [ [ 3 ] ] ") == Lengths{3});
  CHECK(shape("[[]]") == Lengths{});
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

TEST_CASE("tensors: equal shapes are stored once, and another type is another shape") {
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

TEST_CASE("collectives: a nested call of the same kind and thread is the same collective") {
  Collective outer = call("allreduce", 10, 20);
  CHECK(absorb(outer, call("allreduce", 10, 20, 0, 8_B)));
  CHECK(outer.bytes == 8_B);
  CHECK(absorb(outer, call("allreduce", 12, 18, 0, 9_B)));
  CHECK(outer.bytes == 8_B);  // the outer call's own value stays
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

TEST_CASE("collectives: nested calls are joined per thread") {
  const auto joined =
      joined_calls({call("allreduce", 10, 30, 0), call("allreduce", 11, 29, 1, 4_B),
                    call("allreduce", 12, 20, 0, 8_B), call("allreduce", 40, 50, 0)});
  REQUIRE(joined.size() == 3);
  CHECK(joined[0].bytes == 8_B);
  CHECK(joined[1].bytes == 4_B);
  CHECK(joined[2].start_ns == 40);
}

TEST_CASE("collectives: a kernel takes the operation of the enclosing call, and the bytes once") {
  std::deque<Collective> kernels = {kernel(10), kernel(20), kernel(21), kernel(12, 1), kernel(9)};
  Collective integer = call("allreduce", 10, 20, 0, 8_B);
  integer.integers = true;
  integer.dtype = Dtype::int64;
  describe_kernels(kernels, {integer, call("broadcast", 11, 30, 1)});
  CHECK(kernels[0].operation == "allreduce");  // the start of the call counts
  CHECK(kernels[0].bytes == 8_B);
  CHECK(kernels[0].integers);
  CHECK(kernels[0].dtype == Dtype::int64);
  // so does its end; another kernel has the bytes
  CHECK(kernels[1].operation == "other");
  CHECK_FALSE(kernels[1].bytes.has_value());
  CHECK(kernels[2].operation == "other");  // after the call
  CHECK(kernels[3].operation == "broadcast");
  CHECK(kernels[4].operation == "other");  // before the call
}
