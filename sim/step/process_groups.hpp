// Process groups of some of the ranks: those that shard together, and those that hold the same
// shard.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "step_collectives.hpp"

namespace ddpsim {

/// Groups of consecutive ranks: GPUs of one node, or all GPUs of several nodes.
class ProcessGroups {
 public:
  /// Precondition: cannot_group() is absent.
  ProcessGroups(const Job& job, int ranks);

  int ranks() const { return ranks_; }
  /// Number of groups.
  int replicas() const { return job_.cluster().ranks() / ranks_; }

  /// A collective inside each group, in all groups at once.
  StepCollective within(CollectiveKind kind, Bytes size) const;
  /// An all-reduce between the ranks of all groups that hold the same shard. There are as many at
  /// once as a group has ranks. Those of one node share the links that leave it: together they are
  /// no faster than an all-reduce of the whole job.
  StepCollective all_reduce_between(Bytes shard) const;

 private:
  const Job job_;
  int ranks_;
  Job group_;  ///< the job as one group sees it
  /// The job as the ranks with one shard see it.
  Job between_;
};

/// The job as a group of `ranks` ranks sees it. Precondition: cannot_group() is absent.
Job group_of(const Job& job, int ranks);

/// Why this job cannot have groups of `ranks` ranks. `option` is the option that asks for them.
std::optional<std::string> cannot_group(const Job& job, int ranks, const std::string& option);

}  // namespace ddpsim
