// Process groups that hold some of the ranks: those that shard together, and those that hold the same shard.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "step_collectives.hpp"

namespace ddpsim {

/// So many ranks that follow each other: GPUs of one node, or all of some nodes.
class ProcessGroups {
 public:
  /// Precondition: cannot_group() is absent.
  ProcessGroups(const Job& job, int ranks);

  int ranks() const { return ranks_; }
  /// How many there are.
  int replicas() const { return job_.cluster().ranks() / ranks_; }

  /// Inside each group, all groups at once.
  StepCollective within(CollectiveKind kind, Bytes size) const;
  /// Between those ranks of all groups that hold the same shard: as many all-reduces at once as a group has ranks. Those
  /// of one node share what leaves it: together they are no faster than an all-reduce of the whole job.
  StepCollective all_reduce_between(Bytes shard) const;

 private:
  const Job job_;
  int ranks_;
  Job group_;    ///< as one group sees it
  Job between_;  ///< as the ranks of one shard do
};

/// What a group of so many sees. Precondition: cannot_group() is absent.
Job group_of(const Job& job, int ranks);

/// Why groups of so many ranks are not to be had of this job; `option` names who asked.
std::optional<std::string> cannot_group(const Job& job, int ranks, const std::string& option);

}  // namespace ddpsim
