#include "ddpsim/sim/values/workload.hpp"
#include "ddpsim/sim/values/cost_factors.hpp"

#include <tuple>

#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("workload: every type has PyTorch's name and its size") {
  const std::vector<std::tuple<Dtype, std::string, std::int64_t>> types = {
      {Dtype::float16, "float16", 2},     {Dtype::bfloat16, "bfloat16", 2},
      {Dtype::float32, "float32", 4},     {Dtype::float64, "float64", 8},
      {Dtype::int8, "int8", 1},           {Dtype::uint8, "uint8", 1},
      {Dtype::int16, "int16", 2},         {Dtype::int32, "int32", 4},
      {Dtype::int64, "int64", 8},         {Dtype::boolean, "bool", 1},
      {Dtype::complex64, "complex64", 8}, {Dtype::complex128, "complex128", 16}};
  for (const auto& [type, name, size] : types) {
    CHECK(name_of(type) == name);
    CHECK(element_size(type) == size);
    CHECK(dtype_from_name(name) == type);
  }
  CHECK_FALSE(dtype_from_name("boolean"));
  CHECK_FALSE(dtype_from_name(""));
}

TEST_CASE("workload: bytes of a gradient are its elements times their size") {
  const auto bytes = [](const std::vector<std::int64_t>& shape, Dtype type) {
    return gradient_bytes({.name = "p", .shape = shape, .dtype = type});
  };
  CHECK(bytes({3, 5}, Dtype::float32) == 60_B);
  CHECK(bytes({3, 5}, Dtype::float16) == 30_B);
  CHECK(bytes({}, Dtype::float64) == 8_B);  // a scalar
  CHECK_FALSE(gradient_bytes({.name = "p", .shape = std::nullopt}));
  constexpr std::int64_t kHuge = std::int64_t{1} << 60;
  CHECK(bytes({kHuge}, Dtype::float32) == Bytes(std::int64_t{1} << 62));
  CHECK_FALSE(bytes({kHuge, 2}, Dtype::float32));
  CHECK(bytes({kHuge, kHuge, 0}, Dtype::float32) == 0_B);
}

TEST_CASE("workload: the stall is the iteration minus its parts") {
  Workload step;
  CHECK_FALSE(stall(step));
  step.iteration = 1000_us;
  CHECK(stall(step) == 1000_us);
  step.forward = 100_us;
  CHECK(stall(step) == 900_us);
  step.backward = Backward{.duration = 200_us, .ready = {}};
  CHECK(stall(step) == 700_us);
  step.optimizer = 30_us;
  CHECK(stall(step) == 670_us);
  step.recorded_with.exposed = 7_us;
  CHECK(stall(step) == 663_us);
  step.recorded_with.finalize = 4_us;
  CHECK(stall(step) == 659_us);
  step.iteration = 300_us;
  CHECK(stall(step) == -41_us);
}

TEST_CASE("cost factors: fixed cost and bytes have separate factors") {
  CHECK(CostFactors{}.apply(100_us, 60_us) == 100_us);
  CHECK(CostFactors{.fixed = 2}.apply(100_us, 60_us) == 140_us);
  CHECK(CostFactors{.bandwidth = 2}.apply(100_us, 60_us) == 160_us);
  CHECK(CostFactors{.fixed = 0.5, .bandwidth = 3}.apply(100_us, 60_us) == 200_us);
}
