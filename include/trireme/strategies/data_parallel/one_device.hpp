/// OneDeviceStrategy: one process, one execution space. The reference that every other strategy is tested against.
#pragma once

#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/strategies/data_parallel/device_options.hpp"
#include "trireme/strategies/data_parallel/one_process.hpp"

namespace trireme {

template <class SpaceType = Kokkos::DefaultExecutionSpace>
class OneDeviceStrategy : public OneProcessStrategy<SpaceType, OneSpaceEngine> {
  using Base = OneProcessStrategy<SpaceType, OneSpaceEngine>;

 public:
  /// One replica in this execution space, by default the instance that Kokkos has as its default.
  explicit OneDeviceStrategy(SpaceType const& space = default_space<SpaceType>()) : Base({space}, 1) {}
  /// The same with options.
  explicit OneDeviceStrategy(DeviceOptions const& options, SpaceType const& space = default_space<SpaceType>())
      : Base({space}, 1), options_(options) {}

  template <class Model>
  typename Base::template Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return build_as<typename Base::template Engine<Model>>(std::move(model), plan);
  }

  /// For adaptors, as OneProcessStrategy's.
  template <class P, class... Options>
  P build_as(typename P::Model model, Parallelism plan, Options const&... options) const {
    return detail::make_engine<P>(options_, std::move(model), this->spaces()[0], this->shared_group(), std::size_t{1},
                                  plan, options...);
  }

 private:
  DeviceOptions options_{};
};

}  // namespace trireme
