/// Images and their classes for the program of README.md, which has its data from elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/packages.hpp"

/// A bar in each image of 28 x 28 pixels.
inline xt::xtensor<float, 4> bars(std::size_t samples) {
  xt::xtensor<float, 4> images({samples, 28, 28, 1}, 0);
  for (std::size_t i = 0; i < samples; ++i)
    for (std::size_t column = 0; column < 28; ++column) images(i, 2 * (i % 10) + 4, column, 0) = 1;
  return images;
}

/// The bars' places.
inline xt::xtensor<std::int32_t, 1> places(std::size_t samples) {
  xt::xtensor<std::int32_t, 1> classes({samples}, 0);
  for (std::size_t i = 0; i < samples; ++i) classes(i) = static_cast<std::int32_t>(i % 10);
  return classes;
}

inline xt::xtensor<float, 4> const x_train = bars(160), x_test = bars(40);
inline xt::xtensor<std::int32_t, 1> const y_train = places(160), y_test = places(40);
