#include <doctest/doctest.h>

#include "ddpsim/sim/versions.hpp"

using namespace ddpsim;

TEST_CASE("versions: torch keeps major and minor") {
  CHECK(parse_torch_version("2.8") == TorchVersion{2, 8});
  CHECK(parse_torch_version("1.13.1") == TorchVersion{1, 13});
  CHECK(parse_torch_version("2.8.0+cu128") == TorchVersion{2, 8});
  CHECK(to_string(TorchVersion{1, 13}) == "1.13");
}

TEST_CASE("versions: an absent NCCL patch is 0") {
  CHECK(parse_nccl_version("2.27.3") == NcclVersion{2, 27, 3});
  CHECK(parse_nccl_version("2.27") == NcclVersion{2, 27, 0});
  CHECK(to_string(NcclVersion{2, 7, 8}) == "2.7.8");
}

TEST_CASE("versions: malformed text is absent, never a guess") {
  for (const char* text : {"", "2", "2.", ".8", "2.8.", "2.8.1.0", "v2.8", "2.8a", "2.8+", "-2.8",
                           " 2.8", "2,8", "99999999999.1"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_torch_version(text).has_value());
    CHECK_FALSE(parse_nccl_version(text).has_value());
  }
}

TEST_CASE("versions: order is numeric, not textual") {
  CHECK(TorchVersion{1, 9} < TorchVersion{1, 13});
  CHECK(NcclVersion{2, 7, 8} < NcclVersion{2, 27, 3});
}

TEST_CASE("versions: the NCCL inside the wheels") {
  CHECK(bundled_nccl({1, 8}) == NcclVersion{2, 7, 8});
  CHECK(bundled_nccl({1, 12}) == NcclVersion{2, 10, 3});
  CHECK(bundled_nccl({2, 0}) == NcclVersion{2, 14, 3});
  CHECK(bundled_nccl({2, 4}) == NcclVersion{2, 20, 5});
  CHECK(bundled_nccl({2, 6}) == NcclVersion{2, 21, 5});
  CHECK(bundled_nccl({2, 8}) == NcclVersion{2, 27, 3});
  CHECK(bundled_nccl({9, 0}) == bundled_nccl({2, 9}));  // the future ships what we know last
}
