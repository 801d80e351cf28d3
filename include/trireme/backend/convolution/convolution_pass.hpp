/// The three convolutions of a step, of which a vendor's library is asked for one.
#pragma once

#include <cstddef>

#include "trireme/backend/convolution/window.hpp"

namespace trireme::detail {

enum class ConvolutionPass { forward, input_gradient, kernel_gradient };

/// The convolution of `rows` images (rows, height, width, channels), which gives (rows, height, width, filters). A
/// vendor's kernel is (filters, height, width, channels).
struct VendorConvolution {
  ConvolutionPass pass;
  Window2D window;
  std::size_t filters;
  std::size_t rows;
  bool short_operands = false;  ///< as Product's
};

}  // namespace trireme::detail
