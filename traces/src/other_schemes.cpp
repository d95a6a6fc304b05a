#include "other_schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace ddpsim {
namespace {

/// Calls end in what they take ("reducescatterbase", "allgatherintotensor"): the beginning tells.
std::int64_t collectives_named(const RecordedStep& step,
                               std::initializer_list<std::string_view> beginnings) {
  return std::ranges::count_if(step.collectives, [&](const Collective& one) {
    return std::ranges::any_of(beginnings, [&](std::string_view beginning) {
      return one.operation.starts_with(beginning);
    });
  });
}

std::string times(std::int64_t count, std::string_view what) {
  return fmt::format("{} {}{} a step", count, what, count == 1 ? "" : "s");
}

}  // namespace

std::string other_scheme(const RecordedStep& step) {
  if (!step.reducer.empty()) return "";
  constexpr std::string_view kNone = "and no all-reduce of gradients:";
  if (const auto scattered = collectives_named(step, {"reducescatter"}); scattered > 0)
    return fmt::format("{} {} they are sharded, as by FSDP, ZeRO or a distributed optimizer",
                       times(scattered, "reduce-scatter"), kNone);
  if (step.other_all_reduces > 0) return "";
  const auto reduced = std::ranges::count(step.collectives, "reduce", &Collective::operation);
  if (reduced > 0)
    return fmt::format("{} {} each goes to one rank, as with ZeRO or a parameter server",
                       times(reduced, "reduce"), kNone);
  if (const auto sent = collectives_named(step, {"send", "recv"}); sent > 0)
    return fmt::format("{} {} a stage of a pipeline", times(sent, "send or receive"), kNone);
  if (const auto others = collectives_named(step, {"allgather", "alltoall"}); others > 0)
    return fmt::format("{} {} tensor or expert parallel ranks, or sharded parameters",
                       times(others, "all-gather or all-to-all"), kNone);
  return "";
}

}  // namespace ddpsim
