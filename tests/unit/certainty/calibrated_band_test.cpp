// What a calibration leaves open: bands at a measured size of a measured shape, between shapes and
// sizes, and beyond both. Follows the formula of calibrated_band.cpp in small numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/values/cluster.hpp"

using namespace ddpsim;
using namespace ddpsim::literals;

namespace {

CalibratedShape log_of(int nodes, int gpus, Bytes smallest = 8_B, Bytes largest = 1024_MiB) {
  return {.nodes = nodes,
          .gpus_per_node = gpus,
          .smallest = smallest,
          .largest = largest,
          .source = "log.txt",
          .nccl = {}};
}

CalibratedShape published(CalibratedShape log) {
  log.published = true;
  return log;
}

/// For `deviation` of a time's logarithm, 80 % lie within 1.28 times it. `beyond` the most measured
/// nodes, the band is half as much wider towards slower.
void check_band(const Calibration& calibration, int nodes, int gpus, Bytes size, double deviation,
                double beyond = 1) {
  CAPTURE(nodes);
  CAPTURE(gpus);
  CAPTURE(size.count());
  const Band band = calibrated_band(calibration, nodes, gpus, size);
  CHECK(std::log(band.faster) == doctest::Approx(-1.28 * deviation).epsilon(1e-9));
  CHECK(std::log(band.slower) == doctest::Approx(1.28 * deviation * beyond).epsilon(1e-9));
}

double root(double a, double b) {
  return std::hypot(a, b);
}

/// At this distance from a log, this share of what it tells is lost.
double lost(double away) {
  return 1 - std::exp(-2 * away);
}

constexpr double kNoise = 0.05;  // of any log
/// The cost model's misfit counts twice at another shape, scaled by Student's t over 1.28.
double misfit(double of_the_model, double student) {
  return of_the_model * 2 * student / 1.28;
}

}  // namespace

TEST_CASE("calibrated band: at a measured size of a measured job shape, the noise of a log") {
  Calibration calibration;
  calibration.shapes = {log_of(2, 8)};
  calibration.residual_deviation = {
      .small = 9, .middle = 9, .large = 9};  // irrelevant where it was measured
  for (const Bytes size : {8_B, 64_KiB, 1024_MiB}) check_band(calibration, 2, 8, size, kNoise);
  calibration.repeatability = {.small = 0.12, .middle = 0.12, .large = 0.12};
  check_band(calibration, 2, 8, 1_MiB, 0.13);  // 5, 12, 13
  CHECK(calibrated_band(calibration, 1, 1, 1_MiB).slower == 1);
}

TEST_CASE("calibrated band: scatter is linear in the logarithm of the size between 15, 18 and 21") {
  Calibration calibration;
  calibration.shapes = {log_of(2, 8)};
  calibration.repeatability = {.small = 0.3, .middle = 0.6, .large = 0.12};
  check_band(calibration, 2, 8, 8_B, root(kNoise, 0.3));
  check_band(calibration, 2, 8, 32_KiB, root(kNoise, 0.3));
  check_band(calibration, 2, 8, 64_KiB, root(kNoise, 0.4));
  check_band(calibration, 2, 8, 256_KiB, root(kNoise, 0.6));
  check_band(calibration, 2, 8, 512_KiB, root(kNoise, 0.44));
  check_band(calibration, 2, 8, 2_MiB, root(kNoise, 0.12));
  check_band(calibration, 2, 8, 64_MiB, root(kNoise, 0.12));
}

TEST_CASE("calibrated band: the cost model's misfit returns with the distance from a log") {
  // From 16 nodes of 8 to 4: two of four doublings. To 2 GPUs: two of five doublings.
  Calibration calibration;
  calibration.shapes = {log_of(16, 8)};
  calibration.residual_deviation = {.small = 0.2, .middle = 0.2, .large = 0.1};
  const double one_log = misfit(0.1, 3.08);
  check_band(calibration, 4, 8, 4_MiB, root(kNoise, std::sqrt(lost(0.5)) * one_log));
  check_band(calibration, 16, 2, 4_MiB, root(kNoise, std::sqrt(lost(0.4)) * one_log));
  check_band(calibration, 4, 2, 4_MiB, root(kNoise, std::sqrt(lost(0.9)) * one_log));
  // The misfit depends on the size. Beyond the most nodes it is half as much wider towards slower.
  check_band(calibration, 4, 8, 1_B * 8, root(kNoise, std::sqrt(lost(0.5)) * 2 * one_log));
  check_band(calibration, 64, 8, 4_MiB, root(kNoise, std::sqrt(lost(0.5)) * one_log), 1.5);
  // One node is four doublings away, and two more because it has no network.
  check_band(calibration, 1, 8, 4_MiB, root(kNoise, std::sqrt(lost(1.5)) * one_log));
}

