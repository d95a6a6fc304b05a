// Describes a long run whose nodes fail.
#pragma once

#include "ddpsim/formats/described.hpp"
#include "ddpsim/sim/elastic/elastic.hpp"

namespace ddpsim {

const Described<ElasticAnswer>& described_elastic();

}  // namespace ddpsim
