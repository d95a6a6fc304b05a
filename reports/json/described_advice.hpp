// What is advised, as a part of several documents.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/tune/advise.hpp"

namespace ddpsim {

/// A predicted value and its interval, as they are printed: the key of the whole names the unit.
struct ShownInterval {
  NumberToken value;
  NumberToken low;
  NumberToken high;
};
/// In microseconds.
ShownInterval shown_interval(const Gain& gain);
const Described<ShownInterval>& described_interval();

const Described<AdviceRow>& described_advice_row();

}  // namespace ddpsim
