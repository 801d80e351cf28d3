/// Samples that lie in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/sample_source.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::data {

/// Source of samples in host memory: slices along the first axis of a tensor of inputs (samples, extents...), one of
/// targets and, perhaps, one of weights (samples).
template <class X, class Y>
class TensorSource : public SampleSource<X, Y> {
 public:
  /// \param weight  (samples), or without data: every sample weighs 1.
  /// \throws ShapeError if the tensors differ in their number of samples.
  TensorSource(HostTensor<X> x, HostTensor<Y> y, HostTensor<double> weight);

  std::optional<std::size_t> size() const override { return x_.samples(); }
  bool random_access() const override { return true; }
  bool varies() const override { return false; }
  bool weighted() const override { return !weight_.extents.empty(); }
  std::span<X const> memory() const override { return {x_.data, x_.size()}; }
  HostTensor<X> const* inputs() const override { return &x_; }
  HostTensor<Y> const* targets() const override { return &y_; }
  bool in_memory_order() const override { return true; }

  void trace(Lineage& lineage) const override;

  std::unique_ptr<SampleReader<X, Y>> reader() const override { return std::make_unique<Reader>(*this); }

 private:
  class Reader : public SampleReader<X, Y> {
   public:
    explicit Reader(TensorSource const& source) : source_(source), samples_(source.x_.samples()) {}
    void start(std::uint64_t) override {}
    std::optional<Sample<X, Y>> at(std::size_t position) override { return run(position, 1); }
    std::optional<Sample<X, Y>> run(std::size_t position, std::size_t count) override {
      if (position + count > samples_) return std::nullopt;
      return Sample<X, Y>{source_.x_.data + position * source_.x_size(), source_.y_.data + position * source_.y_size(),
                          source_.weighted() ? source_.weight_.data + position : nullptr};
    }

    bool find(std::span<std::size_t> positions, Sample<X, Y>* to) override {
      std::size_t const nx = source_.x_size(), ny = source_.y_size();
      double const* const weight = source_.weighted() ? source_.weight_.data : nullptr;
      for (std::size_t const position : positions) {
        if (position >= samples_) return false;
        *to++ = {source_.x_.data + position * nx, source_.y_.data + position * ny,
                 weight ? weight + position : nullptr};
      }
      return true;
    }

   private:
    TensorSource const& source_;
    std::size_t samples_;
  };

  // Of one sample; from the extents, since there may be no sample at all.
  template <class T>
  static std::size_t volume(HostTensor<T> const& tensor) {
    std::size_t product = 1;
    for (std::size_t extent : tensor.sample_extents()) product *= extent;
    return product;
  }

  HostTensor<X> x_;
  HostTensor<Y> y_;
  HostTensor<double> weight_;
};

template <class X, class Y>
TensorSource<X, Y>::TensorSource(HostTensor<X> x, HostTensor<Y> y, HostTensor<double> weight)
    : SampleSource<X, Y>(volume(x), volume(y)), x_(std::move(x)), y_(std::move(y)), weight_(std::move(weight)) {
  if (x_.samples() != y_.samples())
    throw ShapeError(formatted("the inputs ({}) hold {} samples, but the targets ({}) hold {}", x_.name(), x_.samples(),
                               y_.name(), y_.samples()));
  if (!weight_.extents.empty() && (weight_.size() != x_.samples() || weight_.samples() != x_.samples()))
    throw ShapeError(formatted("sample weights of extents {} do not fit {} samples: one number a sample is needed",
                               format_extents(weight_.extents), x_.samples()));
}

template <class X, class Y>
void TensorSource<X, Y>::trace(Lineage& lineage) const {
  std::uint64_t hash = hash_combine(hash_extents(x_.extents), hash_bytes(x_.data, x_.size() * sizeof(X)));
  hash = hash_combine(hash, hash_combine(hash_extents(y_.extents), hash_bytes(y_.data, y_.size() * sizeof(Y))));
  if (weighted()) hash = hash_combine(hash, hash_bytes(weight_.data, weight_.size() * sizeof(double)));
  lineage.add("from_tensor_slices", "number of samples", x_.samples());
  lineage.add("from_tensor_slices", "", hash);
}

}  // namespace trireme::data
