// What PCIe carries where nobody stated it.
#pragma once

namespace ddpsim {

/// GB/s: the line rate of the slot of a GPU of this generation, 16 lanes after 128/130 coding.
double pcie_nominal_of_generation(int compute_capability);

}  // namespace ddpsim
