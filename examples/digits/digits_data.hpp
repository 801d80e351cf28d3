// Handwritten digits from files: scikit-learn's (the default), optdigits, MNIST or Fashion-MNIST.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include <trireme/tensor/host_tensor.hpp>

/// Images (samples, side * side) in [0, 1] and labels, split for training and testing.
struct Digits {
  struct Part {
    trireme::HostTensor<float> images;
    trireme::HostTensor<std::int32_t> labels;
  };
  std::size_t side;
  Part train, test;
};

/// Reads a file of scikit-learn's digits, or a folder with optdigits (.tra, .tes) or MNIST's IDX files.
Digits read_digits(std::filesystem::path const& path);

/// A square image of side * side pixels as one of 28 * 28, bilinear between the centres of pixels.
struct ResizeTo28 {
  std::size_t side;

  void operator()(std::span<float const> in, std::span<float> out) const {
    constexpr std::size_t target = 28;
    for (std::size_t i = 0; i < target; ++i)
      for (std::size_t j = 0; j < target; ++j) {
        auto const [top, below] = position(i);
        auto const [left, right] = position(j);
        auto const row = [&](std::size_t y) {
          return in[y * side + left] * (1 - right) + in[y * side + std::min(left + 1, side - 1)] * right;
        };
        out[i * target + j] = row(top) * (1 - below) + row(std::min(top + 1, side - 1)) * below;
      }
  }

 private:
  /// The pixel before the centre of target pixel i, and how far behind it that centre lies.
  std::pair<std::size_t, float> position(std::size_t i) const {
    float const at = std::max(0.0f, (static_cast<float>(i) + 0.5f) * static_cast<float>(side) / 28.0f - 0.5f);
    auto const before = static_cast<std::size_t>(at);
    return {before, at - static_cast<float>(before)};
  }
};
