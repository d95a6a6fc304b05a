// Which GPUs a topology in XML is of: by the word beside the file, by PCI device id, by compute capability.
#pragma once

#include <optional>
#include <vector>

#include "nccl_xml.hpp"
#include "xml_text.hpp"

namespace ddpsim {

/// `gpus`: their <pci>s, at least one. Fills gpu, card and doubts of `out`, whose `dump` is known.
void decide_gpu_model(const XmlText& xml, const std::vector<pugi::xml_node>& gpus,
                      const std::optional<GpuModel>& stated, XmlNode& out);

}  // namespace ddpsim
