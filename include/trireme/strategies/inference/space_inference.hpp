/// Inference of a device: one call after the other, each with the whole space.
#pragma once

#include <cstddef>
#include <mutex>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"

namespace trireme {

/// Any number of threads may call at once; they wait for each other. Members as in RowBlocks.
template <class Model, class Space>
class SpaceInference {
  using T = typename Model::scalar;

 public:
  /// Inference in this space, whose workspace grows with the calls.
  SpaceInference(Model const&, Space const& space) : context_(space) {}

  /// y (rows, output) for x (rows, input), in the space's memory; complete on return.
  void predict(Model const& model, std::size_t rows, T const* x, T* y, T const* parameters) const {
    if (rows == 0) return;
    std::lock_guard const one(mutex_);
    if (rows > reserved_rows_) {
      workspace_ = uninitialized_view<Workspace>(context_.space(), "trireme::predictor",
                                                 model.template workspace_bytes<SpaceContext<Space>>(rows));
      reserved_rows_ = rows;
    }
    model.predict(context_, rows, x, y, parameters, workspace_.data());
    context_.fence("trireme: predictions complete");
  }

  /// Bytes of the workspace so far.
  std::size_t workspace_bytes() const { return workspace_.extent(0); }

 private:
  using Workspace = Kokkos::View<std::byte*, typename Space::memory_space>;

  mutable std::mutex mutex_;
  mutable SpaceContext<Space> context_;
  mutable Workspace workspace_;
  mutable std::size_t reserved_rows_ = 0;
};

}  // namespace trireme
