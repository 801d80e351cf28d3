// The same models as programs on a PJRT plugin: cases pjrt_mlp_b32 pjrt_cnn_b64 pjrt_transformer_b16 pjrt_lstm_b32 and
// the like.
#include <cstdlib>
#include <string>

#include <trireme/pjrt.hpp>

#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options =
      bench::parse(argc, argv, "Times training steps of mlp, cnn, transformer and lstm on a PJRT plugin");
  char const* const plugin = std::getenv("TRIREME_PJRT_PLUGIN");
  trireme::PjrtStrategy const strategy{.plugin = plugin ? plugin : "pjrt_c_api_cpu_plugin.so"};
  trireme::Adam const adam{.learning_rate = 1e-3};
  for (auto const& name : options.cases)
    if (name.starts_with("pjrt_cnn"))
      bench::train_classifier(strategy, bench::cnn(), adam, name, options);
    else if (name.starts_with("pjrt_transformer"))
      bench::train_classifier(strategy, bench::transformer(), adam, name, options);
    else if (name.starts_with("pjrt_lstm"))
      bench::train_classifier(strategy, bench::lstm(), adam, name, options);
    else
      bench::train_classifier(strategy, bench::mlp(), adam, name, options);
}
