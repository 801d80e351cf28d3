// expect: trireme: from_local_slices takes the strategy (or a Communicator) first, then x and y
#include <vector>

#include "trireme/data/from_local_slices.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

auto own(std::vector<float> const& x, std::vector<float> const& y) {
#ifdef TRIREME_MUST_FAIL
  return trireme::data::from_local_slices(x, y, y);
#else
  return trireme::data::from_local_slices(trireme::OneDeviceStrategy<>(), x, y);
#endif
}
