// expect local_slices_without_strategy: trireme: from_local_slices takes the strategy (or a Communicator) first
// expect local_slices_of_three_arrays: trireme: from_local_slices takes the strategy (or a Communicator) first
// expect local_slices_of_pointers: trireme: samples and targets are arrays
// expect slices_of_pointers: trireme: samples and targets are arrays
// expect slices_of_nested_vectors: trireme: samples and targets are arrays
// expect slices_of_braces: trireme: samples and targets are arrays
// expect slices_of_a_list: trireme: samples and targets are arrays
// expect targets_of_braces: trireme: samples and targets are arrays
// expect inputs_in_braces: trireme: samples and targets are arrays
// expect slices_of_four_arrays: trireme: from_tensor_slices takes x, y and at most one array of weights
// expect batch_of_a_number: trireme: batch takes a size for all replicas together
// expect shuffle_without_arguments: trireme: shuffle takes the number of samples in its buffer and a seed
// expect shuffle_without_seed: trireme: shuffle takes the number of samples in its buffer and a seed
// expect generator_without_make: trireme: from_generator takes a function that makes a generator for each pass
// expect generator_of_another_signature: trireme: a generator is called with (std::span<X> sample
// expect generator_without_extents: trireme: from_generator takes the extents of a sample and of a target
// expect generator_without_extents_of_the_target: trireme: from_generator takes the extents of a sample and of a target
#include <cstdint>
#include <initializer_list>
#include <span>
#include <tuple>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

void make(std::vector<float> const& x, std::vector<float> const& y) {
  [[maybe_unused]] OneDeviceStrategy<> const strategy;
  auto const samples = data::from_tensor_slices(x, y);
  auto const fill = [](std::span<float> in, std::span<float> target) {
    in[0] = target[0] = 1;
    return true;
  };
  [[maybe_unused]] std::vector<std::vector<float>> const nested;
#if defined(misuse_local_slices_without_strategy)
  data::from_local_slices(x, y).batch(GlobalBatch{8});
#elif defined(misuse_local_slices_of_three_arrays)
  data::from_local_slices(x, y, y);
#elif defined(misuse_local_slices_of_pointers)
  data::from_local_slices(strategy, x.data(), y.data());
#elif defined(misuse_slices_of_pointers)
  data::from_tensor_slices(x.data(), y.data()).batch(GlobalBatch{8});
#elif defined(misuse_slices_of_nested_vectors)
  data::from_tensor_slices(nested, y);
#elif defined(misuse_slices_of_braces)
  data::from_tensor_slices({{1.f, 2.f}, {3.f, 4.f}}, {0, 1});
#elif defined(misuse_slices_of_a_list)
  data::from_tensor_slices({1.f, 2.f});
#elif defined(misuse_targets_of_braces)
  data::from_tensor_slices(x, {0, 1});
#elif defined(misuse_inputs_in_braces)
  data::from_tensor_slices({x, x}, y);
#elif defined(misuse_slices_of_four_arrays)
  data::from_tensor_slices(x, x, y, y);
#elif defined(misuse_batch_of_a_number)
  samples.batch(8);
#elif defined(misuse_shuffle_without_arguments)
  samples.shuffle().batch(GlobalBatch{8});
#elif defined(misuse_shuffle_without_seed)
  samples.shuffle(100);
#elif defined(misuse_generator_without_make)
  data::from_generator<float, float>({3}, {1}, fill);
#elif defined(misuse_generator_of_another_signature)
  data::from_generator<float, float>({3}, {1}, [] { return [](std::span<float>) { return true; }; });
#elif defined(misuse_generator_without_extents)
  data::from_generator<float, float>([fill] { return fill; });
#elif defined(misuse_generator_without_extents_of_the_target)
  data::from_generator<float, float>({3}, [fill] { return fill; });
#else
  data::from_local_slices(strategy, x, y);
  data::from_local_slices(strategy, std::vector<float>{1}, std::vector<int>{1}, y);
  data::from_tensor_slices(std::vector<float>{1}, std::vector{1});
  data::from_tensor_slices(x, y, y);
  data::from_tensor_slices(std::tie(x, y), y);
  data::from_tensor_slices(std::initializer_list<float>{1, 2});
  samples.shuffle(1e2, 7).batch({GlobalBatch{8}});
  samples.batch(PerReplicaBatch{8});
  data::from_generator<float, float>({3}, {1}, [fill] { return fill; });
  data::from_generator<float, float>({3}, {1}, [fill](std::uint64_t) { return fill; });
#endif
}
