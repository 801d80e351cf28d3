// The models of the table as programs on a PJRT plugin: cases pjrt_mlp_b32 and the like.
#include <cstdlib>
#include <string>

#include <trireme/pjrt.hpp>

#include "workloads.hpp"

int main(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps on a PJRT plugin");
  char const* const plugin = std::getenv("TRIREME_PJRT_PLUGIN");
  trireme::PjrtStrategy const strategy{.plugin = plugin ? plugin : "pjrt_c_api_cpu_plugin.so"};
  trireme::Adam const adam{.learning_rate = 1e-3};
  for (auto const& name : options.cases) {
    std::string const model = bench::model_of(name, "pjrt_");
    if (model == "mlp")
      bench::train_classifier(strategy, bench::mlp(), adam, name, options);
    else if (model == "cnn")
      bench::train_classifier(strategy, bench::cnn(), adam, name, options);
    else if (model == "wide")
      bench::train_classifier(strategy, bench::wide(), trireme::SGD{.learning_rate = 1e-3, .momentum = 0.9}, name,
                              options);
    else if (model == "surrogate")
      bench::train_surrogate(strategy, name, options);
    else if (model == "transformer")
      bench::train_classifier(strategy, bench::transformer(), adam, name, options);
    else if (model == "lstm")
      bench::train_classifier(strategy, bench::lstm(), adam, name, options);
    else
      bench::train_deep(strategy, model, name, options);
  }
}
