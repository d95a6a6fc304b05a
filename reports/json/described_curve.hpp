// A point of the curve that `tune` draws, as its document and its table have it.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/tune/tune.hpp"

namespace ddpsim {

const Described<CurvePoint>& described_curve_point();

}  // namespace ddpsim
