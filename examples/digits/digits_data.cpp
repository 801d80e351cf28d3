// Apart from the training, which needs nothing of it but what it returns.
#include "digits_data.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <trireme/core/error.hpp>
#include <trireme/io/csv.hpp>
#include <trireme/io/idx.hpp>
#include <trireme/tensor/extents.hpp>
#include <trireme/tensor/host_tensor.hpp>

namespace tr = trireme;

namespace {

/// Rows `order[first, last)` of images and labels.
Digits::Part pick(tr::HostTensor<float> const& images, tr::HostTensor<float> const& labels,
                  std::span<std::size_t const> order) {
  std::size_t const size = images.size() / images.samples();
  tr::NewHostTensor<float> x({order.size(), size}, images.origin);
  tr::NewHostTensor<std::int32_t> y({order.size()}, labels.origin);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::copy_n(images.data + order[i] * size, size, x.memory.get() + i * size);
    y.memory.get()[i] = static_cast<std::int32_t>(labels.data[order[i]]);
  }
  return {x.tensor, y.tensor};
}

tr::HostTensor<float> scaled(tr::HostTensor<float> const& images, float largest) {
  tr::NewHostTensor<float> result(images.extents, images.origin);
  std::transform(images.data, images.data + images.size(), result.memory.get(), [=](float v) { return v / largest; });
  return result.tensor;
}

/// Here, before the samples are split and shuffled, a wrong label's place is that in its file.
void check_labels(std::string const& path, tr::HostTensor<float> const& labels, char const* place, std::size_t first) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (float const label = labels.data[i]; !(label >= 0 && label <= 9 && label == std::floor(label)))
      throw tr::FileError(path,
                          fmt::format("{} {}: the label {} is none of the digits 0 to 9", place, first + i, label));
}

/// A table with 64 pixels from 0 to 16 and the label in each row.
std::pair<tr::HostTensor<float>, tr::HostTensor<float>> read_table(std::string const& path) {
  auto const table = tr::io::read_csv<float>(path);
  if (table.extents[1] != 65)
    throw tr::FileError(path, fmt::format("has {} columns, where 64 pixels and a label are needed", table.extents[1]));
  auto const labels = table.column(64);
  check_labels(path, labels, "line", 1);
  return {scaled(table.columns(0, 64), 16), labels};
}

std::vector<std::size_t> natural_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

/// scikit-learn's digits: a fixed, shuffled split of 80 to 20.
Digits read_scikit_digits(std::string const& path) {
  auto const [images, labels] = read_table(path);
  std::vector<std::size_t> order = natural_order(images.samples());
  std::mt19937 random(20);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  std::span<std::size_t const> const all(order);
  std::size_t const train = order.size() * 4 / 5;
  return {8, pick(images, labels, all.first(train)), pick(images, labels, all.subspan(train))};
}

Digits::Part read_optdigits(std::string const& path) {
  auto const [images, labels] = read_table(path);
  return pick(images, labels, natural_order(images.samples()));
}

Digits::Part read_idx_pair(std::string const& images, std::string const& labels) {
  auto const x = tr::io::read_idx<float>(images);
  auto const y = tr::io::read_idx<float>(labels);
  if (x.extents.size() != 3 || x.extents[1] != 28 || x.extents[2] != 28)
    throw tr::FileError(images,
                        fmt::format("holds {}, where (samples, 28, 28) is needed", tr::format_extents(x.extents)));
  check_labels(labels, y, "label", 0);
  return pick(scaled(x.reshaped({x.samples(), 784}), 255), y, natural_order(x.samples()));
}

/// The file of this name, gzipped or not.
std::string find(std::filesystem::path const& folder, std::string const& name) {
  for (auto const& candidate : {folder / name, folder / (name + ".gz")})
    if (std::filesystem::exists(candidate)) return candidate.string();
  throw tr::FileError((folder / name).string(), "is not there, nor with .gz after it");
}

}  // namespace

Digits read_digits(std::filesystem::path const& path) {
  if (!std::filesystem::exists(path)) throw trireme::FileError(path.string(), "is not there");
  if (!std::filesystem::is_directory(path)) return read_scikit_digits(path.string());
  if (std::filesystem::exists(path / "optdigits.tra"))
    return {8, read_optdigits((path / "optdigits.tra").string()), read_optdigits((path / "optdigits.tes").string())};
  return {28, read_idx_pair(find(path, "train-images-idx3-ubyte"), find(path, "train-labels-idx1-ubyte")),
          read_idx_pair(find(path, "t10k-images-idx3-ubyte"), find(path, "t10k-labels-idx1-ubyte"))};
}
