#include "vgg.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {

Model build_model(const std::string& name, const VggShape& shape) {
  constexpr std::array<std::int64_t, 5> kStageChannels = {64, 128, 256, 512, 512};
  constexpr std::int64_t kHidden = 4096;
  ModuleRecorder model(name);
  std::int64_t in = 3;
  int position = 0;  // in `features`, where ReLU and max-pool have places of their own
  for (std::size_t stage = 0; stage < kStageChannels.size(); ++stage) {
    const std::int64_t out = kStageChannels[stage];
    for (int layer = 0; layer < shape.convolutions_per_stage[stage]; ++layer) {
      model.conv2d_with_bias("features." + std::to_string(position), in, out, 3);
      position += 2;
      in = out;
    }
    ++position;
  }
  model.linear("classifier.0", in * 7 * 7, kHidden);
  model.linear("classifier.3", kHidden, kHidden);
  model.linear("classifier.6", kHidden, 1000);
  return std::move(model).finish();
}

}  // namespace ddpsim
