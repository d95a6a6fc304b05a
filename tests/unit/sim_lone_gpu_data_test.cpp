// One GPU a node over RDMA: the open logs contradict each other, so the interval holds both.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "data_files.hpp"
#include "ddpsim/calibrate/measured_log.hpp"
#include "ddpsim/sim/correction.hpp"
#include "ddpsim/sim/nccl.hpp"
#include "open_logs.hpp"
#include "uncertainty.hpp"

using namespace ddpsim;

TEST_CASE("one GPU a node: four in five large sizes of either log lie within the interval") {
  struct LoneGpu {
    std::string path;
    open_logs::Log log;
  };
  const LoneGpu all[] = {
      {"data/nccl-tests/", {"gke-h200-n2g1", "node:2 gpu:1xH200 nic:1x400Gbps:roce", "2.23.4"}},
      // The rate of its NIC and its NCCL are assumed.
      {"data/nccl-tests-more/",
       {"lambda-h100-n2g1", "node:2 gpu:1xH100 nic:1x400Gbps:ib", "2.23.4"}},
  };
  for (const auto& [folder, about] : all) {
    const std::filesystem::path path = files::shared_file(folder + about.slug + ".txt");
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: the measured logs are not here");
      return;
    }
    int held = 0;
    int sizes = 0;
    for (const MeasuredPoint& point : read_nccl_tests_log(path, JobShape{2, 1}).points) {
      if (point.size.count() < (1 << 20)) continue;
      const auto choice =
          select_algorithm(CollectiveKind::all_reduce, point.size, about.cluster, about.tuning());
      const double us =
          cost(CollectiveKind::all_reduce, choice, point.size, about.cluster).microseconds();
      const Band band = duration_band(about.cluster, point.size);
      ++sizes;
      held += point.time_us >= us * band.faster && point.time_us <= us * band.slower ? 1 : 0;
    }
    MESSAGE(about.slug << ": " << held << " of " << sizes << " sizes from 1 MiB");
    CHECK(held >= 0.8 * sizes);
  }
}
