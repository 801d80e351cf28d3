// ranks: 1 2
// The program of README.md, which scripts/check_doc_samples.py compares, on a few images.
#include "support/readme_images.hpp"

#if defined(TRIREME_HAVE_HDF5) && defined(TRIREME_HAVE_PROTOZERO)
#include <trireme/trireme.hpp>
namespace tr = trireme;

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);  // MPI and Kokkos for this scope; joins them if already up
  auto strategy = tr::MultiWorkerMirroredStrategy<Kokkos::DefaultExecutionSpace>(environment.world());

  auto model = tr::compile(
      strategy,
      tr::Sequential{tr::Input<28, 28, 1>{}, tr::Conv2D<32, 3, 3, tr::ReLU>{}, tr::MaxPooling2D<2, 2>{},
                     tr::Conv2D<64, 3, 3, tr::ReLU>{}, tr::MaxPooling2D<2, 2>{}, tr::Flatten{},
                     tr::Dropout{.rate = 0.25f}, tr::Dense<64, tr::ReLU>{}, tr::Dense<10>{}},
      tr::Adam{.learning_rate = 1e-3f}, tr::SparseCategoricalCrossentropy{.from_logits = true}, tr::Accuracy{});

  auto train = tr::data::from_tensor_slices(x_train, y_train)  // xtensor containers or expressions, or Kokkos Views
                   .shuffle(10'000, /*seed=*/7)
                   .batch(tr::GlobalBatch{64})
                   .prefetch(2);
  auto test = tr::data::from_tensor_slices(x_test, y_test).batch(tr::GlobalBatch{256});

  auto history = tr::fit(strategy, model, train, tr::validation(test), {.epochs = 10},
                         tr::EarlyStopping<"val_loss">{.patience = 3, .restore_best_weights = true},
                         tr::ReduceLROnPlateau<"val_loss">{.factor = 0.2f, .patience = 2},
                         tr::ModelCheckpoint<"val_accuracy">{.path = "best.weights.h5", .save_best_only = true},
                         tr::TensorBoard{.log_dir = "logs"});
}
#else
int main() {}
#endif
