// A PyTorch default is no finding by itself, even if it costs time: broadcast_buffers, copies in
// and out of buckets. Sources: PyTorch's documentation of DistributedDataParallel, and the warnings
// of its reducer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ddpsim/diagnose/evidence/ddp_facts.hpp"
#include "ddpsim/diagnose/evidence/environment_facts.hpp"
#include "evidence_words.hpp"

namespace ddpsim {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

bool is_set(const DdpFacts& facts, std::string_view key) {
  return facts.integer(key).value_or(0) == 1;
}

std::string place_of(const DdpFacts& facts, std::string_view key) {
  const DdpFacts::Value* value = facts.find(key);
  return value ? value->place : std::string(key);
}

void add_unused(const DdpFacts& facts, std::vector<Finding>& findings) {
  // With a static graph, the reducer looks for unused parameters only once.
  if (is_set(facts, "static_graph")) return;
  const bool looked = is_set(facts, "find_unused_parameters") &&
                      facts.integer("unused_parameter_size") == 0 &&
                      facts.integer("iteration").value_or(0) >= 1;
  if (!looked && !facts.no_unused_parameters) return;
  findings.push_back(
      {.what = CauseClass::find_unused_parameters,
       .says = fmt::format("find_unused_parameters=True, but {} every parameter was used. Each "
                           "step searches the graph in vain and all-reduces a map of used "
                           "parameters, and buckets are never rebuilt in gradient order. Leave it "
                           "out, or set static_graph=True",
                           facts.no_unused_parameters
                               ? "DDP itself says that in its first iteration"
                               : fmt::format("up to iteration {}", *facts.integer("iteration"))),
       .place = facts.no_unused_parameters ? *facts.no_unused_parameters
                                           : place_of(facts, "find_unused_parameters")});
}

void add_static_graph(const DdpFacts& facts, std::vector<Finding>& findings) {
  if (!is_set(facts, "can_set_static_graph") || is_set(facts, "static_graph") ||
      !is_set(facts, "find_unused_parameters"))
    return;
  findings.push_back({.what = CauseClass::static_graph_possible,
                      .says = "DDP says that the graph never changed (can_set_static_graph): with "
                              "static_graph=True it looks for unused parameters only once, not in "
                              "each step",
                      .place = place_of(facts, "can_set_static_graph")});
}

void add_buffers(const DdpFacts& facts, std::vector<Finding>& findings) {
  if (!is_set(facts, "has_sync_bn") || !is_set(facts, "broadcast_buffers")) return;
  findings.push_back(
      {.what = CauseClass::buffers_broadcast,
       .says = "rank 0's buffers are broadcast before each forward, although SyncBatchNorm keeps "
               "its statistics equal on all ranks. If the model has no other buffers, pass "
               "broadcast_buffers=False",
       .place = place_of(facts, "broadcast_buffers")});
}

void add_buckets(const DdpFacts& facts, std::vector<Finding>& findings) {
  const std::vector<std::int64_t> sizes = facts.bucket_sizes();
  const auto cap = facts.integer("bucket_cap_bytes");
  if (sizes.empty() || !cap) return;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes)
    if (__builtin_add_overflow(total, size, &total)) return;
  const auto mebibytes = [](std::int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(kMebibyte);
  };
  if (*cap > 25 * kMebibyte && sizes.size() <= 2 && total >= 100 * kMebibyte)
    findings.push_back(
        {.what = CauseClass::bucket_sizes,
         .says = fmt::format(
             "{:.0f} MiB of gradients are sent in {} bucket{} (bucket_cap_mb={:.0f}). The last "
             "all-reduce begins when backward ends, so little overlaps. `ddpsim tune` finds a cap",
             mebibytes(total), sizes.size(), sizes.size() == 1 ? "" : "s", mebibytes(*cap)),
         .place = place_of(facts, "bucket_cap_bytes")});
  else if (*cap < kMebibyte && sizes.size() >= 32)
    findings.push_back(
        {.what = CauseClass::bucket_sizes,
         .says = fmt::format("{:.1f} MiB of gradients are sent in {} buckets "
                             "(bucket_cap_mb={:.3g}). Each all-reduce adds its latency, whatever "
                             "its size. `ddpsim tune` finds a cap",
                             mebibytes(total), sizes.size(), mebibytes(*cap)),
         .place = place_of(facts, "bucket_cap_bytes")});
}

