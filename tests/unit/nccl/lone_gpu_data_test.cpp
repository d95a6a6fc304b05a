// One GPU a node over RDMA. It matters whether its NIC reaches its memory. The share of a slot
// through host memory was learned only from GPUs of one node (pipeline_cost.hpp), so each log here
// is predicted without itself.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/calibrate/logs/measured_log.hpp"
#include "ddpsim/sim/nccl/correction.hpp"
#include "ddpsim/sim/nccl/nccl.hpp"
#include "ddpsim/sim/values/quantile.hpp"
#include "open_logs.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;

namespace {

struct LoneGpu {
  std::string path;
  open_logs::Log log;
  double most_median;  ///< error of sizes from 1 MiB on
};

/// Errors of the prediction for a log of one GPU a node, from 1 MiB on.
struct LoneGpuErrors {
  std::vector<double> of;
  std::vector<double> ratios;  ///< predicted over measured
  int held = 0;

  int sizes() const { return static_cast<int>(of.size()); }
};

LoneGpuErrors lone_gpu_errors(const std::filesystem::path& path, const open_logs::Log& about) {
  LoneGpuErrors errors;
  for (const MeasuredPoint& point : read_nccl_tests_log(path, JobShape{2, 1}).points) {
    if (point.size.count() < (1 << 20)) continue;
    const auto choice =
        select_algorithm(CollectiveKind::all_reduce, point.size, about.cluster, about.tuning());
    const double us =
        cost(CollectiveKind::all_reduce, choice, point.size, about.cluster).microseconds();
    const Band band = duration_band(about.cluster, point.size);
    errors.of.push_back(std::abs(us / point.time_us - 1));
    errors.ratios.push_back(us / point.time_us);
    const bool held = point.time_us >= us * band.faster && point.time_us <= us * band.slower;
    errors.held += held ? 1 : 0;
  }
  return errors;
}

}  // namespace

TEST_CASE("one GPU a node: the 80 % interval holds four fifths of each log's large sizes") {
  const std::string kMore = "data/nccl-tests-more/";
  // Only the page of a100-pcie-hdr says whether NICs reach GPU memory; its NIC is on the other
  // socket. In p3dn-nonet the network carries nothing. For lambda-h100, the NIC's rate and NCCL are
  // assumed.
  const LoneGpu all[] = {
      {"data/nccl-tests/",
       {"gke-h200-n2g1", "node:2 gpu:1xH200 nic:1x400Gbps:roce", "2.23.4"},
       0.4},
      {"data/nccl-tests/",
       {"gke-h200-n2g1", "node:2 gpu:1xH200 nic:1x400Gbps:roce:no-gdr", "2.23.4"},
       0.15},
      {kMore, {"lambda-h100-n2g1", "node:2 gpu:1xH100 nic:1x400Gbps:ib", "2.23.4"}, 0.15},
      {kMore, {"lambda-h100-n2g1", "node:2 gpu:1xH100 nic:1x400Gbps:ib:gdr", "2.23.4"}, 0.15},
      {kMore,
       {"a100-pcie-hdr-n2g1-nogdr", "node:2 gpu:1xA100 nic:1x200Gbps:ib:no-gdr", "2.21.5"},
       0.4},
      {"data/nccl-tests/",
       {"p3dn-nonet-n2g1-modified", "node:2 gpu:1xV100 nic:1x100Gbps:ib:no-gdr", "2.7.8"},
       0.15},
  };
  for (const auto& [folder, about, most] : all) {
    const std::filesystem::path path = files::shared_file(folder + about.slug + ".txt");
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: the measured logs are not here");
      return;
    }
    const LoneGpuErrors errors = lone_gpu_errors(path, about);
    MESSAGE(
        fmt::format("{:26} {:50} median {:4.1f} %  p90 {:4.1f} %  worst {:4.1f} %  predicted / "
                    "measured {:.2f}; {} of {} sizes held",
                    about.slug, about.line, 100 * median(errors.of), 100 * quantile(errors.of, 0.9),
                    100 * *std::ranges::max_element(errors.of), median(errors.ratios), errors.held,
                    errors.sizes()));
    CHECK(errors.held >= 0.8 * errors.sizes());
    CHECK(median(errors.of) <= most);
  }
}

TEST_CASE(
    "one GPU a node: if it is unknown whether the NIC reaches GPU memory, the interval covers "
    "both") {
  const std::string line = "node:2 gpu:1xH200 nic:1x400Gbps:roce";
  const Cluster unsaid = parse_cluster_line(line);
  const auto us = [](const Cluster& cluster, Bytes size) {
    const auto choice = select_algorithm(CollectiveKind::all_reduce, size, cluster, {});
    return cost(CollectiveKind::all_reduce, choice, size, cluster).microseconds();
  };
  for (const std::int64_t mib : {8, 64, 1024}) {
    const Bytes size(mib << 20);
    const double staged = us(parse_cluster_line(line + ":no-gdr"), size);
    CHECK(us(unsaid, size) == us(parse_cluster_line(line + ":gdr"), size));
    CHECK(staged > 1.3 * us(unsaid, size));
    CHECK(us(unsaid, size) * duration_band(unsaid, size).slower >= staged);
  }
  // If it is known, the interval is no wider than for other networks.
  const Bytes large(1 << 30);
  CHECK(duration_band(parse_cluster_line(line + ":gdr"), large).slower <
        duration_band(unsaid, large).slower);
}
