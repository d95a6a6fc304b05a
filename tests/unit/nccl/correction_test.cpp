// How similar the errors of two measurements of one cluster are, and the resulting correction: the
// covariances of correction.cpp, term by term.
#include <doctest/doctest.h>

#include <cmath>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/cluster.hpp"
#include "ddpsim/sim/values/collective.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

TEST_CASE("correction: similarity of two errors by size, job shape, choice and release") {
  const OperatingPoint here{.nodes = 2,
                            .gpus_per_node = 8,
                            .size = 1_MiB,
                            .algorithm = Algorithm::ring,
                            .protocol = Protocol::simple};
  const auto with = [&](auto change) {
    OperatingPoint place = here;
    change(place);
    return correction_covariance(here, place);
  };
  // Matern 3/2 of length 6 over log2 of the size.
  const auto matern = [](double octaves, double length) {
    const double steps = std::sqrt(3.0) * octaves / length;
    return (1 + steps) * std::exp(-steps);
  };
  const double common = 0.1 * 0.1;
  const double shape = 0.15 * 0.15;
  CHECK(correction_covariance(here, here) == doctest::Approx(common + shape));
  CHECK(with([](auto& at) { at.size = 8_MiB; }) ==
        doctest::Approx(matern(3, 6) * (common + shape)));
  CHECK(with([](auto& at) { at.size = 128_KiB; }) ==
        doctest::Approx(matern(3, 6) * (common + shape)));
  CHECK(with([](auto& at) { at.algorithm = Algorithm::tree; }) ==
        doctest::Approx(0.3 * (common + shape)));
  CHECK(with([](auto& at) { at.protocol = Protocol::ll; }) ==
        doctest::Approx(0.3 * (common + shape)));
  CHECK(with([](auto& at) { at.nodes = 8; }) ==
        doctest::Approx(common + shape * std::exp(-0.5)));  // two of four doublings
  CHECK(with([](auto& at) { at.gpus_per_node = 4; }) ==
        doctest::Approx(common + shape * std::exp(-0.2)));  // one of five
  // One node and several share nothing. The distance is one doubling plus two.
  CHECK(with([](auto& at) { at.nodes = 1; }) == doctest::Approx(shape * std::exp(-0.75)));
}

TEST_CASE("correction: one release shares its latencies between nodes, for any job shape") {
  OperatingPoint small{.nodes = 2, .gpus_per_node = 8, .size = 64_KiB};
  const double without = correction_covariance(small, small);
  const auto more = [&](OperatingPoint a, OperatingPoint b) {
    OperatingPoint plain_a = a;
    OperatingPoint plain_b = b;
    plain_a.nccl.reset();
    plain_b.nccl.reset();
    return correction_covariance(a, b) - correction_covariance(plain_a, plain_b);
  };
  small.nccl = NcclVersion{2, 18, 1};
  CHECK(correction_covariance(small, small) == doctest::Approx(without + 0.3 * 0.3));
  OperatingPoint other = small;
  other.nccl = NcclVersion{2, 18, 5};
  CHECK(more(small, other) == doctest::Approx(0.09));
  other.nccl = NcclVersion{2, 19, 1};
  CHECK(more(small, other) == doctest::Approx(0));
  other.nccl.reset();
  CHECK(more(small, other) == doctest::Approx(0));
  other = small;
  other.nodes = 8;
  CHECK(more(small, other) == doctest::Approx(0.09));
  other.nodes = 1;
  CHECK(more(small, other) == doctest::Approx(0));
  CHECK(more(other, other) == doctest::Approx(0));
  // The share is whole up to 64 KiB, half at 256 KiB, and zero from 1 MiB on. It also falls with
  // the distance of sizes.
  OperatingPoint middle = small;
  middle.size = 256_KiB;
  CHECK(more(middle, middle) == doctest::Approx(0.09 / 4));
  OperatingPoint large = small;
  large.size = 1_MiB;
  CHECK(more(large, large) == doctest::Approx(0));
  OperatingPoint tiny = small;
  tiny.size = 1_KiB;
  const double six_octaves = (1 + std::sqrt(3.0)) * std::exp(-std::sqrt(3.0));
  CHECK(more(small, tiny) == doctest::Approx(0.09 * six_octaves));
}

TEST_CASE(
    "correction: a job shape's own part applies to no other shape, and within a power of two") {
  const OperatingPoint here{.nodes = 2, .gpus_per_node = 8, .size = 1_MiB};
  OperatingPoint other = here;
  CHECK(within_shape_covariance(here, here) == doctest::Approx(0.09));
  other.size = 2_MiB;
  const double one_octave = (1 + std::sqrt(3.0)) * std::exp(-std::sqrt(3.0));
  CHECK(within_shape_covariance(here, other) == doctest::Approx(0.09 * one_octave));
  other = here;
  other.nodes = 4;
  CHECK(within_shape_covariance(here, other) == 0);
  other = here;
  other.gpus_per_node = 4;
  CHECK(within_shape_covariance(here, other) == 0);
}

TEST_CASE("correction: the sum over all points of each one's weight here") {
  const OperatingPoint here{.nodes = 2, .gpus_per_node = 8, .size = 1_MiB};
  OperatingPoint elsewhere = here;
  elsewhere.nodes = 8;
  Calibration calibration;
  CHECK(correction_at(calibration, here) == 0);
  calibration.correction = {{here, 2, 3}, {elsewhere, -4, 5}};
  const double common = 0.01;
  const double shape = 0.0225;
  CHECK(correction_at(calibration, here) ==
        doctest::Approx(2 * (common + shape) + 3 * 0.09 - 4 * (common + shape * std::exp(-0.5))));
  CHECK(correction_at(calibration, elsewhere) ==
        doctest::Approx(2 * (common + shape * std::exp(-0.5)) - 4 * (common + shape) + 5 * 0.09));
}
