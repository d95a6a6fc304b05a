#include "alexnet.hpp"

#include <utility>

#include "module_recorder.hpp"

namespace ddpsim {

Model build_model(const std::string& name, const AlexNetShape& /*shape*/) {
  ModuleRecorder model(name);
  model.conv2d_with_bias("features.0", 3, 64, 11);
  model.conv2d_with_bias("features.3", 64, 192, 5);
  model.conv2d_with_bias("features.6", 192, 384, 3);
  model.conv2d_with_bias("features.8", 384, 256, 3);
  model.conv2d_with_bias("features.10", 256, 256, 3);
  model.linear("classifier.1", 256 * 6 * 6, 4096);
  model.linear("classifier.4", 4096, 4096);
  model.linear("classifier.6", 4096, 1000);
  return std::move(model).finish();
}

}  // namespace ddpsim
