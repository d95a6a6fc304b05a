// DDP's logging data as JSON, as Python prints it and as TORCH_DISTRIBUTED_DEBUG prints it (recorded with PyTorch 2.13 over
// gloo, two ranks), and its reducer's warnings.
#include "ddpsim/diagnose/evidence/ddp_facts.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/formats/files.hpp"
#include "evidence_text.hpp"
#include "mentions.hpp"
#include "small_jobs.hpp"

using namespace ddpsim;
using namespace ddpsim::evidence_text;

namespace {

/// As json.dumps(…, indent=1) writes it.
std::string logged(const std::string& further, int unused = 0) {
  return fmt::format(
      "{{\n \"backend_name\": \"nccl\",\n \"broadcast_buffers\": 1,\n \"bucket_cap_bytes\": "
      "26214400,\n \"bucket_sizes\": \"5008\",\n{} \"iteration\": 10,\n \"module_name\": "
      "\"Sequential\",\n \"unused_parameter_size\": {},\n \"world_size\": 2\n}}\n",
      further, unused);
}

const std::string kPrinted =
    R"([rank1]:[I1125 20:26:31.813401603 logger.cpp:223] [Rank 1]: DDP Initialized with:
broadcast_buffers: 1
bucket_cap_bytes: 26214400
find_unused_parameters: 1
gradient_as_bucket_view: 0
has_sync_bn: 0
iteration: 0
num_parameter_tensors: 6
total_parameter_size_bytes: 5008
world_size: 2
backend_name: gloo
bucket_sizes: 5008
cuda_visible_devices: N/A
dtypes: float
module_name: Sequential
torch_distributed_debug: INFO
)";

}  // namespace

TEST_CASE("DDP's logging data: every form is read the same way") {
  const Evidence printed = evidence_of(kPrinted);
  CHECK(printed.ddp.integer("find_unused_parameters") == 1);
  CHECK(printed.ddp.integer("world_size") == 2);
  CHECK(printed.ddp.find("cuda_visible_devices") == nullptr);
  CHECK(printed.ddp.bucket_sizes() == std::vector<std::int64_t>{5008});
  const Evidence python = evidence_of(
      "{'world_size': 2, 'find_unused_parameters': 1, 'bucket_cap_bytes': 26214400, "
      "'bucket_sizes': "
      "'4096, 912', 'comm_hook': 'N/A', 'iteration': 7}\n");
  CHECK(python.ddp.integer("world_size") == 2);
  CHECK(python.ddp.integer("iteration") == 7);
  CHECK(python.ddp.integer("bucket_cap_bytes") == 26214400);
  CHECK(python.ddp.bucket_sizes() == std::vector<std::int64_t>{4096, 912});
  CHECK(python.ddp.find("comm_hook") == nullptr);
  const Evidence json = evidence_of(logged(" \"find_unused_parameters\": 1,\n"));
  CHECK(json.ddp.integer("find_unused_parameters") == 1);
  CHECK(json.ddp.integer("iteration") == 10);
  // Common words before any of DDP's keys.
  CHECK(evidence_of("iteration: 12\nworld_size: 8\n").ddp.empty());
}

TEST_CASE("DDP's logging data: several keys on each of several lines") {
  const auto facts = read_evidence(
                         "{\"backend_name\": \"nccl\", \"broadcast_buffers\": 1,\n"
                         " \"bucket_cap_bytes\": 26214400, \"bucket_sizes\": \"4096, 912\",\n"
                         " 'static_graph': False, 'iteration': 10, 'world_size': 2}\n",
                         "log")
                         .ddp;
  CHECK(facts.integer("broadcast_buffers") == 1);
  CHECK(facts.integer("bucket_cap_bytes") == 26'214'400);
  CHECK(facts.bucket_sizes() == std::vector<std::int64_t>{4096, 912});
  CHECK(facts.integer("static_graph") == 0);
  CHECK(facts.integer("iteration") == 10);
  CHECK(facts.integer("world_size") == 2);
  REQUIRE(facts.find("backend_name"));
  CHECK(facts.find("backend_name")->text == "nccl");
}

