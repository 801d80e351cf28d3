/// Many products of one shape, such as those of an attention's heads.
#pragma once

#include <cstddef>

#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/host_context.hpp"

namespace trireme {

namespace kernels {
/// One product, computed by the calling host thread; products are independent, so all threads get some.
template <class T>
struct OneProduct {
  ProductBatch<T> batch;
  void operator()(std::size_t i) const { detail::cache_gemm(batch[i]); }
};
}  // namespace kernels

/// Computes independent matrix products: on a host its threads share them.
template <class Context, class T>
void gemm_batch(Context& context, ProductBatch<T> const& batch) {
  if constexpr (is_host_context<Context>) {
    context.for_rows("trireme::product_batch", batch.size(), kernels::OneProduct<T>{batch});
  } else {
    context.gemm_batch(batch);
  }
}

}  // namespace trireme
