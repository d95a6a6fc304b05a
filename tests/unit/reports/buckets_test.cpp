// Assigned buckets as text, JSON and CSV, and compared with those that DDP logged.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "reports_sample.hpp"

using namespace ddpsim;
using Json = nlohmann::json;
using namespace ddpsim::literals;

namespace {

Bucket bucket(std::vector<std::size_t> parameters, Bytes bytes, Bytes limit, ClosedBy closed_by,
              Dtype dtype = Dtype::float32) {
  return {.parameters = std::move(parameters),
          .bytes = bytes,
          .limit = limit,
          .closed_by = closed_by,
          .dtype = dtype};
}

/// One bucket of each kind, each with its own type.
std::vector<Bucket> mixed() {
  return {bucket({2}, 3_MiB, 1_MiB, ClosedBy::limit),
          bucket({1, 0}, 4_MiB, Bytes::max(), ClosedBy::end, Dtype::float16),
          bucket({3}, 5_MiB, 25_MiB, ClosedBy::sparse, Dtype::bfloat16),
          bucket({}, 0_B, 2_MiB, ClosedBy::end)};
}

std::string second_line(const LoggedBuckets& logged) {
  const std::string text =
      buckets_text({mixed()[0], mixed()[1]}, sample::workload(), {.width = 200}, logged);
  const std::size_t at = text.find('\n') + 1;
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("buckets page: types are shown if they differ; a bucket without a limit says none") {
  // 12 MiB: 12 * 1048576 bytes. Parameter 3 has no name.
  CHECK(buckets_text(mixed(), sample::workload(), {.width = 120}) ==
        R"(4 buckets in launch order: 4 tensors of gradients, 12.00 MiB (12582912 bytes).

  bucket  tensors   MiB    bytes  limit MiB  closed by        dtype     first .. last parameter
       0        1  3.00  3145728       1.00  limit reached    float32   fc.weight
       1        2  4.00  4194304       none  no tensors left  float16   conv.bias .. conv.weight
       2        1  5.00  5242880       none  sparse gradient  bfloat16  parameter 3
       3        0  0.00        0       2.00  no tensors left  float32
)");
}

TEST_CASE(
    "buckets page: one is singular; a parameter without a name is numbered, an odd one made "
    "harmless") {
  Workload workload = sample::workload();
  workload.parameters[0].name = "a\x1b";
  workload.parameters[1].name.clear();
  const std::string text = buckets_text({bucket({1}, 1_MiB, 1_MiB, ClosedBy::limit)}, workload, {});
  CHECK(text.starts_with(
      "1 bucket in launch order: 1 tensor of gradients, 1.00 MiB (1048576 bytes).\n\n"));
  CHECK(text.ends_with("  limit reached  parameter 1\n"));
  CHECK(buckets_text({bucket({0, 1}, 1_MiB, 1_MiB, ClosedBy::limit)}, workload, {})
            .ends_with("  limit reached  a? .. parameter 1\n"));
}

TEST_CASE(
    "buckets page: names are cut before a column is dropped, and the limit is dropped first") {
  Workload workload = sample::workload();
  workload.parameters[2].name = std::string(60, 'n');
  const auto lines = [&](int width) {
    const std::string text = buckets_text({mixed()[0]}, workload, {.width = width});
    return text.substr(text.find("\n\n") + 2);
  };
  // 2 + 6 + 2 + 7 + 2 + 4 + 2 + 7 + 2 + 9 + 2 + 13 + 2 leave 8 of 68.
  CHECK(lines(68) ==
        "  bucket  tensors   MiB    bytes  limit MiB  closed by      first .…\n"
        "       0        1  3.00  3145728       1.00  limit reached  nnnnnnn…\n");
  CHECK(lines(67).starts_with(
      "  bucket  tensors   MiB    bytes  closed by      first .. last par…\n"));
  CHECK(lines(56).starts_with("  bucket  tensors   MiB  closed by      first .. last p…\n"));
  CHECK(lines(47).starts_with("  bucket   MiB  closed by      first .. last p…\n"));
}

TEST_CASE("buckets page: compared with the buckets that DDP logged") {
  CHECK(second_line({.bytes = {3_MiB, 4_MiB}, .remedy = "unused"}) ==
        "They match the 2 buckets DDP logged.");
  CHECK(second_line({.bytes = {3_MiB, 6_MiB}, .remedy = "Try --torch."}) ==
        "They differ from the 2 buckets DDP logged, first in bucket 1: 4194304 bytes here, 6291456 "
        "bytes there. Try "
        "--torch.");
  CHECK(second_line({.bytes = {3_MiB}, .remedy = ""}) ==
        "They differ from the 1 bucket DDP logged, first in bucket 1: 4194304 bytes here, none "
        "there.");
  CHECK(second_line({.bytes = {3_MiB, 4_MiB, 7_MiB}, .remedy = ""}) ==
        "They differ from the 3 buckets DDP logged, first in bucket 2: none here, 7340032 bytes "
        "there.");
  CHECK(buckets_text({}, sample::workload(), {}, LoggedBuckets{}) ==
        "No buckets: no parameter takes part in DDP.\nThey match the 0 buckets DDP logged.\n");
}

TEST_CASE("buckets JSON: compared with the buckets that DDP logged") {
  const std::vector<Bucket> buckets = {mixed()[0], mixed()[1]};
  CHECK(Json::parse(
            buckets_json(buckets, {}, {{2, 8}}, LoggedBuckets{{3_MiB, 4_MiB}, ""}))["logged"] ==
        Json{{"match", true}, {"bytes", {3145728, 4194304}}});
  CHECK(Json::parse(
            buckets_json(buckets, {}, {{2, 8}}, LoggedBuckets{{3_MiB, 6_MiB}, ""}))["logged"] ==
        Json{{"match", false}, {"first_difference", 1}, {"bytes", {3145728, 6291456}}});
  CHECK_FALSE(Json::parse(buckets_json(buckets, {}, {{2, 8}})).contains("logged"));
}

TEST_CASE("buckets CSV: a row per bucket, parameters with spaces between them") {
  CHECK(buckets_csv(mixed()) ==
        "bucket,bytes,tensors,limit_bytes,closed_by,dtype,parameter_indices\n"
        "0,3145728,1,1048576,limit,float32,2\n"
        "1,4194304,2,9223372036854775807,end,float16,1 0\n"
        "2,5242880,1,26214400,sparse,bfloat16,3\n"
        "3,0,0,2097152,end,float32,\n");
}
