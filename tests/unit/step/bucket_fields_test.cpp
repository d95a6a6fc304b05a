// Fields of a bucket, and the orders in which gradients are taken. step/bucket_assignment_test.cpp
// tests the assignment itself.
#include "ddpsim/sim/step/bucket_assignment.hpp"
#include "paper_step.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;
using namespace ddpsim::paper;

namespace {

Parameter flat_parameter(std::int64_t elements, Dtype dtype = Dtype::float32,
                         std::string device = "") {
  return {.name = "p", .shape = {{elements}}, .dtype = dtype, .device = std::move(device)};
}

using Members = std::vector<std::vector<std::size_t>>;

}  // namespace

TEST_CASE("buckets: each knows its limit, that limit's position, its type and what closed it") {
  // With elements of 2 and of 4 bytes, each type goes through the limits on its own.
  const std::vector<Parameter> parameters = {
      flat_parameter(100), flat_parameter(50, Dtype::float16), flat_parameter(200),
      flat_parameter(100), flat_parameter(1)};
  const std::vector<Bucket> buckets =
      assign_buckets(parameters, std::vector<std::size_t>{0, 1, 2, 3, 4},
                     std::vector<Bytes>{400_B, 500_B, 300_B}, BucketOrder::as_emitted);
  REQUIRE(small::parameters_of(buckets) == Members{{0}, {2}, {3}, {1}, {4}});
  const std::vector<Bytes> bytes = {400_B, 800_B, 400_B, 100_B, 4_B};
  const std::vector<Bytes> limits = {400_B, 500_B, 300_B, 400_B, 300_B};
  const std::vector<std::size_t> positions = {0, 1, 2, 0, 2};
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    CAPTURE(b);
    CHECK(buckets[b].bytes == bytes[b]);
    CHECK(buckets[b].limit == limits[b]);
    CHECK(buckets[b].limit_index == positions[b]);
    CHECK(buckets[b].closed_by == (b < 3 ? ClosedBy::limit : ClosedBy::end));
    CHECK(buckets[b].dtype == (b == 3 ? Dtype::float16 : Dtype::float32));
  }
}

TEST_CASE("buckets: a sparse gradient's bucket has its type and no limit") {
  Parameter sparse = flat_parameter(10, Dtype::float64);
  sparse.sparse_gradient = true;
  const std::vector<Bucket> buckets =
      assign_buckets(std::vector<Parameter>{sparse}, std::vector<std::size_t>{0},
                     std::vector<Bytes>{400_B}, BucketOrder::as_emitted);
  REQUIRE(buckets.size() == 1);
  CHECK(buckets[0].bytes == 80_B);
  CHECK(buckets[0].dtype == Dtype::float64);
  CHECK(buckets[0].limit == 0_B);
  CHECK(buckets[0].closed_by == ClosedBy::sparse);
}

TEST_CASE("buckets: devices are kept apart as types are") {
  const std::vector<Parameter> parameters = {flat_parameter(50, Dtype::float32, "cuda:0"),
                                             flat_parameter(50, Dtype::float32, "cuda:1"),
                                             flat_parameter(50, Dtype::float32, "cuda:0")};
  const std::vector<Bucket> buckets =
      assign_buckets(parameters, std::vector<std::size_t>{0, 1, 2}, std::vector<Bytes>{400_B},
                     BucketOrder::as_emitted);
  CHECK(small::parameters_of(buckets) == Members{{0, 2}, {1}});
}

TEST_CASE("buckets: leftover buckets are ordered by when their type was first met, last first") {
  // Type float16 is met first, but its open bucket at the end began after the other's.
  const std::vector<Parameter> parameters = {flat_parameter(200, Dtype::float16), flat_parameter(1),
                                             flat_parameter(1, Dtype::float16)};
  const std::vector<Bucket> buckets =
      assign_buckets(parameters, std::vector<std::size_t>{0, 1, 2}, std::vector<Bytes>{400_B},
                     BucketOrder::as_emitted);
  CHECK(small::parameters_of(buckets) == Members{{0}, {1}, {2}});
}

TEST_CASE("buckets: construction takes definition order, then reverses the list") {
  Workload step = workload();
  CHECK(small::parameters_of(construction_buckets(step, std::vector<Bytes>{1_B})) ==
        Members{{2}, {1}, {0}});
  CHECK(small::parameters_of(construction_buckets(step, std::vector<Bytes>{5'000'000_B})) ==
        Members{{2}, {0, 1}});
  step.parameters[kP1].ignored = true;
  CHECK(small::parameters_of(construction_buckets(step, std::vector<Bytes>{1_B})) ==
        Members{{2}, {0}});
}

TEST_CASE(
    "buckets: gradients are ready as recorded; parameters without a gradient come last, in "
    "definition order") {
  Workload step = workload();
  std::vector<ReadyEvent>& ready = step.backward->ready;
  CHECK(ready_order(step) == std::vector<std::size_t>{2, 1, 0});
  std::swap(ready[0], ready[1]);
  CHECK(ready_order(step) == std::vector<std::size_t>{1, 2, 0});
  ready = {ready[0]};
  CHECK(ready_order(step) == std::vector<std::size_t>{1, 0, 2});
  step.parameters[kP1].ignored = true;
  CHECK(ready_order(step) == std::vector<std::size_t>{0, 2});
  ready.clear();  // no order known: reverse definition order
  CHECK(ready_order(step) == std::vector<std::size_t>{2, 0});
  step.backward.reset();
  CHECK(ready_order(step) == std::vector<std::size_t>{2, 0});
}

TEST_CASE("buckets: first_difference finds the first different size, or where one list ends") {
  const std::vector<Bucket> buckets = {{.bytes = 1_B}, {.bytes = 2_B}};
  const auto difference = [&](const std::vector<Bytes>& sizes) {
    return first_difference(buckets, sizes);
  };
  CHECK(difference({1_B, 2_B}) == std::nullopt);
  CHECK(difference({3_B, 2_B}) == 0);
  CHECK(difference({1_B, 3_B}) == 1);
  CHECK(difference({1_B}) == 1);
  CHECK(difference({1_B, 2_B, 3_B}) == 2);
  CHECK(difference({}) == 0);
}

TEST_CASE("buckets: shapes of DDP's parameters must be known and add up to at most 63 bits") {
  Workload step = workload();
  CHECK_FALSE(cannot_assign(step));
  step.parameters[kP1].shape.reset();
  CHECK(cannot_assign(step) ==
        "the shape of parameter \"p1\" is not known, so neither is its bucket. Name the model "
        "when importing: --model resnet50 (`ddpsim list` shows the known models)");
  step.parameters[kP1].ignored = true;
  CHECK_FALSE(cannot_assign(step));
  const std::string too_many = "the parameters add up to more than 2^63 - 1 bytes";
  step = workload();
  step.parameters[kP0].shape = {{std::int64_t{1} << 60}};
  CHECK_FALSE(cannot_assign(step));
  step.parameters[kP1].shape = {{std::int64_t{1} << 60}};
  CHECK(cannot_assign(step) == too_many);  // together
  step.parameters[kP1].shape = {{std::int64_t{1} << 61}};
  CHECK(cannot_assign(step) == too_many);  // alone
}

TEST_CASE("buckets: the reason for closing has a name") {
  CHECK(name_of(ClosedBy::limit) == "limit");
  CHECK(name_of(ClosedBy::end) == "end");
  CHECK(name_of(ClosedBy::sparse) == "sparse");
}