TEST_CASE("DDP's logging data: other keys in between, and records of a trainer after it") {
  const DdpFacts facts =
      evidence_of(
          " \"bucket_cap_bytes\": 26214400, \"avg_backward_compute_time\": 7, \"iteration\": 10,\n"
          "{\"iteration\": 900, \"loss\": 2.5, \"world_size\": 64}\n"
          "{\"loss\": 2.5, \"iteration\": 901}\n")
          .ddp;
  CHECK(facts.integer("bucket_cap_bytes") == 26'214'400);
  CHECK(facts.integer("iteration") == 10);
  CHECK(facts.find("world_size") == nullptr);
}

TEST_CASE("DDP's logging data: the recorded fixture is read") {
  const Evidence evidence =
      evidence_of(read_file(files::fixture_file("ddp-log-resnet18.json"), 1 << 20));
  CHECK(evidence.ddp.integer("num_parameter_tensors") == 62);
  CHECK(find_problems(evidence).empty());
}

TEST_CASE("find_unused_parameters: on although every parameter was used") {
  const std::vector<Finding> findings = problems_of(logged(" \"find_unused_parameters\": 1,\n"));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::find_unused_parameters);
  CHECK(mentions(findings[0].says, "up to iteration 10"));
  CHECK(findings[0].place == "evidence.txt:6");
  // No finding if some are unused, even on another rank, if the graph is static, if nothing ran
  // yet, or if the reducer says so.
  CHECK(problems_of(logged(" \"find_unused_parameters\": 1,\n", 4096)).empty());
  CHECK(problems_of(logged(" \"find_unused_parameters\": 1,\n") +
                    logged(" \"find_unused_parameters\": 1,\n", 4096))
            .empty());
  CHECK(problems_of(logged(" \"find_unused_parameters\": 1,\n \"static_graph\": 1,\n")).empty());
  CHECK(problems_of(logged(" \"find_unused_parameters\": 0,\n")).empty());
  CHECK(problems_of(kPrinted).empty());
  const std::vector<Finding> warned =
      problems_of(kPrinted +
                  "[rank0]:[W1125 20:26:31.825068340 reducer.cpp:1529] Warning: "
                  "find_unused_parameters=True was "
                  "specified in DDP constructor, but did not find any unused parameters in the "
                  "forward pass.\n");
  REQUIRE(warned.size() == 1);
  CHECK(warned[0].what == CauseClass::find_unused_parameters);
  CHECK(warned[0].place == "evidence.txt:17");
}

TEST_CASE("DDP's logging data: static graph, buffers with SyncBatchNorm, strides, debug level") {
  const auto kind = [](const std::string& text) {
    const std::vector<Finding> findings = problems_of(text);
    REQUIRE(findings.size() == 1);
    return findings[0].what;
  };
  CHECK(kind(logged(" \"can_set_static_graph\": 1,\n \"find_unused_parameters\": 1,\n", 8)) ==
        CauseClass::static_graph_possible);
  CHECK(kind(logged(" \"has_sync_bn\": 1,\n")) == CauseClass::buffers_broadcast);
  CHECK(kind("[W reducer.cpp:347] Warning: Grad strides do not match bucket view strides. This may "
             "indicate grad was not created according to the gradient layout contract\n") ==
        CauseClass::gradient_strides);
  CHECK(kind(logged(" \"torch_distributed_debug\": \"DETAIL\",\n")) == CauseClass::debug_level);
  // PyTorch records the variable as typed, and reads it in any case.
  CHECK(kind(logged(" \"torch_distributed_debug\": \"detail\",\n")) == CauseClass::debug_level);
  CHECK(kind(logged(" \"nccl_blocking_wait\": \"1\",\n")) == CauseClass::blocking_wait);
  CHECK(kind("[Rank 0 / 2] [before iteration 10] Training Net unused_parameter_size=0\n" +
             logged(" \"find_unused_parameters\": 1,\n")) == CauseClass::find_unused_parameters);
}

