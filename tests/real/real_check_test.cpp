// Errors that a step's check finds, and values that it accepts.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "cpu_device.hpp"
#include "fake_world.hpp"
#include "gradient_check.hpp"
#include "replay_runner.hpp"

using namespace ddpsim;
using ddpsim::testing::small_workload;

namespace {

/// Rank 1 of 2, with a computed peer. Sums are right unless `spoil` makes them wrong.
class LoneCommunicator : public Communicator {
 public:
  using Spoil = std::function<void(std::size_t call, Region)>;
  LoneCommunicator(CpuDevice& device, Spoil spoil) : device_(device), spoil_(std::move(spoil)) {}
  std::vector<std::pair<std::string, std::string>> description() const override { return {}; }
  int rank() const override { return 1; }
  int ranks() const override { return 2; }
  WorkId all_reduce(Region region) override {
    spoil_(calls_, region);
    return calls_++;
  }
  WorkId all_reduce_and_decompress(Region region, Region wide) override {
    const WorkId work = all_reduce(region);
    device_.cast(region, wide);
    return work;
  }
  WorkId broadcast(Region) override { return 0; }
  void wait(WorkId) override {}
  CollectiveTimes times_of(WorkId) override { return {}; }
  void forget_works() override {}

 private:
  CpuDevice& device_;
  Spoil spoil_;
  std::size_t calls_ = 0;
};

/// The message of a check with these sums; empty if they are right.
std::string found(const ReducerOptions& options, const LoneCommunicator::Spoil& spoil,
                  const std::vector<std::size_t>& ready = {3, 2, 1, 0}) {
  const HostClock clock(monotonic_ns());
  CpuDevice device(clock);
  LoneCommunicator communicator(device, spoil);
  const Workload workload = small_workload({300, 1, 40, 7}, ready);
  ReplayRunner runner(device, communicator, clock, workload, options);
  try {
    runner.check_step(2);
  } catch (const WrongAverage& wrong) {
    return wrong.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "real check: an all-reduce without effect is reported with bucket, parameter, actual and "
    "expected value") {
  for (const bool views : {false, true}) {
    ReducerOptions options;
    options.gradient_as_bucket_view = views;
    const std::string message = found(options, [](std::size_t, Region) {});
    CAPTURE(message);
    CHECK(message.find("wrong average in bucket 0, parameter p0, element 0: got ") == 0);
    CHECK(message.find("expected ") != std::string::npos);
    CHECK(message.find("(rank 1, step 2)") != std::string::npos);
  }
}

TEST_CASE("real check: at most four ranks contribute, so every 16-bit type holds the sums") {
  for (int ranks = 1; ranks <= 70; ++ranks) {
    for (std::size_t parameter = 0; parameter < 20; ++parameter) {
      int contributors = 0;
      double sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const double own = contribution(rank, ranks, {parameter, 0, 5});
        contributors += own != 0;
        sum += own;
        CHECK(own == std::floor(own));
      }
      CHECK(contributors <= 4);
      CHECK(sum <= 28);
      CHECK(expected_average(ranks, {parameter, 0, 5}) == doctest::Approx(sum / ranks));
    }
  }
}

TEST_CASE(
    "real check: sums of micro-batches are as small, and each contributes to some parameter") {
  for (const int batches : {2, 3, 4, 7}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      std::vector<double> of_batch(static_cast<std::size_t>(batches));
      for (std::size_t parameter = 0; parameter < 64; ++parameter) {
        double sum = 0;
        for (int rank = 0; rank < ranks; ++rank)
          for (int batch = 0; batch < batches; ++batch) {
            const double own = contribution(
                rank, ranks,
                {.parameter = parameter, .iteration = 5, .batch = batch, .batches = batches});
            sum += own;
            of_batch[static_cast<std::size_t>(batch)] += own;
          }
        CHECK(sum <= 28);
        CHECK(
            expected_average(ranks, {.parameter = parameter, .iteration = 5, .batches = batches}) ==
            doctest::Approx(sum / ranks));
      }
      for (const double sum : of_batch) CHECK(sum > 0);
    }
  }
}

TEST_CASE("real check: averages count only ranks that have a gradient") {
  const CheckedPart part{.parameter = 1, .iteration = 2};
  CHECK(expected_average(2, part, [](int rank) { return rank == 1; }) ==
        contribution(1, 2, part) / 2);
}

TEST_CASE("real check: every rank contributes to some parameter") {
  constexpr int kRanks = 64;
  for (int rank = 0; rank < kRanks; ++rank) {
    double sum = 0;
    for (std::size_t parameter = 0; parameter < kRanks; ++parameter)
      sum += contribution(rank, kRanks, {parameter, 0, 3});
    CHECK(sum > 0);
  }
}

TEST_CASE("real check: accepts rounding, but not a missing or extra contribution") {
  for (const Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::float16, Dtype::bfloat16}) {
    for (int ranks = 1; ranks <= 12; ++ranks) {
      for (double sum = 1; sum <= 28; ++sum) {
        const double expected = sum / ranks;
        CHECK(is_average(expected, expected, dtype));
        CHECK_FALSE(is_average((sum - 1) / ranks, expected, dtype));
        CHECK_FALSE(is_average((sum + 1) / ranks, expected, dtype));
      }
    }
    CHECK_FALSE(is_average(std::numeric_limits<double>::quiet_NaN(), 1, dtype));
    CHECK_FALSE(is_average(1, 0, dtype));
  }
  // 3 · (1/3 in bfloat16), rounded in each of three sums, as a real hook computes it.
  CHECK(is_average(1.0 + 1.0 / 128, 1, Dtype::bfloat16));
  CHECK_FALSE(is_average(1.0 + 1.0 / 128, 1, Dtype::float16));
}

TEST_CASE("real check: first, last and inner elements differ for any number of elements") {
  CHECK(checked_parts(0).empty());
  CHECK(checked_parts(1).size() == 1);
  CHECK(checked_parts(2).size() == 2);
  for (const std::int64_t elements : {1, 2, 3, 1000}) {
    std::int64_t next = 0;
    for (const ElementRange& part : checked_parts(elements)) {
      CHECK(part.first == next);
      next += part.count;
    }
    CHECK(next == elements);
  }
}
