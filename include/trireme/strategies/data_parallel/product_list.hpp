/// ProductList: the deferred products of a partition.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trireme/backend/gemm/rows_view.hpp"

namespace trireme {

/// The deferred products of one partition, by their places in the gradient arena.
template <class T>
struct ProductList {
  struct Product {
    std::size_t m, n, k;
    RowsView<T> x;
    T const* dy;
    std::size_t offset;
    std::size_t end() const { return offset + m * n; }
  };

  std::vector<Product> products;
  /// Gradient arena of a process that has stored all gradients of its rows; null if it has none, or defers.
  T const* stored = nullptr;

  /// Adds a product, in the order of their places.
  void insert(Product const& product);
};

template <class T>
void ProductList<T>::insert(Product const& product) {
  auto const after = [&](Product const& other) { return other.offset > product.offset; };
  products.insert(std::find_if(products.begin(), products.end(), after), product);
}

}  // namespace trireme
