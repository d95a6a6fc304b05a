// Any text as a data loader or as uneven inputs gives values within their limits, or a UsageError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "batches.hpp"
#include "data_loader_arguments.hpp"
#include "ddpsim/formats/usage_error.hpp"
#include "epoch_arguments.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const ddpsim::DataLoader loader = ddpsim::parse_data_loader(text);
    if (!loader.batch && !loader.sample && !loader.storage) std::abort();
    if (loader.num_workers < 0 || loader.prefetch_factor < 1) std::abort();
    if (!(loader == ddpsim::parse_data_loader(text))) std::abort();
  } catch (const ddpsim::UsageError&) {
  }
  try {
    ddpsim::DataRequest request;
    ddpsim::set_epoch({.uneven_inputs = text}, request);
    const ddpsim::UnevenInputs inputs = ddpsim::uneven_inputs(request.uneven.value(), 4);
    if (inputs.least < 0 || inputs.least > inputs.most) std::abort();
    if (inputs.total < 3 * inputs.least + inputs.most ||
        inputs.total > inputs.least + 3 * inputs.most)
      std::abort();
  } catch (const ddpsim::UsageError&) {
  }
  return 0;
}