TEST_CASE("calibrated band: between two job shapes it is narrower than outside the nearer one") {
  Calibration calibration;
  calibration.shapes = {log_of(2, 8), log_of(32, 8)};
  calibration.residual_deviation = {.small = 0.1, .middle = 0.1, .large = 0.1};
  const double two_logs = misfit(0.1, 1.89);
  // 4 nodes are one doubling from one shape and three from the other.
  check_band(calibration, 4, 8, 4_MiB,
             root(kNoise, std::sqrt(lost(0.25) * lost(0.75) / lost(1)) * two_logs));
  // Not between one node and several.
  calibration.shapes = {log_of(1, 8), log_of(32, 8)};
  check_band(calibration, 4, 8, 4_MiB, root(kNoise, std::sqrt(lost(0.75)) * two_logs));
  // Not beyond the last shape, where the nearest counts, nor at the shape itself.
  calibration.shapes = {log_of(2, 8), log_of(4, 8)};
  check_band(calibration, 16, 8, 4_MiB, root(kNoise, std::sqrt(lost(0.5)) * two_logs), 1.5);
  check_band(calibration, 4, 8, 4_MiB, kNoise);
  // By ranks: 2 x 8 has fewer than 4 x 8, and 4 x 16 has more; the distance to either is half.
  calibration.shapes = {log_of(2, 8), log_of(4, 16)};
  check_band(calibration, 4, 8, 4_MiB,
             root(kNoise, std::sqrt(lost(0.25) * lost(0.2) / lost(0.45)) * two_logs));
  // The same number of ranks on fewer nodes counts as more: 2 x 16 is one doubling from each.
  calibration.shapes = {log_of(2, 8), log_of(2, 16)};
  check_band(calibration, 4, 8, 4_MiB,
             root(kNoise, std::sqrt(lost(0.25) * lost(0.45) / lost(0.7)) * two_logs), 1.5);
}

TEST_CASE("calibrated band: more job shapes tell the cost model's misfit better") {
  for (const auto& [shapes, student] :
       {std::pair(1, 3.08), {2, 1.89}, {3, 1.64}, {4, 1.53}, {5, 1.48}, {6, 1.44}, {7, 1.44}}) {
    // clang 14: a capture must not name a structured binding.
    const int count = shapes;
    CAPTURE(count);
    Calibration calibration;
    calibration.residual_deviation = {.small = 0.1, .middle = 0.1, .large = 0.1};
    for (int i = 0; i < shapes; ++i) calibration.shapes.push_back(log_of(64 << i, 8));
    // A second log of one shape adds no shape.
    calibration.shapes.push_back(log_of(64, 8));
    check_band(calibration, 16, 8, 4_MiB,
               root(kNoise, std::sqrt(lost(0.5)) * misfit(0.1, student)));
  }
}

TEST_CASE("calibrated band: outside a log's sizes it widens for every power of two") {
  Calibration calibration;
  calibration.shapes = {log_of(2, 8, 4_KiB, 4_MiB)};
  check_band(calibration, 2, 8, 4_KiB, kNoise);
  check_band(calibration, 2, 8, 4_MiB, kNoise);
  check_band(calibration, 2, 8, 8_MiB, root(kNoise, 0.03));
  check_band(calibration, 2, 8, 64_MiB, root(kNoise, 0.12));
  check_band(calibration, 2, 8, 256_B, root(kNoise, 0.12));
  calibration.residual_deviation = {.small = 0.1, .middle = 0.1, .large = 0.1};
  check_band(calibration, 2, 8, 32_MiB,
             root(root(kNoise, 0.09), std::sqrt(lost(0.5)) * misfit(0.1, 3.08)));
  // Another log of the same shape that has the size closes both gaps.
  calibration.shapes.push_back(log_of(2, 8, 1_MiB, 64_MiB));
  check_band(calibration, 2, 8, 32_MiB, kNoise);
}

