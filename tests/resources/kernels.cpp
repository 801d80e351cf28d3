// Every kernel of a training step, for scripts/kernel_resources.py: registers, spills and shared memory as the compiler
// states them. The program also runs, on any space: one epoch of four models.
#include <trireme/trireme.hpp>

namespace tr = trireme;

namespace {

template <class P = float, class Architecture, class Optimizer, class Loss, class Data, class... Callbacks>
void train(Architecture const& architecture, Optimizer const& optimizer, Loss const& loss, Data const& data,
           Callbacks... callbacks) {
  tr::OneDeviceStrategy<Kokkos::DefaultExecutionSpace> const strategy({.fuse_steps = true});
  auto model = tr::compile<P>(strategy, architecture, optimizer, loss, tr::Accuracy{});
  tr::fit(strategy, model, data, {.epochs = 1, .verbose = false}, callbacks...);
}

// A kernel of convolutions by cuDNN, which short numbers have.
#ifdef KOKKOS_ENABLE_CUDA
void transpose(tr::SpaceContext<Kokkos::DefaultExecutionSpace> const& context) {
  context.for_each("trireme::transpose_kernel", 1, 1, tr::kernels::TransposeKernel<float>{});
}
#endif

}  // namespace

int main(int argc, char** argv) {
  tr::Environment const environment(argc, argv);
  xt::xtensor<float, 4> const images = xt::ones<float>({64, 8, 8, 3});
  xt::xtensor<float, 2> const words = xt::ones<float>({64, 12});
  xt::xtensor<std::int32_t, 1> const labels = xt::zeros<std::int32_t>({64});
  train(tr::Sequential{tr::Input<8, 8, 3>{}, tr::Conv2D<8, 3, 3, tr::Same, tr::NoBias>{}, tr::BatchNormalization<>{},
                       tr::ReLU{}, tr::MaxPooling2D<2, 2>{},
                       tr::Conv2D<8, 3, 3, tr::Same, tr::Tanh>{.kernel_regularizer = tr::L2(1e-4)},
                       tr::AveragePooling2D<2, 2>{}, tr::UpSampling2D<2, 2, tr::Bilinear>{},
                       tr::GlobalAveragePooling2D{}, tr::Dropout{.rate = 0.1f}, tr::Dense<10>{}},
        tr::SGD{.learning_rate = 0.1, .momentum = 0.9}, tr::SparseCategoricalCrossentropy{.from_logits = true},
        tr::data::from_tensor_slices(images, labels).batch(tr::GlobalBatch{16}));
  train(tr::Sequential{tr::Input<12>{}, tr::Embedding<100, 16>{},
                       tr::Residual{tr::LayerNormalization<>{}, tr::MultiHeadAttention<2, 8>{}},
                       tr::LSTM<8, tr::ReturnSequences>{}, tr::GRU<8>{}, tr::Dense<10>{}, tr::Softmax{}},
        tr::Adam{.global_clipnorm = 1.0}, tr::SparseCategoricalCrossentropy{},
        tr::data::from_tensor_slices(words, labels).batch(tr::GlobalBatch{16}));
  train(tr::Sequential{tr::Input<12>{}, tr::Dense<32, tr::ReLU>{}, tr::Dense<32, tr::SiLU>{},
                       tr::Dense<16, tr::Tanh, tr::NoBias>{}, tr::Dense<10>{}, tr::Softmax{}},
        tr::Adam{}, tr::SparseCategoricalCrossentropy{},
        tr::data::from_tensor_slices(words, labels).batch(tr::GlobalBatch{16}),
        tr::ModelCheckpoint<"loss">{.path = "kernels.npz"});  // a file, which nvcc has to understand too
  train<tr::Mixed<tr::BFloat16>>(
      tr::Sequential{tr::Input<12>{}, tr::Residual{tr::Dense<32, tr::ReLU>{}, tr::Dense<12>{}},
                     tr::BatchNormalization<>{}, tr::Dense<10>{}},
      tr::Adam{}, tr::SparseCategoricalCrossentropy{.from_logits = true},
      tr::data::from_tensor_slices(words, labels).batch(tr::GlobalBatch{16}));
}
