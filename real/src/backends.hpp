// The backends of this build, by name.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "host_clock.hpp"
#include "reducer_options.hpp"
#include "step_runner.hpp"
#include "store.hpp"
#include "world.hpp"

namespace ddpsim {

struct BackendSetting {
  World world;
  HostClock clock;
  std::chrono::milliseconds timeout;
  bool busy_compute = false;  ///< replayed compute is an amount of work rather than a time
};

/// A machine without what the backend needs: no GPU, say.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct BackendKind {
  std::string name;
  std::string summary;
  /// Why this build lacks it, and what would bring it; empty when it is here.
  std::string missing;
};
std::vector<BackendKind> backend_kinds();

/// Throws Unavailable before any rank is met when the machine cannot run it. Here and below `name`
/// is one of those that are here.
void require_machine(const std::string& name, const World& world);

/// Why it cannot run this, as can be told before any rank starts; empty when it can.
std::string backend_refuses(const std::string& name, const Workload& workload,
                            const ReducerOptions& options);

/// The store must outlive the backend. Throws PeerLost, Unavailable.
std::unique_ptr<RealBackend> make_backend(const std::string& name, StoreClient& store,
                                          const BackendSetting& setting);

// One per optional library; each is defined where the library is.
std::string cpu_gloo_refuses(const Workload& workload, const ReducerOptions& options);
std::string c10d_gloo_refuses(const Workload& workload, const ReducerOptions& options);
std::string cuda_nccl_refuses(const Workload& workload, const ReducerOptions& options);
std::unique_ptr<RealBackend> make_cpu_gloo(StoreClient& store, const BackendSetting& setting);
std::unique_ptr<RealBackend> make_c10d_gloo(StoreClient& store, const BackendSetting& setting);
std::unique_ptr<RealBackend> make_cuda_nccl(StoreClient& store, const BackendSetting& setting);
void require_cuda_nccl(const World& world);

}  // namespace ddpsim
