// How stale what a worker computes with is under asynchronous parameter servers: updates by other workers between its pull and
// the update its push becomes, counted in a simulation of workers that wait for nobody.
//
//   period of worker w in step i = what its step takes beside compute + compute x draw(w, i)
//
// draws as rank_variation.hpp has them (--jitter, --straggler), of a node the slowest of its GPUs; a worker pulls when its
// push has been applied, and several that end at one instant are applied in the order of workers. Workers begin evenly apart.
// Equal ones without jitter see each other's updates once a period: staleness is W - 1. Several seeds from the job's on; the first
// periods are left out. It says nothing of whether training converges.
#pragma once

#include "ddpsim/sim/collectives/job.hpp"
#include "ddpsim/sim/step/result.hpp"

namespace ddpsim {

/// Of a job whose one worker takes `times`; absent where workers wait for each other.
std::optional<Staleness> staleness_of(const Job& job, const StepTimes& times);

}  // namespace ddpsim
