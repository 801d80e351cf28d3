// Operations and bytes of a training step of each case, and the time that a device with given peaks needs for the
// larger of the two: the table of docs/devices.md.
#include <string>

#include "workloads.hpp"

namespace {

namespace tr = trireme;

/// Of an H100 SXM, by its data sheet: FP32 outside of tensor cores, and HBM3.
constexpr double flops_per_us = 67e6, bytes_per_us = 3.35e6;

/// Forward takes its operations once, backward twice. Weights are read forward and back; the optimizer reads gradient,
/// weight and slots, and writes weight and slots. Outputs of layers, and their gradients, are written and read once
/// each.
template <class Architecture>
void row(Architecture const& architecture, std::string const& name, double slots) {
  auto const rows = static_cast<double>(bench::batch_of(name));
  auto const cost = tr::model_cost<float>(architecture);
  auto const in = architecture.input();
  double const operations = 3.0 * rows * static_cast<double>(tr::detail::layer_flops(architecture, in));
  double const weights = 4.0 * static_cast<double>(cost.parameters) * (4 + 2 * slots + 2);
  double const values =
      rows * (4.0 * static_cast<double>(cost.activation_bytes) + 4.0 * static_cast<double>(in.size()));
  double const bytes = weights + values;
  fmt::print("| `{}` | {:.1f} | {:.1f} | {:.2f} | {:.2f} | {} |\n", name, operations / 1e6, bytes / 1e6,
             operations / flops_per_us, bytes / bytes_per_us,
             operations / flops_per_us > bytes / bytes_per_us ? "operations" : "bytes");
}

}  // namespace

int main() {
  constexpr double adam = 2;
  for (auto const* name : {"mlp_b32", "mlp_b512", "mlp_b65536"}) row(bench::mlp(), name, adam);
  for (auto const* name : {"cnn_b64", "cnn_b256"}) row(bench::cnn(), name, adam);
  row(bench::wide(), "wide_b256", adam);
  for (auto const* name : {"surrogate_b256", "surrogate_b65536"}) row(bench::surrogate(), name, adam);
  row(bench::transformer(), "transformer_b16", adam);
  row(bench::lstm(), "lstm_b32", adam);
}
