// Every kernel of a training step, for scripts/kernel_resources.py: registers, spills and shared memory as the compiler
// states them. The program also runs, on any space: one epoch of four models.
#include "kernels.hpp"

namespace tr = trireme;
using namespace resources;

namespace {

// A kernel of convolutions by cuDNN, which short numbers have.
#ifdef KOKKOS_ENABLE_CUDA
void transpose(tr::SpaceContext<Kokkos::DefaultExecutionSpace> const& context) {
  context.for_each("trireme::transpose_kernel", 1, 1, tr::kernels::TransposeKernel<float>{});
}
#endif

}  // namespace

int main(int argc, char** argv) {
  tr::Environment const environment(argc, argv);
  auto const images = xt::xtensor<float, 4>(xt::ones<float>({rows, std::size_t{8}, std::size_t{8}, std::size_t{3}}));
  train(tr::Sequential{tr::Input<8, 8, 3>{}, tr::Conv2D<8, 3, 3, tr::Same, tr::NoBias>{}, tr::BatchNormalization<>{},
                       tr::ReLU{}, tr::MaxPooling2D<2, 2>{},
                       tr::Conv2D<8, 3, 3, tr::Same, tr::Tanh>{.kernel_regularizer = tr::L2(1e-4)},
                       tr::AveragePooling2D<2, 2>{}, tr::UpSampling2D<2, 2, tr::Bilinear>{},
                       tr::GlobalAveragePooling2D{}, tr::Dropout{.rate = 0.1f}, tr::Dense<10>{}},
        tr::SGD{.learning_rate = 0.1, .momentum = 0.9}, tr::SparseCategoricalCrossentropy{.from_logits = true},
        tr::data::from_tensor_slices(images, labels()).batch(tr::GlobalBatch{16}));
  train(tr::Sequential{tr::Input<12>{}, tr::Dense<32, tr::ReLU>{}, tr::Dense<32, tr::SiLU>{},
                       tr::Dense<16, tr::Tanh, tr::NoBias>{}, tr::Dense<10>{}, tr::Softmax{}},
        tr::Adam{}, tr::SparseCategoricalCrossentropy{},
        tr::data::from_tensor_slices(words(), labels()).batch(tr::GlobalBatch{16}),
        tr::ModelCheckpoint<"loss">{.path = "kernels.npz"});  // a file, which nvcc has to understand too
  train_recurrent_models();
}
