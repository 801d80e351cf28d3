/// The data pipeline of common scalars, which trireme::compiled instantiates: inputs in float or double, targets that
/// are class indices or of the same scalar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/compiled_library.hpp"
#include "trireme/data/batch_buffer.hpp"
#include "trireme/data/batch_collator.hpp"
#include "trireme/data/batch_sampler.hpp"
#include "trireme/data/batch_stream.hpp"
#include "trireme/data/batched_dataset.hpp"
#include "trireme/data/cache.hpp"
#include "trireme/data/dataset.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/data/prefetcher.hpp"
#include "trireme/data/repeat.hpp"
#include "trireme/data/requirements.hpp"
#include "trireme/data/selection.hpp"
#include "trireme/data/shuffle.hpp"
#include "trireme/data/tensor_source.hpp"

/// Datasets of inputs X with targets Y. EXTERN is `extern`, or empty where they are instantiated.
#define TRIREME_DATASETS_OF(EXTERN, X, Y)                                                                       \
  EXTERN template class Dataset<X, Y>;                                                                          \
  EXTERN template class BatchedDataset<X, Y>;                                                                   \
  EXTERN template class TensorSource<X, Y>;                                                                     \
  EXTERN template class Shuffled<X, Y>;                                                                         \
  EXTERN template class PermutedSource<X, Y>;                                                                   \
  EXTERN template class WindowShuffledSource<X, Y>;                                                             \
  EXTERN template class SelectedSource<X, Y>;                                                                   \
  EXTERN template class CachedSource<X, Y>;                                                                     \
  EXTERN template class RepeatedSource<X, Y>;                                                                   \
  EXTERN template SourcePointer<X, Y> shuffled(SourcePointer<X, Y>, std::size_t, std::uint64_t, std::uint32_t); \
  EXTERN template SourcePointer<X, Y> cached(SourcePointer<X, Y>, bool);                                        \
  EXTERN template Dataset<X, Y> detail::tensor_dataset(SampleRows<X>, SampleRows<Y>, HostTensor<double>);

/// Batches of those data for a model that computes in X and takes its targets in L.
#define TRIREME_BATCHES_OF(EXTERN, X, Y, L)                                                                   \
  EXTERN template class BatchCollator<X, Y, X, L>;                                                            \
  EXTERN template class BatchSampler<X, Y, X, L>;                                                             \
  EXTERN template class BatchStream<X, Y, X, L>;                                                              \
  EXTERN template class Prefetcher<BatchSampler<X, Y, X, L>, BatchBuffer<X, L>>;                              \
  EXTERN template BatchStream<X, Y, X, L> BatchedDataset<X, Y>::stream(DataShard, std::uint64_t, std::size_t, \
                                                                       StreamOptions) const;

#define TRIREME_DATA_IN(EXTERN, T)                                                                                 \
  TRIREME_DATASETS_OF(EXTERN, T, std::int32_t)                                                                     \
  TRIREME_DATASETS_OF(EXTERN, T, T)                                                                                \
  TRIREME_BATCHES_OF(EXTERN, T, std::int32_t, std::int32_t)                                                        \
  TRIREME_BATCHES_OF(EXTERN, T, T, T)                                                                              \
  EXTERN template void verify_indices(HostTensor<T> const&, std::vector<IndexColumns> const&, std::string const&); \
  EXTERN template void verify_labels(HostTensor<T> const&, std::vector<IndexColumns> const&, std::string const&);  \
  EXTERN template void verify_labels(HostTensor<T> const&, std::size_t, std::optional<std::int32_t>,               \
                                     std::string const&);

#ifdef TRIREME_COMPILED
namespace trireme::data {

TRIREME_DATA_IN(extern, float)
TRIREME_DATA_IN(extern, double)
extern template void verify_labels(HostTensor<std::int32_t> const&, std::vector<IndexColumns> const&,
                                   std::string const&);
extern template void verify_labels(HostTensor<std::int32_t> const&, std::size_t, std::optional<std::int32_t>,
                                   std::string const&);

}  // namespace trireme::data
#endif
