#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "ddpsim/sim/values/versions.hpp"

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

TEST_CASE("versions: a development or pre-release counts as what it precedes") {
  for (const char* text :
       {"2.9.0a0+git4f3a2b1", "2.9.0.dev20250801+cu128", "2.9.0rc3", "2.9b1", "2.9.0.post1"}) {
    CAPTURE(text);
    CHECK(parse_torch_version(text) == TorchVersion{2, 9});
  }
  for (const char* text : {"2.9.0x1", "2.9.0dev1", "2.9.a0", "a0"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_torch_version(text).has_value());
  }
}

TEST_CASE("versions: malformed text gives no version") {
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

TEST_CASE("versions: by major, then minor, then patch") {
  CHECK(TorchVersion{1, 13} < TorchVersion{2, 0});
  CHECK(NcclVersion{2, 99, 99} < NcclVersion{3, 0, 0});
  CHECK(NcclVersion{2, 18, 9} < NcclVersion{2, 19, 0});
  CHECK(NcclVersion{2, 18, 1} < NcclVersion{2, 18, 3});
}

TEST_CASE("versions: the NCCL inside the wheels, release by release") {
  const std::pair<TorchVersion, NcclVersion> wheels[] = {
      {{0, 4}, {2, 3, 7}},   {{1, 0}, {2, 3, 7}},   {{1, 2}, {2, 3, 7}},   {{1, 3}, {2, 4, 8}},
      {{1, 5}, {2, 4, 8}},   {{1, 6}, {2, 4, 8}},   {{1, 7}, {2, 7, 8}},   {{1, 9}, {2, 7, 8}},
      {{1, 10}, {2, 10, 3}}, {{1, 12}, {2, 10, 3}}, {{1, 13}, {2, 14, 3}}, {{2, 0}, {2, 14, 3}},
      {{2, 1}, {2, 18, 1}},  {{2, 2}, {2, 19, 3}},  {{2, 3}, {2, 20, 5}},  {{2, 4}, {2, 20, 5}},
      {{2, 5}, {2, 21, 5}},  {{2, 6}, {2, 21, 5}},  {{2, 7}, {2, 26, 2}},  {{2, 8}, {2, 27, 3}},
      {{2, 9}, {2, 27, 5}},  {{2, 10}, {2, 27, 5}}, {{2, 11}, {2, 28, 9}}, {{2, 12}, {2, 29, 7}},
      {{2, 13}, {2, 29, 7}}};
  for (const auto& [torch, nccl] : wheels) {
    const std::string release = to_string(torch);  // clang 14 cannot capture the binding itself
    CAPTURE(release);
    CHECK(bundled_nccl(torch) == nccl);
  }
}

TEST_CASE("versions: the NCCL inside the wheels") {
  CHECK(bundled_nccl({1, 8}) == NcclVersion{2, 7, 8});
  CHECK(bundled_nccl({1, 12}) == NcclVersion{2, 10, 3});
  CHECK(bundled_nccl({2, 0}) == NcclVersion{2, 14, 3});
  CHECK(bundled_nccl({2, 4}) == NcclVersion{2, 20, 5});
  CHECK(bundled_nccl({2, 6}) == NcclVersion{2, 21, 5});
  CHECK(bundled_nccl({2, 8}) == NcclVersion{2, 27, 3});
  CHECK(bundled_nccl({9, 0}) ==
        bundled_nccl(kNewestTorch));  // unknown releases have the newest NCCL
}

TEST_CASE("versions: a release that never existed is named with its neighbours") {
  CHECK(never_released_torch("1.14") == "PyTorch 1.14 was never released: 2.0 followed 1.13");
  CHECK(never_released_torch("0.5.0+cu90") == "PyTorch 0.5 was never released: 1.0 followed 0.4");
  CHECK(never_released_nccl("1.4.1") == "NCCL 1.4 was never released: 2.0 followed 1.3");
  // NVIDIA's containers of 2022 and 2023 contain pre-releases of 2.0; newer ones may follow.
  for (const char* text : {"0.4.1", "1.13.1", "2.0", "2.99", "3.0", "1.14.0a0+44dac51", "", "x"}) {
    CAPTURE(text);
    CHECK(never_released_torch(text).empty());
  }
  for (const char* text : {"1.3.4", "2.0", "2.30.7", "2.99", "3.0", "x"}) {
    CAPTURE(text);
    CHECK(never_released_nccl(text).empty());
  }
}

TEST_CASE("versions: a stated version takes precedence over the recorded one") {
  const TorchInForce stated = torch_in_force(TorchVersion{2, 1}, "1.9.0");
  CHECK(stated.version == TorchVersion{2, 1});
  CHECK(stated.known);
  const TorchInForce recorded = torch_in_force({}, "1.9.0");
  CHECK(recorded.version == TorchVersion{1, 9});
  CHECK(recorded.known);
  const TorchInForce nobody = torch_in_force({}, "");
  CHECK(nobody.version == kAssumedTorch);
  CHECK_FALSE(nobody.known);
}