TEST_CASE("DDP's buckets: only two with a large cap, or very many small ones") {
  const auto buckets = [](std::int64_t cap, int count, std::int64_t each) {
    std::string sizes;
    for (int k = 0; k < count; ++k) sizes += (k ? ", " : "") + std::to_string(each);
    return problems_of(fmt::format("bucket_cap_bytes: {}\nrebuilt_bucket_sizes: {}\n", cap, sizes));
  };
  using small::kMiB;
  REQUIRE(buckets(1000 * kMiB, 1, 200 * kMiB).size() == 1);
  CHECK(buckets(1000 * kMiB, 1, 200 * kMiB)[0].what == CauseClass::bucket_sizes);
  CHECK(buckets(25 * kMiB, 1, 200 * kMiB).empty());  // one large parameter, default cap
  CHECK(buckets(100 * kMiB, 1, 40 * kMiB).empty());  // little to overlap
  REQUIRE(buckets(kMiB / 4, 64, kMiB / 4).size() == 1);
  CHECK(buckets(kMiB, 64, kMiB).empty());
}

TEST_CASE("Two sides of DDP: options that differ") {
  const auto changes = [](const std::string& before, const std::string& after) {
    return find_changes(evidence_of(before), evidence_of(after));
  };
  const std::string sound =
      logged(" \"find_unused_parameters\": 0,\n \"gradient_as_bucket_view\": 1,\n");
  CHECK(changes(sound, sound).empty());
  std::vector<Finding> findings =
      changes(sound, logged(" \"find_unused_parameters\": 0,\n \"gradient_as_bucket_view\": 0,\n"));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::bucket_views_off);
  CHECK(mentions(findings[0].says, "was 1 and is 0"));
  findings =
      changes(sound, logged(" \"find_unused_parameters\": 1,\n \"gradient_as_bucket_view\": 1,\n"));
  // The change, and the new side's own finding.
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].what == CauseClass::find_unused_parameters);
  findings = changes(sound, logged(" \"find_unused_parameters\": 0,\n \"gradient_as_bucket_view\": "
                                   "1,\n \"comm_hook\": \"fp16_compress_hook\",\n"));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::comm_hook);
  CHECK(mentions(findings[0].says, "was none and is fp16_compress_hook"));
  findings = changes("bucket_cap_bytes: 26214400\nrebuilt_bucket_sizes: 10, 20\n",
                     "bucket_cap_bytes: 26214400\nrebuilt_bucket_sizes: 5, 25\n");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].what == CauseClass::bucket_sizes);
}

TEST_CASE("Two sides of DDP: another model, a static graph, another environment") {
  const auto with = [](const std::string& further) { return logged(further); };
  const std::string before =
      with(" \"num_parameter_tensors\": 6,\n \"rebuilt_bucket_sizes\": \"4096, 912\",\n");
  const std::string other =
      with(" \"num_parameter_tensors\": 9,\n \"rebuilt_bucket_sizes\": \"8192, 912\",\n");
  CHECK(kinds_of(changes_of(before, other)) == Kinds{CauseClass::data_parallel_changed});
  CHECK(
      kinds_of(changes_of(before, with(" \"num_parameter_tensors\": 6,\n \"rebuilt_bucket_sizes\": "
                                       "\"912, 4096\",\n"))) == Kinds{CauseClass::bucket_sizes});
  // With a static graph there is no search, so only that graph is new. Without it, the search is
  // back.
  const std::string plain = with(" \"find_unused_parameters\": 0,\n");
  const std::string fixed = with(" \"find_unused_parameters\": 1,\n \"static_graph\": 1,\n");
  CHECK(kinds_of(changes_of(plain, fixed)) == Kinds{CauseClass::data_parallel_changed});
  const auto walks = changes_of(fixed, logged(" \"find_unused_parameters\": 1,\n", 4));
  REQUIRE(kinds_of(walks) == Kinds{CauseClass::find_unused_parameters});
  CHECK(mentions(walks.front().says, "static_graph was 1 and is 0"));
  CHECK(walks.front().effect == FindingEffect::costs);
  CHECK(kinds_of(changes_of(with(" \"nccl_version\": \"2.20.5\",\n"),
                            with(" \"nccl_version\": \"2.26.2\",\n"))) ==
        Kinds{CauseClass::version_changed});
  CHECK(kinds_of(changes_of(with(" \"nccl_socket_ifname\": \"eth0\",\n"),
                            with(" \"nccl_socket_ifname\": \"bond0\",\n"))) ==
        Kinds{CauseClass::environment_changed});
}
