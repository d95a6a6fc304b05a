// Describes what ddpsim.result/1 says about batches: a DataLoader, an epoch, and Join.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/data/data_supply.hpp"
#include "ddpsim/sim/data/epoch.hpp"

namespace ddpsim {

const Described<DataSupply>& described_data();
const Described<Epoch>& described_epoch();
const Described<JoinedEpoch>& described_join();

}  // namespace ddpsim
