// Causes and their order, rule by rule; then the sixteen public regressions.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/diagnose/diff/setting_changes.hpp"
#include "ddpsim/diagnose/diff/slowdown_causes.hpp"
#include "ddpsim/diagnose/evidence/evidence.hpp"
#include "mentions.hpp"

namespace ddpsim {
namespace {

using namespace literals;

/// A step of 100 ms in which one part takes this much longer.
StepDifference grown(StepPart part, double by_ms, Bound bound = Bound::none) {
  StepBreakdown before = step_alone({100_ms});
  before.parts_known = true;
  before[LossCause::unexplained] = {.known = true};
  before[StepPart::kernels] = {.time = 60_ms, .low = 60_ms, .high = 60_ms, .known = true};
  before[part].known = true;
  before[part].time += 40_ms;
  StepBreakdown after = before;
  after.step += Duration::milliseconds(by_ms);
  after[part].time += Duration::milliseconds(by_ms);
  after[part].bound = bound;
  return difference(before, after);
}

/// Classes of causes or of settings.
template <typename Class>
std::vector<std::string> classes(const std::vector<Class>& all) {
  std::vector<std::string> names;
  for (const Class& one : all) names.emplace_back(name_of(one.what));
  return names;
}

TEST_CASE("causes: none if the difference is noise, and each has evidence and a next measurement") {
  CHECK(slowdown_causes(grown(StepPart::kernels, 1), {}).empty());
  for (const StepPart part : all_step_parts()) {
    CAPTURE(std::string(name_of(part)));
    const auto causes = slowdown_causes(grown(part, 20), {});
    REQUIRE_FALSE(causes.empty());
    for (const SlowdownCause& cause : causes) {
      CHECK_FALSE(cause.evidence.empty());
      CHECK_FALSE(cause.decide_by.empty());
    }
    CHECK(std::ranges::is_sorted(causes, std::ranges::greater(), &SlowdownCause::weight));
  }
}

TEST_CASE("causes: a row names its most likely cause first") {
  const auto first = [](StepPart part, Bound bound = Bound::none) {
    return name_of(slowdown_causes(grown(part, 20, bound), {}).front().what);
  };
  CHECK(first(StepPart::kernels) == "clocks_held_down");
  CHECK(first(StepPart::all_reduce_transfer) == "network_slower");
  CHECK(first(part_of(LossCause::input)) == "data_loading");
  CHECK(first(part_of(LossCause::buffer_broadcast)) == "buffers_broadcast");
  CHECK(first(part_of(LossCause::launch_bound)) == "host_threads");
  CHECK(first(part_of(LossCause::slowest_gpu)) == "slow_rank");
  CHECK(first(part_of(LossCause::unexplained)) == "unknown");
  SlowdownEvidence on_cpu;
  on_cpu.on_cpu = true;
  CHECK(slowdown_causes(grown(StepPart::kernels, 20), on_cpu).front().what ==
        CauseClass::host_threads);
}

TEST_CASE("causes: the tail of one rank may be waiting, and traces of all ranks would tell") {
  const auto causes = slowdown_causes(grown(StepPart::all_reduce_transfer, 20, Bound::upper), {});
  CHECK(has(classes(causes), "slow_rank"));
  CHECK(causes.front().decide_by.find("all ranks") != std::string::npos);
  CHECK_FALSE(
      has(classes(slowdown_causes(grown(StepPart::all_reduce_transfer, 20), {})), "slow_rank"));
}

TEST_CASE("causes: a new finding comes before the possible meanings of a row") {
  SlowdownEvidence evidence;
  evidence.now = {{CauseClass::socket_instead_of_ib, "sockets", "log:3"}};
  const auto transfer = grown(StepPart::all_reduce_transfer, 20);
  CHECK(slowdown_causes(transfer, evidence).front().what == CauseClass::socket_instead_of_ib);
  evidence.before = evidence.now;  // it was there before
  CHECK_FALSE(has(classes(slowdown_causes(transfer, evidence)), "socket_instead_of_ib"));
  evidence.before.clear();  // its row did not grow
  const auto causes = slowdown_causes(grown(part_of(LossCause::input), 20), evidence);
  CHECK(causes.front().what == CauseClass::data_loading);
  CHECK(has(classes(causes), "socket_instead_of_ib"));
}

TEST_CASE("causes: a finding with only a step time, or another version, comes before unknown") {
  const StepDifference bare = difference(step_alone({100_ms}), step_alone({150_ms}));
  CHECK(slowdown_causes(bare, {}).front().what == CauseClass::unknown);
  SlowdownEvidence evidence;
  evidence.changes = {{CauseClass::version_changed, "NCCL 2.18, now 2.20", "log:1"}};
  CHECK(classes(slowdown_causes(bare, evidence))[0] == "version_changed");
  CHECK(classes(slowdown_causes(bare, evidence))[1] == "unknown");
  evidence.now = {{CauseClass::blocking_launches, "CUDA_LAUNCH_BLOCKING=1", "env:1"}};
  CHECK(slowdown_causes(bare, evidence).front().what == CauseClass::blocking_launches);
}

TEST_CASE("causes: without timings, changes come first, then new problems, then versions") {
  SlowdownEvidence evidence;
  evidence.changes = {{.what = CauseClass::version_changed, .says = "NCCL 2.19 is 2.21"},
                      {.what = CauseClass::environment_changed, .says = "NCCL_ALGO is Ring"}};
  evidence.before = {{.what = CauseClass::plugin_missing, .says = "as before"}};
  evidence.now = {{.what = CauseClass::plugin_missing, .says = "as before"},
                  {.what = CauseClass::clocks_held_down, .says = "1,200 MHz"}};
  CHECK(classes(causes_of_findings(evidence)) ==
        std::vector<std::string>{std::string(name_of(CauseClass::environment_changed)),
                                 std::string(name_of(CauseClass::clocks_held_down)),
                                 std::string(name_of(CauseClass::version_changed))});
}

TEST_CASE("causes: what only helps cannot slow down, what only costs cannot speed up") {
  const StepDifference slower = difference(step_alone({100_ms}), step_alone({150_ms}));
  const StepDifference faster = difference(step_alone({150_ms}), step_alone({100_ms}));
  SlowdownEvidence evidence;
  evidence.changes = {{.what = CauseClass::mtu_unequal,
                       .says = "the MTU was 1500 and is 9000",
                       .place = "env:1",
                       .effect = FindingEffect::relieves}};
  CHECK(classes(slowdown_causes(slower, evidence)).front() == "unknown");
  CHECK_FALSE(has(classes(slowdown_causes(slower, evidence)), "mtu_unequal"));
  CHECK(slowdown_causes(faster, evidence).front().what == CauseClass::mtu_unequal);
  CHECK(causes_of_findings(evidence).empty());
  evidence.changes.front().effect = FindingEffect::costs;
  CHECK(slowdown_causes(slower, evidence).front().what == CauseClass::mtu_unequal);
  CHECK_FALSE(has(classes(slowdown_causes(faster, evidence)), "mtu_unequal"));
  // A finding that may be harmless comes after "unknown".
  evidence.changes.front().doubtful = true;
  CHECK(classes(slowdown_causes(slower, evidence)).front() == "unknown");
  CHECK(has(classes(slowdown_causes(slower, evidence)), "mtu_unequal"));
}

TEST_CASE("causes: a speedup is not attributed to current problems") {
  SlowdownEvidence evidence;
  evidence.now = {{CauseClass::socket_instead_of_ib, "sockets", "log:3"}};
  const auto causes = slowdown_causes(grown(StepPart::all_reduce_transfer, -20), evidence);
  CHECK_FALSE(has(classes(causes), "socket_instead_of_ib"));
}

TEST_CASE("causes: waits for a rank follow the growth of its own rows") {
  LateRanks late;
  late.pattern = LatePattern::one_rank;
  late.late = {1};
  late.ranks = {{.rank = 0}, {.rank = 1, .times_last = 6, .steps_last = 6, .caused = 20_ms}};
  late.collectives = 6;
  const StepDifference waits = grown(part_of(LossCause::slowest_gpu), 20);
  SlowdownEvidence evidence;
  evidence.late = late;
  evidence.late_difference = grown(StepPart::kernels, 20);
  CHECK(slowdown_causes(waits, evidence).front().what == CauseClass::slow_rank);
  CHECK(slowdown_causes(waits, evidence).front().decide_by ==
        "the late rank's process on another GPU or core. If the lateness moves along, its data or "
        "process is the cause; otherwise the GPU, the core or the node");
  evidence.late_difference = grown(part_of(LossCause::buffer_broadcast), 20);
  evidence.settings = {
      {CauseClass::buffers_broadcast, "buffers", {part_of(LossCause::buffer_broadcast)}}};
  CHECK(slowdown_causes(waits, evidence).front().what == CauseClass::buffers_broadcast);
  evidence = {};
  late.pattern = LatePattern::wandering;
  evidence.late = late;
  CHECK(slowdown_causes(waits, evidence).front().what == CauseClass::uneven_data);
}

TEST_CASE("settings: differences between two recordings, and nothing if one is silent") {
  Workload before, now;
  before.torch = "1.13";
  now.torch = "2.13";
  before.recorded_with.collectives = {{.bytes = Bytes(100)}};
  now.recorded_with.collectives = {{.bytes = Bytes(60)}, {.bytes = Bytes(40)}};
  before.recorded_with.ddp_hooks = now.recorded_with.ddp_hooks = true;
  before.provenance = {{"ddp_options", "defaults"}};
  now.provenance = {{"ddp_options", "--bucket-cap-mb 1 --find-unused-parameters"}};
  now.gpu = "V100";
  std::set<CauseClass> found;
  for (const SettingChange& change : setting_changes(before, now)) found.insert(change.what);
  CHECK(found == std::set<CauseClass>{CauseClass::version_changed, CauseClass::bucket_sizes,
                                      CauseClass::find_unused_parameters});
  CHECK(setting_changes(before, before).empty());
}

TEST_CASE("settings: accumulation, hooks and SyncBatchNorm, as recorded") {
  Workload before, now;
  before.recorded_with.ddp_hooks = now.recorded_with.ddp_hooks = true;
  before.provenance = now.provenance = {{"ddp_options", "defaults"}};
  before.recorded_with.accumulate = 4;
  before.earlier = now.earlier = EarlierMicroBatches{.count = 3};
  CHECK(setting_changes(before, now).empty());  // four each, stated in either way
  now.earlier->all_reduced = 3;
  now.provenance.emplace_back("comm_hook", "blocking_hook");
  now.recorded_with.sync_batchnorm = true;
  std::set<CauseClass> found;
  for (const SettingChange& change : setting_changes(before, now)) found.insert(change.what);
  CHECK(found == std::set<CauseClass>{CauseClass::no_sync_misplaced, CauseClass::comm_hook,
                                      CauseClass::sync_batchnorm});
  now.earlier->count = 7;
  CHECK(has(classes(setting_changes(before, now)), "accumulation_changed"));
}

TEST_CASE("settings: a network is slower if an all-reduce alone takes over 10 % longer") {
  CHECK_FALSE(slower_network(Bytes(1 << 20), 10_ms, 11_ms, 1.1));
  const SettingChange slower = slower_network(Bytes(1 << 20), 10_ms, 12_ms, 1.2).value();
  CHECK(slower.what == CauseClass::network_slower);
  CHECK(slower.says ==
        "an all-reduce of 1048576 bytes alone takes 12 ms, 10 before, according to the logs");
  CHECK_FALSE(slower.lengthens.empty());
}

TEST_CASE("settings: an option that can only help slows nothing") {
  Workload before, now;
  before.recorded_with.ddp_hooks = now.recorded_with.ddp_hooks = true;
  before.provenance = {{"ddp_options", "--find-unused-parameters"}};
  now.provenance = {{"ddp_options", "--no-broadcast-buffers --gradient-as-bucket-view"}};
  const auto named = [](const Workload& old, const Workload& is) {
    SlowdownEvidence evidence;
    evidence.settings = setting_changes(old, is);
    CHECK(evidence.settings.size() == 3);
    const StepDifference slower = difference(step_alone({100_ms}), step_alone({150_ms}));
    const auto causes = classes(slowdown_causes(slower, evidence));
    return std::ranges::count_if(causes, [](const std::string& what) {
      return what == "find_unused_parameters" || what == "buffers_broadcast" ||
             what == "bucket_views_off";
    });
  };
  CHECK(named(before, now) == 0);
  CHECK(named(now, before) == 3);
}

TEST_CASE(
    "settings: values assumed from a model are no evidence, and a static graph ends the search") {
  Workload before, now;
  before.recorded_with.ddp_hooks = now.recorded_with.ddp_hooks = true;
  before.buffers = {{.dtype = Dtype::float32, .bytes = Bytes(212904)}};
  CHECK(has(classes(setting_changes(before, now)), "buffers_broadcast"));
  before.provenance = {{"kind", "DDP logging data"}, {"shapes", "resnet50"}};
  CHECK(setting_changes(before, now).empty());
  CHECK(setting_changes(now, before).empty());
  before = now;
  before.provenance = {{"ddp_options", "defaults"}};
  now.provenance = {{"ddp_options", "--find-unused-parameters --static-graph"}};
  const auto changes = setting_changes(before, now);
  REQUIRE(changes.size() == 1);
  CHECK(changes.front().what == CauseClass::data_parallel_changed);
}

TEST_CASE("settings: threads that wait for a core explain only their waits") {
  Workload before, now;
  before.gpu = now.gpu = "V100";
  before.iteration = now.iteration = 100_ms;
  before.threads = HostThreads{.running = 50_ms, .waiting = 1_ms};
  now.threads = HostThreads{.cores = 1, .running = 50_ms, .waiting = 19_ms};
  CHECK(threads_known(before, now));
  CHECK_FALSE(threads_known(Workload(), now));
  SlowdownEvidence evidence;
  evidence.threads_known = true;
  evidence.settings = setting_changes(before, now);
  REQUIRE(evidence.settings.size() == 1);
  CHECK(evidence.settings.front().at_most == 18_ms);
  const StepDifference gaps = grown(part_of(LossCause::launch_bound), 20);
  const auto causes = slowdown_causes(gaps, evidence);
  CHECK(causes.front().what == CauseClass::host_threads);
  CHECK(causes.front().weight == doctest::Approx(0.9 * 18 / 20));
  // It waits 2 ms longer out of 20, so other causes of launch gaps come first.
  now.threads->waiting = 3_ms;
  evidence.settings = setting_changes(before, now);
  CHECK(slowdown_causes(gaps, evidence).front().what == CauseClass::host_overhead);
  // Without a longer wait nothing names it; it runs longer instead.
  now.threads = HostThreads{.running = 68_ms, .waiting = 1_ms};
  evidence.settings = setting_changes(before, now);
  CHECK(slowdown_causes(gaps, evidence).front().what == CauseClass::host_overhead);
  CHECK_FALSE(has(classes(slowdown_causes(gaps, evidence)), "host_threads"));
  // Loaders are other processes.
  CHECK(has(classes(slowdown_causes(grown(part_of(LossCause::input), 20), evidence)),
            "host_threads"));
  // On a CPU, the model itself runs longer.
  before.gpu = now.gpu = "CPU";
  CHECK(setting_changes(before, now).empty());
}

// The sixteen public regressions (regressions.json). The first lists say what the evidence of each
// can decide from its own files, written before any was run through the rule:
//
//   gpudirect_one_side, peer_to_peer_off   a log line says it
//
//   slow_node                              pairs single it out
//
//   everything else                        numbers say only how much
//
//   no second number and no log            nothing can be decided, and nothing is
//
// If step times grow, any part of a step may have grown. If all-reduces do, it may be the network,
// NCCL's choice, its version or a link.
struct Decidable {
  std::string first;  ///< the class that must come first
  std::string among =
      /// If numbers alone do not decide, the class must be among the candidates.
      "";
};
const std::map<std::string, Decidable> kDecidable = {
    {"one-node-no-peermem", {"gpudirect_one_side"}},
    {"openmp-collate", {"unknown", "host_threads"}},
    {"pytorch11-imagenet", {"unknown", "host_threads"}},
    {"leonardo-ring-pxn", {"unknown", "other_algorithm"}},
    {"pcie-gen2-stuck", {"unknown", "pcie_link_below_its_best"}},
    {"p2p-level-loc", {"peer_to_peer_off"}},
    {"slow-node-pairs", {"slow_node"}},
    {"acs-vm", {""}},
    {"nosync-placement", {"unknown", "data_parallel_changed"}},
    {"bn-buffers-nonvlink", {""}},
    {"symm-ldacquire", {""}},
    {"a2a-autograd", {"unknown", "host_overhead"}},
    {"syncbn-hostblock", {"unknown", "host_overhead"}},
    {"a40-2162", {""}},
    {"h100vm-220", {"unknown", "version_changed"}},
    {"mtu-mismatch", {""}},
};

/// What a program printed, even in a file that also has transcribed facts.
std::string printed_lines(const std::string& text) {
  std::string lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (line.find("NCCL INFO") != std::string::npos ||
        line.find("set by environment") != std::string::npos)
      lines += line + "\n";
  return lines;
}

/// One rule for all: two times are steps, and two rates are transfers of a GiB. Pairs form a
/// matrix, and a program's output is the log of the new side.
std::vector<SlowdownCause> causes_of_case(const nlohmann::json& one, const std::string& log) {
  SlowdownEvidence evidence;
  const std::vector<EvidenceText> texts = {
      {.file = one["files"], .text = printed_lines(log), .node = ""}};
  evidence.now = find_problems(read_evidence(texts));
  if (one.contains("other") && one["other"].is_object() && one["other"].contains("pairs")) {
    std::string table;
    for (const auto& [pair, busbw] : one["other"]["pairs"].items())
      table += pair + "," + std::to_string(busbw.get<double>()) + "\n";
    evidence.pairs = judge_pairs(parse_pair_matrix(table, "pairs"));
  }
  const auto& before = one["before"]["value"];
  const auto& after = one["after"]["value"];
  if (!before.is_number() || !after.is_number()) return causes_of_findings(evidence);
  const std::string unit = one["before"]["unit"];
  evidence.all_reduce_only = unit.find("GB/s") != std::string::npos;
  const auto step = [&](double value) {
    if (evidence.all_reduce_only) return Duration::seconds(1.073741824 / value);
    return unit.starts_with("ms") ? Duration::milliseconds(value) : Duration::seconds(value);
  };
  StepBreakdown old = step_alone({step(before.get<double>())});
  StepBreakdown now = step_alone({step(after.get<double>())});
  if (evidence.all_reduce_only)
    for (StepBreakdown* side : {&old, &now})
      std::swap((*side)[StepPart::all_reduce_transfer], (*side)[LossCause::unexplained]);
  return slowdown_causes(difference(old, now), evidence);
}

TEST_CASE(
    "sixteen public regressions: the decided cause comes first, others are among the candidates") {
  std::ifstream file(files::shared_file("data/levers/regressions.json"));
  if (!file) {
    MESSAGE("skipped: the folder of regressions is missing");
    return;
  }
  const nlohmann::json cases = nlohmann::json::parse(file);
  CHECK(cases.size() == kDecidable.size());
  for (const nlohmann::json& one : cases) {
    const std::string id = one["id"];
    CAPTURE(id);
    REQUIRE(kDecidable.contains(id));
    const Decidable& expected = kDecidable.at(id);
    std::ifstream log(
        files::shared_file("data/levers/evidence/" + one["files"].get<std::string>()));
    std::stringstream text;
    text << log.rdbuf();
    const std::vector<SlowdownCause> causes = causes_of_case(one, text.str());
    if (expected.first.empty()) {
      CHECK(causes.empty());
      continue;
    }
    REQUIRE_FALSE(causes.empty());
    CHECK(name_of(causes.front().what) == expected.first);
    CHECK_FALSE(causes.front().decide_by.empty());
    if (!expected.among.empty()) CHECK(has(classes(causes), expected.among));
  }
}

}  // namespace
}  // namespace ddpsim
