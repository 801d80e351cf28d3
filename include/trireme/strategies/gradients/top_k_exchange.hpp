/// Sums of gradients from the largest elements of each rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/all_to_all.hpp"

namespace trireme {

template <class T>
class TopKExchange;

/// The largest elements by magnitude, as many on every rank: this fraction of all, and at least one. The others
/// accumulate until they are large enough. Source: Stich et al., Sparsified SGD with Memory, 2018.
struct TopK {
  template <class T>
  using Exchange = TopKExchange<T>;

  double fraction = 0.01;

  void config(Config& c) const { c("fraction", fraction, intervals::nonzero_fraction); }

  /// Elements that a rank sends of so many.
  constexpr std::size_t count(std::size_t elements) const {
    double const wanted = fraction * static_cast<double>(elements);
    auto const whole = static_cast<std::size_t>(wanted);
    std::size_t const up = whole + (static_cast<double>(whole) < wanted ? 1 : 0);
    return std::min(elements, std::max<std::size_t>(1, up));
  }
};

/// The same members as DenseExchange.
template <class T>
class TopKExchange {
  using Index = std::uint32_t;

 public:
  /// Exchange of arenas of so many elements. \throws ValueError if the codec's numbers are out of range
  TopKExchange(Communicator const& communicator, TopK const& codec, std::size_t elements)
      : messages_(communicator), order_(checked(codec, elements)), count_(codec.count(elements)) {
    own_values_.resize(count_);
    values_.resize(count_ * messages_.ranks());
    indices_.resize(count_ * messages_.ranks());
  }

  /// Bytes that a rank contributes to the sums.
  static constexpr std::size_t contribution(TopK const& codec, std::size_t elements) {
    return codec.count(elements) * (sizeof(Index) + sizeof(T));
  }
  /// Bytes of all messages of this rank so far.
  std::uint64_t bytes_sent() const { return messages_.bytes_sent(); }

  /// Gradients become the sums over all ranks of the largest elements of gradients and residuals; what is left out
  /// stays in the residual. Collective.
  template <class Loop>
  void sum(Loop const&, T* gradients, T* residual) {
    constexpr int indices = 1, values = 2;
    for (std::size_t i = 0; i < order_.size(); ++i) residual[i] += gradients[i];
    choose(residual);
    for (std::size_t i = 0; i < count_; ++i) {
      own_values_[i] = residual[order_[i]];
      residual[order_[i]] = 0;
    }
    for (T& rest : std::span(residual, order_.size()))
      if (!std::isfinite(rest)) rest = 0;  // it would come with the next steps, after their weights are mended
    messages_.gather(std::span<Index const>(order_.data(), count_), std::span<Index>(indices_), indices);
    messages_.gather(std::span<T const>(own_values_), std::span<T>(values_), values);
    messages_.wait();
    std::fill_n(gradients, order_.size(), T{0});
    for (std::size_t i = 0; i < indices_.size(); ++i) gradients[indices_[i]] += values_[i];  // rank after rank
  }

 private:
  static std::size_t checked(TopK const& codec, std::size_t elements) {
    require_in(intervals::nonzero_fraction, "TopK::fraction", codec.fraction);
    if (elements > std::numeric_limits<Index>::max())
      throw ValueError(formatted("TopK: a model of {} parameters is too large for indices of 32 bits", elements));
    return elements;
  }

  /// Puts the indices of the largest first, in ascending order; of equal ones those of lower index, and NaN before all.
  void choose(T const* values) {
    std::iota(order_.begin(), order_.end(), Index{0});
    auto const magnitude = [values](Index i) {
      return std::isnan(values[i]) ? std::numeric_limits<T>::infinity() : std::abs(values[i]);
    };
    auto const last = order_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (last != order_.end())
      std::nth_element(order_.begin(), last, order_.end(), [&](Index a, Index b) {
        T const of_a = magnitude(a), of_b = magnitude(b);
        return of_a != of_b ? of_a > of_b : a < b;
      });
    std::sort(order_.begin(), last);
  }

  AllToAll messages_;
  std::vector<Index> order_;
  std::size_t count_;
  std::vector<T> own_values_, values_;
  std::vector<Index> indices_;
};

}  // namespace trireme
