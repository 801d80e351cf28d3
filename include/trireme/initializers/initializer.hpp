/// Initializer: a source of first values for a parameter, as one type that layers can hold.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "trireme/core/config.hpp"

namespace trireme {

/// The parameter to fill: extents such as (inputs, units), the seed of the model, and the parameter's path.
///
/// Element e, in row-major order, may depend on (seed, path, e) alone, so that every process computes the same values
/// without communication.
struct InitializerContext {
  std::vector<std::size_t> extents;
  std::uint64_t seed = 0;
  std::string_view path;       ///< "dense/kernel"
  std::size_t input_axes = 0;  ///< of compute_fans
};

/// A struct with `operator()(std::span<double> out, InitializerContext const&) const`, which writes all elements of
/// `out`.
///
/// `out` holds the parameter of shape `context.extents` in row-major order. Not collective.
template <class I>
concept InitializerFunction = std::invocable<I const&, std::span<double>, InitializerContext const&>;

/// Any initializer as one type: made from one of the library's, or from a user's own InitializerFunction.
///
/// It fills a parameter of any shape that its function takes, and is usable in constant expressions, so that the
/// structure of a layer that holds one is. It keeps a copy of the struct's bytes; other structs do not compile: "an
/// initializer is a trivially copyable struct of at most 48 bytes; let it point to more". Not collective.
class Initializer {
 public:
  static constexpr std::size_t capacity = 48;

  constexpr Initializer() = default;

  /// Copy of an initializer of the library, or of your own.
  template <InitializerFunction I>
    requires(!std::same_as<I, Initializer>)
  constexpr Initializer(I const& initializer) : functions_(&functions_of<I>) {
    static_assert(std::is_trivially_copyable_v<I> && sizeof(I) <= capacity,
                  "trireme: an initializer is a trivially copyable struct of at most 48 bytes; let it point to more");
    if constexpr (!std::is_empty_v<I>) {
      auto const bytes = std::bit_cast<std::array<std::byte, sizeof(I)>>(initializer);
      for (std::size_t i = 0; i < sizeof(I); ++i) bytes_[i] = bytes[i];
    }
  }

  void operator()(std::span<double> out, InitializerContext const& context) const {
    if (functions_) functions_->fill(bytes_.data(), out, context);
  }

  void config(Config& c, std::string_view name) const {
    if (functions_) functions_->config(bytes_.data(), c, name);
  }

 private:
  struct Functions {
    void (*fill)(std::byte const*, std::span<double>, InitializerContext const&);
    void (*config)(std::byte const*, Config&, std::string_view);
  };

  template <class I>
  static I restored(std::byte const* bytes) {
    std::array<std::byte, sizeof(I)> copy;
    std::memcpy(copy.data(), bytes, sizeof(I));
    return std::bit_cast<I>(copy);
  }
  template <class I>
  static void fill(std::byte const* bytes, std::span<double> out, InitializerContext const& context) {
    restored<I>(bytes)(out, context);
  }
  template <class I>
  static void list(std::byte const* bytes, Config& c, std::string_view name) {
    c(name, restored<I>(bytes));
  }
  template <class I>
  static constexpr Functions functions_of{&fill<I>, &list<I>};

  std::array<std::byte, capacity> bytes_{};
  Functions const* functions_ = nullptr;
};

/// Fan in and fan out of a parameter: the numbers of inputs and outputs of one unit, as Keras counts them.
struct Fans {
  double in = 1, out = 1;
};
/// Numbers of inputs and outputs of a parameter of these extents, such as (inputs, units) or (height, width, channels,
/// filters).
///
/// The last two extents, each times the product of those before them (the receptive field). A vector (n) has n of both,
/// a single number 1. With `input_axes` above 0 the parameter is the kernel of a matrix product over its first axes,
/// such as (features, heads, width): fan in is the product of these extents, fan out that of the others. Source:
/// Keras's compute_fans.
inline Fans compute_fans(std::vector<std::size_t> const& extents, std::size_t input_axes = 0) {
  if (input_axes > 0) {
    Fans fans;
    for (std::size_t axis = 0; axis < extents.size(); ++axis)
      (axis < input_axes ? fans.in : fans.out) *= static_cast<double>(extents[axis]);
    return fans;
  }
  if (extents.empty()) return {};
  if (extents.size() == 1) return {static_cast<double>(extents[0]), static_cast<double>(extents[0])};
  double field = 1;
  for (std::size_t axis = 0; axis + 2 < extents.size(); ++axis) field *= static_cast<double>(extents[axis]);
  return {field * static_cast<double>(extents[extents.size() - 2]), field * static_cast<double>(extents.back())};
}

}  // namespace trireme
