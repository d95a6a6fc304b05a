#include "compiled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "ddpsim/sim/values/size_text.hpp"

namespace ddpsim {
namespace {

constexpr TorchVersion kTorchCompile{2, 0};   // DDPOptimizer with it: pull request 87549
constexpr TorchVersion kPythonReducer{2, 3};  // pull requests 110662, 113209

/// Module of the parameter. Empty if it is the root's, since each of those is used by itself.
std::string_view module_of(const Parameter& parameter) {
  const std::string_view name = parameter.name;
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? std::string_view() : name.substr(0, dot);
}

bool of_one_operation(const Parameter& a, const Parameter& b) {
  return !module_of(a).empty() && module_of(a) == module_of(b);
}

bool recorded_compiled(const Workload& workload) {
  return workload.recorded_with.compiled_gradients > 0 ||
         std::ranges::any_of(workload.ranks, [](const RankRecording& rank) {
           return rank.recorded_with.compiled_gradients > 0;
         });
}

std::optional<std::string> cannot_cut(const DdpOptions& ddp) {
  const CutLimits limits = piece_limits(ddp);
  if (limits.first <= limits.cap) return std::nullopt;
  return fmt::format(
      "DDPOptimizer fails if the first bucket's limit, {}, is above the cap, {}. Raise "
      "--bucket-cap-mb, lower torch.distributed._DEFAULT_FIRST_BUCKET_BYTES (--first-bucket-mb), "
      "or use optimize_ddp=no_optimization",
      size_text(limits.first), size_text(limits.cap));
}

std::optional<std::string> cannot_fuse(const Workload& workload) {
  const Parameter* first = nullptr;
  for (const Parameter& parameter : workload.parameters) {
    if (!is_reduced(parameter)) continue;
    if (first == nullptr) first = &parameter;
    if (parameter.dtype == first->dtype) continue;
    return fmt::format(
        "{} is {} and {} is {}, but Inductor only fuses all-reduces of one type "
        "(_fuse_ddp_communication). Use another value of optimize_ddp",
        first->name, name_of(first->dtype), parameter.name, name_of(parameter.dtype));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> piece_ends(const Workload& workload, const Recorded& recorded,
                                    const CutLimits& limits) {
  const std::vector<ReadyEvent>& ready = recorded.backward->ready;
  const auto parameter = [&](std::size_t k) -> const Parameter& {
    return workload.parameters[ready[k].parameter];
  };
  std::vector<std::size_t> ends;
  Bytes held;
  for (std::size_t k = 0; k < ready.size(); ++k) {
    const bool begins = k == 0 || !of_one_operation(parameter(k - 1), parameter(k));
    if (begins && k > 0 && held >= (ends.empty() ? limits.first : limits.cap)) {
      ends.push_back(k);
      held = Bytes();
    }
    if (!parameter(k).ignored) held += gradient_bytes(parameter(k)).value_or(Bytes());
  }
  // A last piece without parameters of DDP belongs to the one before it.
  if (held == Bytes() && !ends.empty()) ends.pop_back();
  ends.push_back(ready.size());
  return ends;
}

std::vector<std::size_t> piece_ends(const Job& job, const Recorded& recorded) {
  const Compiled* compiled = compiled_pieces(job.options().scheme);
  if (compiled == nullptr || compiled->optimize_ddp == OptimizeDdp::no_optimization)
    return {recorded.backward->ready.size()};
  return piece_ends(job.workload(), recorded, piece_limits(job.options().ddp()));
}

std::optional<std::string> cannot_compile(const Job& job) {
  const Compiled& compiled = std::get<Compiled>(job.options().scheme);
  const DdpOptions& ddp = job.options().ddp();
  const bool python = !compiled.in_pieces();
  const TorchVersion first = python ? kPythonReducer : kTorchCompile;
  if (job.options().torch < first)
    return fmt::format("PyTorch {} has no {} (it came with {}). State your version with --torch",
                       to_string(job.options().torch), python ? "python_reducer" : "torch.compile",
                       to_string(first));
  if (recorded_compiled(job.workload()))
    return "the workload was recorded under torch.compile, so its gradients come out together and "
           "it does not show how long each takes. Record a step without compiling, or leave out "
           "--scheme compiled";
  if (ddp.sync_batchnorm)
    return "SyncBatchNorm communicates in the middle of the compiled graph and breaks it, which is "
           "not simulated. Leave out --sync-batchnorm or --scheme compiled";
  if (python) return cannot_fuse(job.workload());
  return compiled.optimize_ddp == OptimizeDdp::ddp_optimizer ? cannot_cut(ddp) : std::nullopt;
}

}  // namespace ddpsim
