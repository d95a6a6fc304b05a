// Time to push a part of the gradients from all workers to its parameter server, and to pull it
// back.
//
// - push: T = max( s/B, f s/B, (W + U) s/R ), limited by the worker's link, the server's link, or
//   the server's processor
// - answer, after the last gradient arrived: max( 0, max(s/B, f s/B) + (1 + U) s/R - T ) + latency
// - pull: T = max( t/B, f t/B )
//
// The symbols are:
// - W workers, S servers
// - s bytes of a pushed gradient, t bytes of what is pulled
// - B rate of a node's NICs, R rate at which a server adds up gradients
// - U optimizer steps counted in additions (below); 0 if workers step
// - f = W, or W - 1 if the server's own node has a worker
//
// The latency is that of a message plus the copy between GPU and host for one part, s / (g C),
// where g GPUs of a node share it. If the host is the server, W GPUs push over their own links: T =
// max( s/C, (W + U) s/R ) and t/C. Asynchronous pushes are applied one by one: W (1 + U) replaces W
// + U.
//
// In a step each worker sends P g bytes to servers and receives P p; each server moves W (P g + P
// p) / S. A part occupies its server's link for T, whatever else is sent. With S servers, S parts
// are in flight and share a worker's own link. The load on that link is s/B by each worker. If
// servers share the workers' nodes, it is s/B (S - 1)/S plus t/B (W - 1)/S.
//
// An addition reads two numbers and writes one. An optimizer step reads the gradient, and reads and
// writes the parameter and its state. So U = (3 + 2 state) / 3, with the state counted in
// parameters.
//
// Assumptions: all workers push a part at the same time, set by the last one, and the bytes of a
// part arrive without gaps. Sources: ps-lite and BytePS's docs (rationale.md, env.md). A message
// over TCP has the latency of gloo's step (GlooLinks); otherwise it is that of NCCL's hop. With
// backend gloo, B, C and the latency come from the given gloo calibration. The model does not hold
// if the host's memory is the limit, or PCIe switches that several GPUs share.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/values/scheme.hpp"

namespace ddpsim {

class ServerCosts {
 public:
  ServerCosts(const Job& job, const ParameterServer& scheme);

  int workers() const { return workers_; }
  int servers() const { return servers_; }

  struct Transfer {
    Duration transfer;  ///< on its server's link
    /// Time on the links that parts for other servers share.
    Duration volume;
    /// Copy to the host and message, before the transfer.
    Duration before;
    /// Copy and message after the transfer, or the time until the server has answered.
    Duration after;
  };
  Transfer push(Bytes gradient) const;
  Transfer pull(Bytes bytes) const;
  /// Upper bound in seconds for a step that moves `bytes` bytes through one server.
  double seconds_at_most(double bytes) const;

 private:
  Duration additions(Bytes bytes, double count) const;
  Duration copied(Bytes bytes) const;

  bool free_ = false;  ///< collectives take no time
  bool colocated_ = false;
  int workers_ = 1;
  int servers_ = 1;
  double updates_ = 0;  ///< U
  double applied_ = 1;  ///< W + U, or W (1 + U)
  Bandwidth link_;      ///< B, of a worker
  Bandwidth server_link_;
  Bandwidth additions_;
  /// Whether servers are on other hosts. Otherwise the copy to the host is the link.
  bool networked_ = false;
  /// Rate between the GPUs of a node and its host. Unset if gradients live on the host.
  Bandwidth copies_;
  Duration message_;
  CostFactors factors_;
};

}  // namespace ddpsim