TEST_CASE("calibrated band: the nearest log has the nearest job shape, then the nearest sizes") {
  Calibration calibration;
  CHECK(nearest_log(calibration, 2, 8, 1_MiB) == nullptr);
  calibration.shapes = {log_of(2, 8, 8_B, 1_KiB), log_of(2, 8, 1_KiB, 1_MiB), log_of(8, 8),
                        log_of(1, 8)};
  const auto nearest = [&](int nodes, int gpus, Bytes size) {
    return nearest_log(calibration, nodes, gpus, size) - calibration.shapes.data();
  };
  CHECK(nearest(2, 8, 4_MiB) == 1);
  CHECK(nearest(2, 8, 64_B) == 0);
  CHECK(nearest(2, 8, 1_KiB) == 0);  // both have it, so the first
  CHECK(nearest(8, 8, 64_B) == 2);
  CHECK(nearest(4, 8, 64_B) == 0);  // equally far from 2 and from 8 nodes
  CHECK(nearest(5, 8, 64_B) == 2);
  CHECK(nearest(1, 2, 64_B) == 3);
  CHECK(nearest(2, 1, 64_B) == 0);
}

TEST_CASE("calibrated band: whether a job shape and a size were measured, to the byte") {
  Calibration calibration;
  calibration.shapes = {log_of(2, 8, 1_KiB, 1_MiB), log_of(4, 4, 64_B, 1_KiB)};
  CHECK(is_calibrated_at(calibration, 2, 8));
  CHECK(is_calibrated_at(calibration, 4, 4));
  CHECK_FALSE(is_calibrated_at(calibration, 2, 4));
  CHECK_FALSE(is_calibrated_at(calibration, 4, 8));
  CHECK(is_measured_at(calibration, 2, 8, 1_KiB));
  CHECK(is_measured_at(calibration, 2, 8, 1_MiB));
  CHECK_FALSE(is_measured_at(calibration, 2, 8, Bytes(1023)));
  CHECK_FALSE(is_measured_at(calibration, 2, 8, 1_MiB + 1_B));
  CHECK_FALSE(is_measured_at(calibration, 2, 4, 1_KiB));
  CHECK_FALSE(is_measured_at(calibration, 4, 8, 1_KiB));
  CHECK(is_measured_at(calibration, 4, 4, 64_B));
}

TEST_CASE("calibrated band: NCCL's version is that of the nearest log") {
  Calibration calibration;
  CHECK_FALSE(nearest_nccl(calibration, 2, 8));
  calibration.shapes = {log_of(2, 8), log_of(16, 8), log_of(1, 8)};
  calibration.shapes[0].nccl = NcclVersion{2, 18, 1};
  calibration.shapes[1].nccl = NcclVersion{2, 21, 5};
  CHECK(nearest_nccl(calibration, 2, 8) == NcclVersion{2, 18, 1});
  CHECK(nearest_nccl(calibration, 8, 8) == NcclVersion{2, 21, 5});
  CHECK(nearest_nccl(calibration, 3, 8) == NcclVersion{2, 18, 1});
  CHECK_FALSE(nearest_nccl(calibration, 1, 8));  // not known
}

TEST_CASE("calibrated band: own logs decide NCCL's version before nearer published ones") {
  Calibration calibration;
  calibration.shapes = {published(log_of(8, 8)), log_of(2, 8)};
  calibration.shapes[0].nccl = NcclVersion{2, 18, 1};
  CHECK(nearest_nccl(calibration, 8, 8) == NcclVersion{2, 18, 1});  // the own log does not state it
  calibration.shapes[1].nccl = NcclVersion{2, 21, 5};
  CHECK(nearest_nccl(calibration, 8, 8) == NcclVersion{2, 21, 5});
}

TEST_CASE("calibrated band: logs have several releases if major or minor versions differ") {
  const auto several = [](std::optional<NcclVersion> a, std::optional<NcclVersion> b) {
    Calibration calibration;
    calibration.shapes = {log_of(2, 8), log_of(4, 8), log_of(8, 8)};
    calibration.shapes[0].nccl = calibration.shapes[1].nccl = a;
    calibration.shapes[2].nccl = b;
    return of_several_releases(calibration);
  };
  CHECK_FALSE(several(NcclVersion{2, 18, 1}, NcclVersion{2, 18, 6}));
  CHECK(several(NcclVersion{2, 18, 1}, NcclVersion{2, 19, 1}));
  CHECK(several(NcclVersion{2, 18, 1}, NcclVersion{3, 18, 1}));
  CHECK(several(NcclVersion{2, 18, 1}, std::nullopt));
  CHECK_FALSE(several(std::nullopt, std::nullopt));
}

