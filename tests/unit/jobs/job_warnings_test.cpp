#include "ddpsim/jobs/job_warnings.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "mentions.hpp"

using namespace ddpsim;

TEST_CASE("jobs: a cap from 1 TiB on gets a question about its unit") {
  const auto warned = [](const DdpOptions& options, TorchVersion torch) {
    return ddp_warnings(options, torch);
  };
  CHECK(warned({.bucket_cap_mb = 999'999}, {2, 8}).empty());
  CHECK(warned({.bucket_cap_mb = 26'214'400}, {2, 8}) ==
        std::vector<std::string>{
            "--bucket-cap-mb 26214400 is in MiB, so 25 TiB; did you mean bytes, 25 MiB?"});
  CHECK(mentions(warned({.first_bucket_mb = 1e6}, {2, 8}), "--first-bucket-mb 1000000"));
  CHECK(warned({.bucket_cap_mb_list = {1, 2e6, 3e6}}, {2, 8}).size() == 2);
  CHECK(warned({}, kNewestTorch).empty());
  TorchVersion newer = kNewestTorch;
  ++newer.minor;
  CHECK(mentions(warned({}, newer), "is newer than the rules known here"));
}
