// What public evidence of regressions decides and what it does not, listed by hand before the
// program read it. The logs are named in regressions.json; every open log of all_reduce_perf is
// checked too, healthy or slow.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "data_files.hpp"
#include "ddpsim/diagnose/evidence/evidence.hpp"
#include "ddpsim/formats/files.hpp"

using namespace ddpsim;

namespace {

using Classes = std::set<CauseClass>;

Evidence evidence_of_file(const std::filesystem::path& path) {
  const std::vector<EvidenceText> texts = {
      {.file = path.filename().string(), .text = read_file(path, 64 << 20), .node = {}}};
  return read_evidence(texts);
}

std::string all_said(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings)
    lines.push_back(fmt::format("{} [{}] {}", name_of(finding.what), finding.place, finding.says));
  return fmt::format("{}", fmt::join(lines, "\n"));
}

struct DecidedCase {
  std::string id;
  char tier;
  /// What its file can decide, and why.
  Classes decided;
  std::string why;
};

const std::vector<DecidedCase>& decided_cases() {
  static const std::vector<DecidedCase> kCases = {
      {"one-node-no-peermem",
       'B',
       {CauseClass::gpudirect_one_side},
       "sender with /GDRDMA, receiver without: one end alone"},
      {"p2p-level-loc",
       'B',
       {CauseClass::peer_to_peer_off},
       "NCCL_P2P_LEVEL set by environment to LOC; the other lines are prose"},
      {"leonardo-ring-pxn",
       'A',
       {CauseClass::topology_search_failed},
       "the warnings under NCCL_ALGO=Tree; ring, tree and ports are prose, no lines of NCCL"},
      {"pcie-gen2-stuck", 'B', {}, "no reading of a link: figures of it alone, in a document"},
      {"acs-vm", 'B', {}, "no ACSCtl: figures alone"},
      {"bn-buffers-nonvlink", 'B', {}, "no logging data: the dumps are lost"},
      {"symm-ldacquire", 'B', {}, "no versions, no table: images"},
      {"mtu-mismatch", 'B', {}, "no MTU and no line of NCCL: the error is named, not quoted"},
      {"openmp-collate", 'A', {}, "wall times alone"},
      {"pytorch11-imagenet", 'C', {}, "epoch and data times alone"},
      {"slow-node-pairs", 'C', {}, "a pair matrix, for whoever reads pairs"},
      {"nosync-placement", 'A', {}, "step times alone"},
      {"a2a-autograd", 'A', {}, "step times alone"},
      {"syncbn-hostblock", 'A', {}, "figures alone"},
      {"a40-2162", 'C', {}, "two versions named, nothing of either"},
      {"h100vm-220", 'C', {}, "bandwidths by version and topology file alone"}};
  return kCases;
}

Classes classes_of(const std::vector<Finding>& findings) {
  Classes classes;
  for (const Finding& finding : findings) classes.insert(finding.what);
  return classes;
}

}  // namespace

TEST_CASE("evidence: each public regression's file gives exactly what it can decide") {
  const std::string folder = files::shared_file("data/levers/evidence");
  if (!std::filesystem::exists(folder)) {
    MESSAGE("skipped: the folder of regressions is missing");
    return;
  }
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    (void)entry;
    ++files;
  }
  CHECK(files == decided_cases().size());
  for (const DecidedCase& known : decided_cases()) {
    CAPTURE(known.id);
    CAPTURE(known.why);
    const std::vector<Finding> findings =
        find_problems(evidence_of_file(std::filesystem::path(folder) / (known.id + ".txt")));
    CAPTURE(all_said(findings));
    CHECK(classes_of(findings) == known.decided);
    for (const Finding& finding : findings) {
      CHECK(finding.place.starts_with(known.id + ".txt:"));
      MESSAGE(name_of(finding.what), ": ", finding.says);
    }
  }
}

TEST_CASE("evidence: open logs of all_reduce_perf raise no false alarm") {
  // Settings that logs print themselves are valid findings. Nothing else may be reported.
  std::size_t read = 0;
  std::size_t with_nccl_lines = 0;
  std::vector<std::string> said;
  for (const std::string folder :
       {"data/nccl-tests", "data/nccl-tests-more", "data/published-scaling"}) {
    const std::string path = files::shared_file(folder);
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() != ".txt") continue;
      ++read;
      const Evidence evidence = evidence_of_file(entry.path());
      with_nccl_lines += evidence.nccl.lines > 0 ? 1 : 0;
      for (const Finding& finding : find_problems(evidence))
        said.push_back(fmt::format("{}: {}", finding.place, finding.says));
    }
  }
  if (read == 0) {
    MESSAGE("skipped: no logs beside the checkout");
    return;
  }
  std::sort(said.begin(), said.end());
  MESSAGE(read, " logs read, ", with_nccl_lines, " of them with NCCL INFO lines, ", said.size(),
          " findings:\n", fmt::format("{}", fmt::join(said, "\n")));
  CHECK(said.empty());
}
