// PCIe rate that is assumed if none is stated.
#pragma once

namespace ddpsim {

/// GB/s of the slot of a GPU with this compute capability: 16 lanes after 128/130 coding.
double pcie_nominal_of_generation(int compute_capability);

}  // namespace ddpsim