/// What the logging data says about the environment.
void add_logged_environment(const DdpFacts& facts, std::vector<Finding>& findings) {
  if (const DdpFacts::Value* level = facts.find("torch_distributed_debug"))
    if (auto finding = costly_value(
            {.name = "TORCH_DISTRIBUTED_DEBUG", .value = level->text, .place = level->place}))
      findings.push_back(*std::move(finding));
  if (is_set(facts, "nccl_blocking_wait"))
    findings.push_back({.what = CauseClass::blocking_wait,
                        .says = "NCCL's blocking wait is on. The host waits until a collective "
                                "has ended, so the next launches come late (PyTorch: performance "
                                "overhead). Unset TORCH_NCCL_BLOCKING_WAIT",
                        .place = place_of(facts, "nccl_blocking_wait")});
}

struct Option {
  std::string_view key;
  CauseClass what;
  std::string_view consequence;
  std::string_view costs =
      /// The value that makes no step shorter; nothing is known about the other values.
      {};
};
constexpr std::array kOptions = {
    Option{
        "find_unused_parameters", CauseClass::find_unused_parameters,
        "if 1, each step searches the graph and all-reduces a map of used parameters, and buckets "
        "are never rebuilt",
        "1"},
    Option{"broadcast_buffers", CauseClass::buffers_broadcast,
           "if 1, rank 0's buffers are broadcast before each forward", "1"},
    Option{"bucket_cap_bytes", CauseClass::bucket_sizes,
           "other buckets are sent; `ddpsim tune` compares caps"},
    Option{"gradient_as_bucket_view", CauseClass::bucket_views_off,
           "if 0, each gradient is copied into its bucket and back", "0"},
    Option{"comm_hook", CauseClass::comm_hook,
           "other bytes are sent, and other kernels run around each all-reduce"},
    Option{"static_graph", CauseClass::data_parallel_changed,
           "if 1, the graph is the same in each step: unused parameters are searched once, and "
           "buckets are rebuilt"},
    Option{"has_sync_bn", CauseClass::sync_batchnorm,
           "SyncBatchNorm exchanges statistics in each of its layers", "1"},
    Option{"backend_name", CauseClass::data_parallel_changed, "another library sends"},
    Option{"world_size", CauseClass::data_parallel_changed,
           "compare samples per second per GPU, not steps"},
    Option{"module_name", CauseClass::data_parallel_changed,
           "another module is wrapped: is it the same model?"},
    Option{"dtypes", CauseClass::data_parallel_changed,
           "gradients have other types and so other sizes"},
    Option{"total_parameter_size_bytes", CauseClass::data_parallel_changed,
           "other gradients travel: is it the same model?"},
    Option{"num_parameter_tensors", CauseClass::data_parallel_changed,
           "other gradients travel: is it the same model?"},
    Option{"nccl_version", CauseClass::version_changed,
           "its choices of algorithm, channels and NICs may differ; run the current job with the "
           "old version to see the cost"},
    Option{"nccl_socket_ifname", CauseClass::environment_changed,
           "NCCL's TCP sockets use that interface; set it back to see the cost"},
};

/// The value of a key that is not written: there is no hook, and the graph may change.
std::string_view unwritten(std::string_view key) {
  return key == "comm_hook" ? "none" : key == "static_graph" ? "0" : "";
}

