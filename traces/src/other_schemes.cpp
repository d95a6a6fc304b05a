#include "other_schemes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "traced_collectives.hpp"

namespace ddpsim {
namespace {

struct Operation {
  /// Calls may continue with the type of their argument: "allgatherintotensor".
  std::string_view beginning;
  std::string_view words;
};

constexpr Operation kReduceScatter{"reducescatter", "reduce-scatter"};
constexpr Operation kAllReduce{"allreduce", "all-reduce"};
constexpr Operation kAllGather{"allgather", "all-gather"};
constexpr Operation kAllToAll{"alltoall", "all-to-all"};
constexpr Operation kReduce{"reduce", "reduce"};
constexpr Operation kSend{"send", "send or receive"};
constexpr Operation kRecv{"recv", "send or receive"};
/// If one name begins like another, the longer one comes first.
constexpr Operation kKnownOperations[] = {kReduceScatter, kAllReduce, kAllGather, kAllToAll,
                                          kReduce,        kSend,      kRecv};

std::string counted(std::int64_t count, std::string_view words) {
  if (words == kSend.words)
    return fmt::format("{0} send{1} or receive{1}", count, count == 1 ? "" : "s");
  return fmt::format("{} {}{}", count, words, count == 1 ? "" : "s");
}

std::string_view words_of(const Collective& one) {
  const auto known = std::ranges::find_if(kKnownOperations, [&](const Operation& operation) {
    return one.operation.starts_with(operation.beginning);
  });
  return known == std::end(kKnownOperations) ? std::string_view(one.operation) : known->words;
}

/// When the host called a collective.
enum class Phase { forward, backward, behind };

class TracedScheme {
 public:
  TracedScheme(const TraceRecords& records, const RecordedStep& step, std::optional<int> world_size)
      : records_(records), step_(step), world_size_(world_size) {
    // A job of one rank launches no kernels, so only its calls count.
    traffic_ = step.collectives.empty() ? step.calls : step.collectives;
  }

  std::string sentence() const {
    for (const std::string& found : {by_name(), sharded(), in_part()})
      if (!found.empty()) return found;
    if (!step_.reducer.empty()) return "";
    for (const std::string& found : {without_all_reduce(), model_parallel()})
      if (!found.empty()) return found;
    return "";
  }

 private:
  std::int64_t called_ns(const Collective& one) const {
    return step_.collectives.empty() ? one.start_ns : one.launch_ns;
  }
  Phase phase(const Collective& one) const {
    if (called_ns(one) < step_.backward_called_ns) return Phase::forward;
    return called_ns(one) < step_.backward_returned_ns ? Phase::backward : Phase::behind;
  }
  std::vector<Collective> all(const Operation& operation) const {
    std::vector<Collective> found;
    std::ranges::copy_if(traffic_, std::back_inserter(found), [&](const Collective& one) {
      return words_of(one) == operation.words && !one.integers;
    });
    return found;
  }
  std::int64_t count(const Operation& operation) const { return std::ssize(all(operation)); }
  /// All-reduces of backward, including those in hooks after the last node.
  std::int64_t all_reduces_of_backward() const {
    return std::ssize(step_.reducer) + step_.other_all_reduces;
  }
  std::int64_t count(const Operation& operation, Phase wanted) const {
    return std::ranges::count_if(all(operation),
                                 [&](const Collective& one) { return phase(one) == wanted; });
  }
  std::string times(const Operation& operation) const {
    return counted(count(operation), operation.words) + " a step";
  }
  bool has(NamedScheme scheme) const { return !records_.named(scheme).empty(); }

  std::string by_name() const;
  std::string sharded() const;
  std::string in_part() const;
  std::string without_all_reduce() const;
  std::string model_parallel() const;
  std::string who_shards() const;
  bool like_horovod() const;

