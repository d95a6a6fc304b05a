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
  bool busy_compute = false;  ///< replayed compute is a fixed amount of work
};

/// The machine lacks what the backend needs, for example a GPU.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct BackendKind {
  std::string name;
  std::string summary;
  /// Why this build lacks the backend, and how to get it; empty if it is available.
  std::string missing;
};
std::vector<BackendKind> backend_kinds();

/// Throws Unavailable before any rank connects if the machine cannot run the backend. Here and
/// below, `name` is a backend that this build has.
void require_machine(const std::string& name, const World& world);

/// Why the backend cannot run this, as far as is known before any rank starts; empty if it can.
std::string backend_refuses(const std::string& name, const Workload& workload,
                            const ReducerOptions& options);

/// The store must outlive the backend. Throws PeerLost and Unavailable.
std::unique_ptr<RealBackend> make_backend(const std::string& name, StoreClient& store,
                                          const BackendSetting& setting);

// One function for each optional library, defined in the file that uses the library.
std::string cpu_gloo_refuses(const Workload& workload, const ReducerOptions& options);
std::string c10d_gloo_refuses(const Workload& workload, const ReducerOptions& options);
std::string cuda_nccl_refuses(const Workload& workload, const ReducerOptions& options);
std::unique_ptr<RealBackend> make_cpu_gloo(StoreClient& store, const BackendSetting& setting);
std::unique_ptr<RealBackend> make_c10d_gloo(StoreClient& store, const BackendSetting& setting);
std::unique_ptr<RealBackend> make_cuda_nccl(StoreClient& store, const BackendSetting& setting);
void require_cuda_nccl(const World& world);

}  // namespace ddpsim
