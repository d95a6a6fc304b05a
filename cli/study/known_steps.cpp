#include "known_steps.hpp"

#include "ddpsim/sim/step/job_buckets.hpp"

namespace ddpsim {

Partition partition_of(const Job& job) {
  Partition partition;
  for (const Bucket& bucket : buckets_of(job)) partition.push_back(bucket.parameters);
  return partition;
}

std::shared_ptr<KnownSteps::Steps> KnownSteps::at(const Place& place) {
  // More places than threads can work on at once.
  constexpr std::size_t kMost = 256;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Steps>& known = known_[place];
  if (!known) known = std::make_shared<Steps>();
  std::shared_ptr<Steps> steps = known;
  if (known_.size() > kMost) known_.erase(known_.begin());
  return steps;
}

KnownStep KnownSteps::get(const Place& place, std::size_t alike, const Job& job,
                          const std::function<KnownStep()>& simulate) {
  return at(place)->get({alike, partition_of(job)}, simulate);
}

}  // namespace ddpsim