  const TraceRecords& records_;
  const RecordedStep& step_;
  std::optional<int> world_size_;
  std::vector<Collective> traffic_;
};

/// Schemes that a name alone identifies.
std::string TracedScheme::by_name() const {
  const auto seen = [&](NamedScheme scheme) {
    return fmt::format("(\"{}\" is in the trace)", records_.named(scheme));
  };
  const bool hybrid = count(kReduceScatter) > 0 && all_reduces_of_backward() > 0;
  const std::string how =
      hybrid ? "it shards gradients within a group and all-reduces them between groups (HSDP)"
             : "it shards parameters and gradients";
  if (has(NamedScheme::fsdp))
    return fmt::format("FullyShardedDataParallel ran {}: {}", seen(NamedScheme::fsdp), how);
  const bool shards = count(kReduceScatter) + count(kAllGather) > 0;
  if (has(NamedScheme::fsdp2) && !shards && all_reduces_of_backward() > 0)
    return fmt::format(
        "replicate, or fully_shard in groups of one rank, ran {}: it all-reduces the gradients of "
        "each module",
        seen(NamedScheme::fsdp2));
  if (has(NamedScheme::fsdp2))
    return fmt::format("FSDP 2, fully_shard, ran {}: {}", seen(NamedScheme::fsdp2), how);
  if (has(NamedScheme::horovod))
    return fmt::format("Horovod ran {}: it fuses and all-reduces gradients by rules of its own",
                       seen(NamedScheme::horovod));
  if (has(NamedScheme::data_parallel) && records_.devices() > 1)
    return fmt::format(
        "DataParallel ran {} on {} GPUs: one process copies the model to all of them and gathers "
        "the gradients on one",
        seen(NamedScheme::data_parallel), records_.devices());
  return "";
}

std::string TracedScheme::who_shards() const {
  const bool parameters =
      count(kAllGather, Phase::forward) + count(kAllGather, Phase::backward) > 0;
  const bool updated = count(kAllGather, Phase::behind) > 0;
  if (has(NamedScheme::deepspeed))
    return parameters ? "by DeepSpeed's ZeRO 3" : "by DeepSpeed's ZeRO 1 or 2";
  if (has(NamedScheme::megatron)) return "by Megatron-LM's distributed optimizer";
  if (parameters) return "as by FSDP or ZeRO 3, which gather parameters in forward and backward";
  if (updated)
    return "as by ZeRO 1 or 2 or Megatron-LM's distributed optimizer, which gather parameters "
           "after the optimizer";
  return "as by FSDP, ZeRO or a distributed optimizer";
}

/// Reports sharded gradients. If DDP itself ran, they belong to something else, such as TorchRec's
/// embeddings.
std::string TracedScheme::sharded() const {
  if (records_.ddp_hooks() && !step_.reducer.empty()) return "";
  constexpr std::string_view kNone = "and no all-reduce of gradients";
  if (count(kReduceScatter) > 0) {
    const std::int64_t reduced = all_reduces_of_backward();
    if (reduced > 0)
      return fmt::format(
          "{} and {} in backward: gradients are sharded within a group and all-reduced between "
          "groups, as by hybrid FSDP (HSDP) or ZeRO",
          times(kReduceScatter), counted(reduced, kAllReduce.words));
    return fmt::format("{} {}: they are sharded, {}", times(kReduceScatter), kNone, who_shards());
  }
  std::vector<Collective> gathered = all(kAllGather);
  std::erase_if(gathered, [&](const Collective& one) { return phase(one) != Phase::behind; });
  if (!carry_gradients(gathered, step_)) return "";
  // The parts of all ranks together make up the parameters. A gather for a metric is smaller.
  const auto part =
      static_cast<double>(elements_of(gathered).value_or(0)) * world_size_.value_or(1);
  const auto whole = static_cast<double>(elements_of(step_.reducer).value_or(0));
  if (part < whole) return "";
  return fmt::format("{} after backward: each rank updates its own part of the parameters, {}",
                     counted(std::ssize(gathered), kAllGather.words), who_shards());
}

/// Reports gradients that only some of the ranks all-reduce. Then the other ranks hold another part
/// of the model.
std::string TracedScheme::in_part() const {
  const auto part = std::ranges::find_if(step_.reducer, [&](const Collective& one) {
    return world_size_ && one.group_size > 0 && one.group_size < *world_size_;
  });
  if (part == step_.reducer.end()) return "";
  const std::string among =
      fmt::format("gradients are all-reduced among {} of {} ranks{}", part->group_size,
                  *world_size_, part->group.empty() ? "" : fmt::format(" (group {})", part->group));
  if (count(kAllToAll) > 0)
    return fmt::format("{}, beside {}: expert parallel", among, times(kAllToAll));
  if (count(kSend) > 0)
    return fmt::format("{}, beside {}: a stage of a pipeline", among, times(kSend));
  if (const std::int64_t others = count(kAllReduce, Phase::forward) + step_.other_all_reduces;
      others > 0)
    return fmt::format("{}, beside {} a step between layers: tensor parallel", among,
                       counted(others, kAllReduce.words));
  return among + ": the others hold other parts of the model (tensor, pipeline or expert parallel)";
}

std::string TracedScheme::without_all_reduce() const {
  constexpr std::string_view kNone = "and no all-reduce of gradients:";
  if (count(kReduce) > 0)
    return fmt::format("{} {} each goes to one rank, as with ZeRO or a parameter server",
                       times(kReduce), kNone);
  if (count(kSend) > 0) return fmt::format("{} {} a stage of a pipeline", times(kSend), kNone);
  if (count(kAllToAll) > 0)
    return fmt::format("{} {} expert parallel, or sharded embeddings, without data parallel ranks",
                       times(kAllToAll), kNone);
  return "";
}

/// Whether threads that neither call backward nor run it launch the all-reduces, without calls of
/// torch.distributed.
bool TracedScheme::like_horovod() const {
  return records_.calls().empty() &&
         std::ranges::any_of(step_.collectives, [&](const Collective& one) {
           return one.operation == "allreduce" && !records_.is_autograd_thread(one.thread) &&
                  !records_.is_calling_thread(one.thread);
         });
}

std::string TracedScheme::model_parallel() const {
  if (like_horovod())
    return fmt::format(
        "{} from a thread of their own, without torch.distributed: as Horovod calls them",
        times(kAllReduce));
  const std::int64_t forward = count(kAllReduce, Phase::forward);
  if (!records_.ddp_hooks() && forward + step_.other_all_reduces > 1)
    return fmt::format(
        "{} a step in forward and {} inside nodes of backward, none of gradients: tensor parallel "
        "ranks",
        counted(forward, kAllReduce.words), step_.other_all_reduces);
  if (count(kAllGather) > 0)
    return fmt::format(
        "{} and no all-reduce of gradients: tensor parallel ranks, or sharded parameters",
        times(kAllGather));
  return "";
}

}  // namespace

std::string other_scheme(const TraceRecords& records, const RecordedStep& step,
                         const TraceHeader& header) {
  return TracedScheme(records, step, header.world_size).sentence();
}

std::string collectives_beside(const RecordedStep& step) {
  const auto same = [](const Collective& one, const Collective& other) {
    return one.launch_ns == other.launch_ns && one.start_ns == other.start_ns;
  };
  const auto is_ddps = [&](const Collective& one) {
    const auto among = [&](const std::vector<Collective>& list) {
      return std::ranges::any_of(list, [&](const Collective& own) { return same(own, one); });
    };
    return among(step.reducer) || among(step.broadcasts) ||
           (one.integers && one.operation == "allreduce");
  };
  std::map<std::pair<std::string, std::string>, std::int64_t> counts;
  for (const Collective& one : step.collectives) {
    if (is_ddps(one)) continue;
    const std::string ranks = one.group_size > 0 ? fmt::format(" ({} ranks)", one.group_size) : "";
    const std::string group =
        one.group.empty() ? "" : fmt::format(" of group {}{}", one.group, ranks);
    ++counts[{std::string(words_of(one)), group}];
  }
  std::vector<std::string> parts;
  for (const auto& [which, count] : counts)
    parts.push_back(counted(count, which.first) + which.second);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace ddpsim
