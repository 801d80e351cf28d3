/// Instances of trireme/data/common_types.hpp, in the library alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trireme/data/common_types.hpp"

#ifdef TRIREME_COMPILED
namespace trireme::data {

TRIREME_DATA_IN(, float)
TRIREME_DATA_IN(, double)
template void verify_labels(HostTensor<std::int32_t> const&, std::vector<IndexColumns> const&, std::string const&);
template void verify_labels(HostTensor<std::int32_t> const&, std::size_t, std::optional<std::int32_t>,
                            std::string const&);

}  // namespace trireme::data
#endif