TEST_CASE("calibrated band: job shapes outside the measured ones are named, nodes before GPUs") {
  Calibration calibration;
  calibration.shapes = {log_of(2, 4), log_of(16, 8)};
  CHECK(beyond_calibration(calibration, 2, 4).empty());
  CHECK(beyond_calibration(calibration, 16, 8).empty());
  CHECK(beyond_calibration(calibration, 4, 6).empty());
  CHECK(beyond_calibration(calibration, 17, 16) ==
        "17 nodes lie beyond the calibrated range (2..16 nodes)");
  CHECK(beyond_calibration(calibration, 1, 8) ==
        "1 node lies beyond the calibrated range (2..16 nodes)");
  CHECK(beyond_calibration(calibration, 2, 9) ==
        "9 GPUs per node lie beyond the calibrated range (4..8 GPUs)");
  CHECK(beyond_calibration(calibration, 2, 1) ==
        "1 GPU per node lies beyond the calibrated range (4..8 GPUs)");
  CHECK(beyond_calibration(calibration, 1, 1).empty());
  calibration.shapes = {log_of(1, 1)};
  CHECK(beyond_calibration(calibration, 1, 2) ==
        "2 GPUs per node lie beyond the calibrated range (1 GPU)");
  CHECK(beyond_calibration(calibration, 2, 1) ==
        "2 nodes lie beyond the calibrated range (1 node)");
  calibration.shapes = {log_of(4, 8)};
  CHECK(beyond_calibration(calibration, 2, 8) ==
        "2 nodes lie beyond the calibrated range (4 nodes)");
}

TEST_CASE("calibrated band: published logs leave the differences between machines of a kind open") {
  Calibration calibration;
  calibration.shapes = {published(log_of(1, 8))};
  const double two = std::sqrt(2.0);  // the measured machine and the requested one
  check_band(calibration, 1, 8, 8_B, root(kNoise, 0.26 * two));
  check_band(calibration, 1, 8, 256_KiB, root(kNoise, 0.17 * two));
  check_band(calibration, 1, 8, 1024_MiB, root(kNoise, 0.13 * two));
  calibration.shapes.push_back(published(log_of(1, 8)));
  check_band(calibration, 1, 8, 8_B, root(kNoise, 0.26 * std::sqrt(1.5)));
  calibration.repeatability = {
      .small = 0.5, .middle = 0.5, .large = 0.5};  // further apart than machines usually are
  check_band(calibration, 1, 8, 8_B, root(kNoise, 0.5));
  calibration = {.shapes = {published(log_of(2, 8))}};
  check_band(calibration, 2, 8, 256_KiB, root(kNoise, 0.21 * two));
  check_band(calibration, 2, 8, 1024_MiB, root(kNoise, 0.27 * two));
}

TEST_CASE("calibrated band: own logs count where they were taken, published ones elsewhere") {
  Calibration calibration;
  calibration.shapes = {log_of(1, 8), published(log_of(1, 8)), published(log_of(2, 8))};
  calibration.residual_deviation = {.small = 0.5, .middle = 0.5, .large = 0.5};
  calibration.repeatability = {.small = 0.04, .middle = 0.04, .large = 0.04};
  check_band(calibration, 1, 8, 1_MiB, root(kNoise, 0.04));
  const Calibration others = logs_alone(calibration, true);
  CHECK(others.shapes.size() == 2);
  const Band there = calibrated_band(calibration, 2, 8, 1024_MiB);
  CHECK(there.slower == calibrated_band(others, 2, 8, 1024_MiB).slower);
  CHECK(published_log(calibration, 1, 8, 1_MiB) == nullptr);
  CHECK(published_log(calibration, 2, 8, 1_MiB) == &calibration.shapes[2]);
  CHECK(published_log(logs_alone(calibration, false), 2, 8, 1_MiB) == nullptr);
  CHECK_FALSE(is_published(calibration));
  CHECK(is_published(others));
  CHECK_FALSE(is_published({}));
}

TEST_CASE("calibration: more than eight times the measured nodes are far beyond") {
  Calibration calibration;
  calibration.shapes = {log_of(1, 8), log_of(2, 8)};
  CHECK_FALSE(is_far_beyond(calibration, 16));
  CHECK(is_far_beyond(calibration, 17));
}
