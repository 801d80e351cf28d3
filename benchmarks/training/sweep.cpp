// Perceptrons whose extents come from the command line: sweep_w64_d2_b8 has 64 inputs, two hidden layers of 64 ReLU
// units (one, two, four or eight of them), 10 outputs, SGD and a batch of 8.
#include <cstdio>

#include "workloads.hpp"

namespace {

namespace tr = trireme;

struct Point {
  unsigned long width = 0, depth = 0;
};

Point point_of(std::string const& name) {
  Point point;
  if (std::sscanf(name.c_str(), "sweep_w%lu_d%lu_b", &point.width, &point.depth) != 2)
    throw tr::ValueError(fmt::format("the case '{}' is not of the form sweep_w64_d2_b8", name));
  return point;
}

template <class... Hidden>
auto perceptron(std::size_t width, Hidden const&... hidden) {
  return tr::Sequential{tr::Input<tr::dynamic>{.extents = {width}}, hidden..., tr::Dense<10>{}};
}

template <std::size_t... I>
void train(std::index_sequence<I...>, Point const& point, std::string const& name, bench::Options const& options) {
  std::size_t const width = point.width;
  auto const hidden = [=](std::size_t) { return tr::Dense<tr::dynamic, tr::ReLU>{.units = {width}}; };
  bench::train_classifier(tr::OneDeviceStrategy<>(), perceptron(width, hidden(I)...),
                          tr::SGD{.learning_rate = 1e-3, .momentum = 0.9}, name, options);
}

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of perceptrons of many sizes");
  for (auto const& name : options.cases) {
    Point const point = point_of(name);
    switch (point.depth) {
      case 1:
        train(std::make_index_sequence<1>{}, point, name, options);
        break;
      case 2:
        train(std::make_index_sequence<2>{}, point, name, options);
        break;
      case 4:
        train(std::make_index_sequence<4>{}, point, name, options);
        break;
      case 8:
        train(std::make_index_sequence<8>{}, point, name, options);
        break;
      default:
        throw tr::ValueError(fmt::format("{} hidden layers: the sweep has 1, 2, 4 and 8", point.depth));
    }
  }
}
