// OneDevice on a device trains, evaluates and predicts as on the host: rows of the table in support/law_table.hpp.
#define BOOST_TEST_MODULE device_one_device
#include "support/device.hpp"

#include "support/law_table.hpp"

using namespace trireme;
using namespace trireme::test::law;

BOOST_AUTO_TEST_CASE(one_device) {
  check_row<Mlp, Cnn, Normalization, Lstm, Attention>("OneDevice", OneDeviceStrategy<test::Device>(test::device(1)));
}