/// Whether the number of parameters or of their bytes differs.
bool is_another_model(const DdpFacts& before, const DdpFacts& after) {
  return std::ranges::any_of(
      std::array<std::string_view, 3>{"module_name", "total_parameter_size_bytes",
                                      "num_parameter_tensors"},
      [&](std::string_view key) {
        const DdpFacts::Value* was = before.find(key);
        const DdpFacts::Value* is = after.find(key);
        return was && is && was->text != is->text;
      });
}

/// Whether DDP searches its graph in every step and never rebuilds its buckets.
bool looks_each_step(const DdpFacts& facts) {
  return is_set(facts, "find_unused_parameters") && !is_set(facts, "static_graph");
}

}  // namespace

std::vector<Finding> ddp_problems(const DdpFacts& facts) {
  std::vector<Finding> findings;
  add_unused(facts, findings);
  add_static_graph(facts, findings);
  add_buffers(facts, findings);
  add_buckets(facts, findings);
  if (facts.strides_differ)
    findings.push_back(
        {.what = CauseClass::gradient_strides,
         .says = "gradients and buckets have different strides, so each gradient is copied "
                 "element by element (PyTorch: may impair performance). Convert the model to its "
                 "memory format before DDP wraps it",
         .place = *facts.strides_differ});
  add_logged_environment(facts, findings);
  return findings;
}

std::vector<Finding> ddp_changes(const DdpFacts& before, const DdpFacts& after) {
  std::vector<Finding> findings;
  if (before.values.empty() || after.values.empty()) return findings;
  for (const Option& option : kOptions) {
    const DdpFacts::Value* was = before.find(option.key);
    const DdpFacts::Value* is = after.find(option.key);
    // An older PyTorch may not know one of the other keys.
    if (unwritten(option.key).empty() && (!was || !is)) continue;
    const std::string old_text = was ? was->text : std::string(unwritten(option.key));
    const std::string new_text = is ? is->text : std::string(unwritten(option.key));
    if (old_text == new_text) continue;
    if (option.what == CauseClass::find_unused_parameters &&
        looks_each_step(before) == looks_each_step(after))
      continue;
    // If both sides search for unused parameters, the static graph decides whether they search only
    // once.
    const bool by_graph =
        option.key == "static_graph" && looks_each_step(before) != looks_each_step(after) &&
        is_set(before, "find_unused_parameters") == is_set(after, "find_unused_parameters");
    findings.push_back(
        {.what = by_graph ? CauseClass::find_unused_parameters : option.what,
         .says = fmt::format("DDP's {} was {} and is {}: {}", option.key, legible(old_text),
                             legible(new_text), option.consequence),
         .place = is ? is->place : std::string(option.key),
         .effect = by_graph
                       ? looks_each_step(after) ? FindingEffect::costs : FindingEffect::relieves
                   : option.costs.empty()     ? FindingEffect::either
                   : new_text == option.costs ? FindingEffect::costs
                                              : FindingEffect::relieves});
  }
  const std::vector<std::int64_t> old_sizes = before.bucket_sizes();
  const std::vector<std::int64_t> new_sizes = after.bucket_sizes();
  const bool said = std::ranges::any_of(
      findings, [](const Finding& f) { return f.what == CauseClass::bucket_sizes; });
  // Buckets of another model differ anyway.
  if (!said && !is_another_model(before, after) && !old_sizes.empty() && !new_sizes.empty() &&
      old_sizes != new_sizes && before.find("rebuilt_bucket_sizes") &&
      after.find("rebuilt_bucket_sizes"))
    findings.push_back(
        {.what = CauseClass::bucket_sizes,
         .says = fmt::format("DDP sent gradients in {} buckets and now sends them in {} others "
                             "with the same cap. PyTorch's rules differ by version, or gradients "
                             "come in another order",
                             old_sizes.size(), new_sizes.size()),
         .place = after.find("rebuilt_bucket_sizes")->place});
  return findings;
}

}  // namespace ddpsim
