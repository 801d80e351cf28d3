// The kernels of recurrent layers and attention, and of short numbers: a source of their own, since compilers for
// devices take minutes for one.
#include "kernels.hpp"

namespace tr = trireme;

void resources::train_recurrent_models() {
  train(tr::Sequential{tr::Input<12>{}, tr::Embedding<100, 16>{},
                       tr::Residual{tr::LayerNormalization<>{}, tr::MultiHeadAttention<2, 8>{}},
                       tr::LSTM<8, tr::ReturnSequences>{}, tr::GRU<8>{}, tr::Dense<10>{}, tr::Softmax{}},
        tr::Adam{.global_clipnorm = 1.0}, tr::SparseCategoricalCrossentropy{},
        tr::data::from_tensor_slices(words(), labels()).batch(tr::GlobalBatch{16}));
  train<tr::Mixed<tr::BFloat16>>(
      tr::Sequential{tr::Input<12>{}, tr::Residual{tr::Dense<32, tr::ReLU>{}, tr::Dense<12>{}},
                     tr::BatchNormalization<>{}, tr::Dense<10>{}},
      tr::Adam{}, tr::SparseCategoricalCrossentropy{.from_logits = true},
      tr::data::from_tensor_slices(words(), labels()).batch(tr::GlobalBatch{16}));
}
