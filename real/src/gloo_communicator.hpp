// gloo over TCP, used as ProcessGroupGloo uses it. Two worker threads run the queued collectives in
// order, so two buckets can be in flight. Each collective is gloo's segmented ring.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "communicator.hpp"
#include "host_clock.hpp"
#include "store.hpp"

namespace gloo {
class Context;
}

namespace ddpsim {

class GlooCommunicator : public Communicator {
 public:
  /// `address` is the address of this process at which peers reach it. Throws PeerLost.
  GlooCommunicator(StoreClient& store, const std::string& address, int rank, int ranks,
                   HostClock clock, std::chrono::milliseconds timeout);
  ~GlooCommunicator() override;
  std::vector<std::pair<std::string, std::string>> description() const override;
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  WorkId all_reduce(Region region) override;
  WorkId all_reduce_and_decompress(Region region, Region wide) override;
  WorkId broadcast(Region region) override;
  void wait(WorkId work) override;
  CollectiveTimes times_of(WorkId work) override;
  void forget_works() override;

 private:
  enum class Operation { all_reduce, broadcast };
  struct Work {
    Operation operation = Operation::all_reduce;
    Region region;
    Region wide;  ///< destination of the cast; without data: none
    std::uint32_t tag = 0;
    bool done = false;
    std::string error;
    CollectiveTimes times;
  };
  WorkId launch(Operation operation, Region region, Region wide = {});
  void run_in_order();
  void run(Work& work);

  int rank_;
  int ranks_;
  HostClock clock_;
  std::string address_;
  std::shared_ptr<gloo::Context> context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /// One entry per collective. A deque keeps their addresses valid.
  std::deque<Work> works_;
  std::size_t next_ = 0;  ///< first collective that no worker has begun
  std::uint32_t tag_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ddpsim
