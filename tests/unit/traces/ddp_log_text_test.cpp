// Printed DDP logging data: every form gives the same result. Truncated data and data of several
// ranks are refused.
#include "ddp_log_text.hpp"

#include <doctest/doctest.h>

#include <string>

#include "complaint.hpp"
#include "ddp_log_fields.hpp"
#include "mentions.hpp"
#include "recognise.hpp"

using namespace ddpsim;

namespace {

const std::string kPrinted =
    R"({'world_size': 2, 'rank': 1, 'num_parameter_tensors': 3, 'total_parameter_size_bytes': 24, )"
    R"('bucket_cap_bytes': 26214400, 'bucket_sizes': '16, 8', 'find_unused_parameters': True, )"
    R"('module_name': "It's a net", 'comm_hook': '', 'device_ids': None})";

const std::string kPrettyPrinted = R"({'bucket_cap_bytes': 26214400,
 'bucket_sizes': ('16, '
                  '8'),
 'module_name': "It's a net",
 'find_unused_parameters': True,
 'num_parameter_tensors': 3,
 'rank': 1,
 'total_parameter_size_bytes': 24,
 'world_size': 2}
)";

const std::string kLogged = R"([rank1]:[I logger.cpp:223] [Rank 1]: DDP Initialized with: 
bucket_cap_bytes: 26214400
find_unused_parameters: 1
num_parameter_tensors: 3
rank: 1
total_parameter_size_bytes: 24
world_size: 2
bucket_sizes: 16, 8
comm_hook: 
module_name: It's a net
)";

DdpLogFields fields_of(const std::string& text) {
  return read_ddp_log(read_printed_ddp_log(text, "ddp.txt").json, "ddp.txt");
}

}  // namespace

TEST_CASE("DDP logging data: print, pprint and C++ output give the same result") {
  for (const std::string& text : {kPrinted, kPrettyPrinted, kLogged, "INFO:root:ddp " + kPrinted}) {
    CAPTURE(text);
    CHECK(recognise(text, true).kind == Recognition::Kind::ddp_log);
    const DdpLogFields fields = fields_of(text);
    CHECK(fields.rank == 1);
    CHECK(fields.parameters == 3);
    CHECK(fields.find_unused_parameters);
    CHECK(fields.module_name == "It's a net");
    REQUIRE(fields.bucket_sizes.size() == 2);
    CHECK(fields.bucket_sizes[1] == Bytes(8));
  }
}

TEST_CASE("DDP logging data: the size of a single bucket is still a text") {
  std::string one = kLogged;
  one.replace(one.find("16, 8"), 5, "24");
  CHECK(fields_of(one).bucket_sizes.size() == 1);
}

TEST_CASE("DDP logging data: the last printout of one rank is used, several ranks are refused") {
  std::string later = kPrinted;
  later.replace(later.find("'16, 8'"), 7, "'8, 16'");
  const std::string both = "step 1\n" + kPrinted + "\nstep 2 loss {'a': 1}\n" + later + "\n";
  CHECK(read_printed_ddp_log(both, "ddp.txt").number == 2);
  CHECK(fields_of(both).bucket_sizes[0] == Bytes(8));
  // The log of a training is not DDP logging data.
  CHECK(recognise(kPrinted + "\nstep 1 loss 3.2\n", true).kind != Recognition::Kind::ddp_log);
  std::string other = kPrinted;
  other.replace(other.find("'rank': 1"), 9, "'rank': 0");
  const auto refusal = complaint_of([&] { read_printed_ddp_log(kPrinted + other, "ddp.txt"); });
  CHECK(mentions(refusal, "of ranks 1 and 0"));
}

TEST_CASE("DDP logging data: a truncated printout is refused") {
  const auto refusal = complaint_of(
      [&] { read_printed_ddp_log(kPrinted.substr(0, kPrinted.size() - 20), "ddp.txt"); });
  CHECK(mentions(refusal, "line 1"));
  CHECK(mentions(refusal, "has no end"));
}
