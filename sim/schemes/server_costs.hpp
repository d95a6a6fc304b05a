// What it takes to push a part of the gradients from all workers to its parameter server, and to pull it back.
//
//   push    T = max( s/B, f s/B, (W + U) s/R )   the worker's link, the server's, its processor
//   answer  max( 0, max(s/B, f s/B) + (1 + U) s/R - T ) + latency: of the last gradient that arrived
//   pull    T = max( t/B, f t/B )
//
// W workers, S servers, s bytes of the gradient pushed, t of what is pulled, B the rate of a node's NICs, R that at which a
// server adds up gradients, U optimizer steps counted in additions (below; none where workers step). f = W, of which a
// server on a worker's node finds one there: W - 1. Latency: a message, and what the copy between GPU and host
// takes for one part, s / (g C): g GPUs of a node share it. With the host as the server W GPUs push over links of their own:
// T = max( s/C, (W + U) s/R ) and t/C. Asynchronously each push is applied by itself: W (1 + U) in place of W + U.
//
// A step's volume is P g to servers and P p back for each worker, W (P g + P p) / S for each server. A part keeps its server's link
// for T, whatever else is sent; with S servers as many parts are under way, and a worker's own link is shared by
// them: its load is s/B by worker, and where servers stand on workers' nodes, s/B (S - 1)/S and t/B (W - 1)/S on the
// same link.
//
// An addition reads two numbers and writes one; an optimizer step reads and writes the parameter and its state, and reads the
// gradient: U = (3 + 2 state) / 3, state in parameters.
//
// Assumes all workers push a part at one time, the last one's clock counting, and that a part's bytes keep coming. Sources:
// ps-lite, BytePS's docs (rationale.md, env.md). Latency of a message over TCP: that of gloo's step (GlooLinks); else NCCL's
// hop. With backend gloo B, C and the latency are those of the gloo given, as calibrated. Stops being true where the host's memory is what binds, or PCIe switches that several GPUs share.
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
    Duration transfer;  ///< of its server's link
    Duration volume;    ///< of the links that parts for other servers share
    Duration before;    ///< copy to the host, and message, in front of it …
    Duration after;     ///< … and behind it, or until the server has answered
  };
  Transfer push(Bytes gradient) const;
  Transfer pull(Bytes bytes) const;
  /// In seconds, of a step that moves so many bytes through one server: more than any takes, whatever it comes to.
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
  bool networked_ = false;  ///< servers are on other hosts; else the copy to the host is the link
  Bandwidth
      copies_;  ///< between the GPUs of a node and its host; none of gradients that live there
  Duration message_;
  CostFactors factors_;
};

}  // namespace ddpsim
