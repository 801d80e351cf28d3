#include <cstddef>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

namespace tr = trireme;

void train_in_double() {
  tr::OneDeviceStrategy<> const strategy;
  xt::xtensor<double, 2> x({96, 3}), y({96, 1});
  for (std::size_t i = 0; i < 96; ++i) {
    for (std::size_t j = 0; j < 3; ++j) x(i, j) = static_cast<double>((i * 3 + j) * 29 % 97) / 97;
    y(i, 0) = x(i, 0) * x(i, 1) - x(i, 2);
  }
  auto model = tr::compile<double>(strategy, tr::Sequential{tr::Input<3>{}, tr::Dense<8, tr::ReLU>{}, tr::Dense<1>{}},
                                   tr::SGD{.learning_rate = 0.05, .momentum = 0.9}, tr::MeanSquaredError{});
  auto const data = tr::data::from_tensor_slices(x, y).skip(4).batch(tr::GlobalBatch{16}).repeat(2);
  auto const history = tr::fit(strategy, model, data, {.epochs = 3, .verbose = false});
  for (double const loss : history["loss"]) fmt::print("{:a}\n", loss);
}
