// Finds the GPU model of a topology in XML: from the user's word, the PCI device id, or the compute
// capability.
#pragma once

#include <optional>
#include <vector>

#include "nccl_xml.hpp"
#include "xml_text.hpp"

namespace ddpsim {

/// `gpus` are their <pci> elements, at least one. Fills gpu, card and doubts of `out`; `out.dump`
/// must be set.
void decide_gpu_model(const XmlText& xml, const std::vector<pugi::xml_node>& gpus,
                      const std::optional<GpuModel>& stated, XmlNode& out);

}  // namespace ddpsim
