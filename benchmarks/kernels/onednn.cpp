// Convolutions of cnn and resnet18 and the LSTM of lstm_b32, of one thread: our layers against oneDNN's primitives.
//
// OMP_NUM_THREADS=1 onednn
//
// oneDNN chooses every memory layout, weights' too, and what brings values there and back is not counted: these are its
// best times. Convolutions have no activation on either side.
#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <trireme/layers/conv2d.hpp>
#include <trireme/layers/lstm.hpp>

#include "layer.hpp"
#include "main.hpp"

namespace {

namespace tr = trireme;
using dnnl::memory;
using dnnl::prop_kind;

dnnl::engine const& cpu() {
  static dnnl::engine const engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

using Arguments = std::unordered_map<int, memory>;

/// Memory of different numbers.
memory filled(memory::desc const& description) {
  memory result(description, cpu());
  auto const values = bench::varied(description.get_size() / 4);
  std::copy(values.begin(), values.end(), static_cast<float*>(result.get_data_handle()));
  return result;
}

void run(benchmark::State& state, std::size_t rows, std::vector<std::pair<dnnl::primitive, Arguments>> const& steps) {
  dnnl::stream stream(cpu());
  for (auto _ : state) {
    for (auto const& [primitive, arguments] : steps) primitive.execute(stream, arguments);
    stream.wait();
  }
  bench::report_samples(state, rows);
}

memory::desc any(memory::dims const& extents) {
  return memory::desc(extents, memory::data_type::f32, memory::format_tag::any);
}

/// oneDNN's descriptors of a Conv2D.
template <class Layer, class In, std::size_t Rows>
struct Convolution {
  static constexpr bool has_bias = Layer::use_bias;
  tr::Window2D window = Layer{}.window(In{});
  memory::dims strides{signed_size(window.height.stride), signed_size(window.width.stride)};
  memory::dims before{signed_size(window.height.padding), signed_size(window.width.padding)};
  memory::dims after{behind(window.height), behind(window.width)};
  memory::desc x = any({Rows, channels(), signed_size(window.height.in), signed_size(window.width.in)});
  memory::desc w = any({filters(), channels(), signed_size(window.height.window), signed_size(window.width.window)});
  memory::desc y = any({Rows, filters(), signed_size(window.height.out), signed_size(window.width.out)});
  memory::desc b = has_bias ? memory::desc({filters()}, memory::data_type::f32, memory::format_tag::a) : memory::desc();

  static memory::dim signed_size(std::size_t n) { return static_cast<memory::dim>(n); }
  static memory::dim behind(tr::WindowAxis const& a) {
    std::size_t const reach = (a.out - 1) * a.stride + a.window;
    return reach > a.in + a.padding ? signed_size(reach - a.in - a.padding) : 0;
  }
  memory::dim channels() const { return signed_size(window.channels); }
  static memory::dim filters() { return signed_size(std::size_t{Layer{}.filters}); }

  auto forward() const {
    dnnl::convolution_forward::desc const what(prop_kind::forward_training, dnnl::algorithm::convolution_direct, x, w,
                                               b, y, strides, before, after);
    return dnnl::convolution_forward::primitive_desc(what, cpu());
  }
  auto backward_data() const {
    dnnl::convolution_backward_data::desc const what(dnnl::algorithm::convolution_direct, x, w, y, strides, before,
                                                     after);
    return dnnl::convolution_backward_data::primitive_desc(what, cpu(), forward());
  }
  auto backward_weights() const {
    dnnl::convolution_backward_weights::desc const what(dnnl::algorithm::convolution_direct, x, w, b, y, strides,
                                                        before, after);
    return dnnl::convolution_backward_weights::primitive_desc(what, cpu(), forward());
  }
};

template <class Layer, class In, std::size_t Rows = 16>
void onednn_forward(benchmark::State& state) {
  Convolution<Layer, In, Rows> const c;
  auto const f = c.forward();
  Arguments arguments{{DNNL_ARG_SRC, filled(f.src_desc())},
                      {DNNL_ARG_WEIGHTS, filled(f.weights_desc())},
                      {DNNL_ARG_DST, filled(f.dst_desc())}};
  if (c.has_bias) arguments.insert({DNNL_ARG_BIAS, filled(c.b)});
  run(state, Rows, {{dnnl::convolution_forward(f), arguments}});
}

template <class Layer, class In, std::size_t Rows = 16>
void onednn_backward(benchmark::State& state) {
  Convolution<Layer, In, Rows> const c;
  auto const data = c.backward_data();
  auto const weights = c.backward_weights();
  Arguments of_weights{{DNNL_ARG_SRC, filled(weights.src_desc())},
                       {DNNL_ARG_DIFF_DST, filled(weights.diff_dst_desc())},
                       {DNNL_ARG_DIFF_WEIGHTS, filled(weights.diff_weights_desc())}};
  if (c.has_bias) of_weights.insert({DNNL_ARG_DIFF_BIAS, filled(c.b)});
  run(state, Rows,
      {{dnnl::convolution_backward_data(data),
        {{DNNL_ARG_DIFF_DST, filled(data.diff_dst_desc())},
         {DNNL_ARG_WEIGHTS, filled(data.weights_desc())},
         {DNNL_ARG_DIFF_SRC, filled(data.diff_src_desc())}}},
       {dnnl::convolution_backward_weights(weights), of_weights}});
}

/// Both sides of a convolution.
#define TRIREME_COMPARE(...)               \
  BENCHMARK(bench::forward<__VA_ARGS__>);  \
  BENCHMARK(onednn_forward<__VA_ARGS__>);  \
  BENCHMARK(bench::backward<__VA_ARGS__>); \
  BENCHMARK(onednn_backward<__VA_ARGS__>)

template <std::size_t Filters, std::size_t Size = 3, std::size_t Stride = 1>
using Same = tr::Conv2D<Filters, Size, Size, tr::Same, tr::Strides<Stride, Stride>, tr::NoBias>;

TRIREME_COMPARE(tr::Conv2D<32, 3, 3>, tr::Extents<28, 28, 1>);
TRIREME_COMPARE(tr::Conv2D<64, 3, 3>, tr::Extents<13, 13, 32>);
TRIREME_COMPARE(Same<64>, tr::Extents<32, 32, 3>);
TRIREME_COMPARE(Same<64>, tr::Extents<32, 32, 64>);
TRIREME_COMPARE(Same<128, 3, 2>, tr::Extents<32, 32, 64>);
TRIREME_COMPARE(Same<128, 1, 2>, tr::Extents<32, 32, 64>);
TRIREME_COMPARE(Same<128>, tr::Extents<16, 16, 128>);
TRIREME_COMPARE(Same<256>, tr::Extents<8, 8, 256>);
TRIREME_COMPARE(Same<512>, tr::Extents<4, 4, 512>);

/// The LSTM of lstm_b32, all rows on one thread.
struct Lstm {
  static constexpr memory::dim time = 64, rows = 32, features = 32, units = 128;
  memory::desc x = any({time, rows, features}), h = any({time, rows, units}), none{};
  memory::desc kernel = any({1, 1, features, 4, units}), recurrent = any({1, 1, units, 4, units});
  memory::desc bias = any({1, 1, 4, units});

  auto forward() const {
    dnnl::lstm_forward::desc const what(prop_kind::forward_training, dnnl::rnn_direction::unidirectional_left2right, x,
                                        none, none, kernel, recurrent, bias, h, none, none);
    return dnnl::lstm_forward::primitive_desc(what, cpu());
  }
  auto backward() const {
    dnnl::lstm_backward::desc const what(prop_kind::backward, dnnl::rnn_direction::unidirectional_left2right, x, none,
                                         none, kernel, recurrent, bias, h, none, none, x, none, none, kernel, recurrent,
                                         bias, h, none, none);
    return dnnl::lstm_backward::primitive_desc(what, cpu(), forward());
  }
};

Arguments lstm_arguments(dnnl::lstm_forward::primitive_desc const& f) {
  return {
      {DNNL_ARG_SRC_LAYER, filled(f.src_layer_desc())},       {DNNL_ARG_WEIGHTS_LAYER, filled(f.weights_layer_desc())},
      {DNNL_ARG_WEIGHTS_ITER, filled(f.weights_iter_desc())}, {DNNL_ARG_BIAS, filled(f.bias_desc())},
      {DNNL_ARG_DST_LAYER, filled(f.dst_layer_desc())},       {DNNL_ARG_WORKSPACE, memory(f.workspace_desc(), cpu())}};
}

void onednn_lstm_forward(benchmark::State& state) {
  auto const f = Lstm().forward();
  run(state, Lstm::rows, {{dnnl::lstm_forward(f), lstm_arguments(f)}});
}

void onednn_lstm_backward(benchmark::State& state) {
  Lstm const lstm;
  auto const f = lstm.forward();
  auto const b = lstm.backward();
  Arguments arguments = lstm_arguments(f);
  dnnl::stream stream(cpu());
  dnnl::lstm_forward(f).execute(stream, arguments);
  stream.wait();
  arguments[DNNL_ARG_WEIGHTS_LAYER] = filled(b.weights_layer_desc());
  arguments[DNNL_ARG_WEIGHTS_ITER] = filled(b.weights_iter_desc());
  arguments[DNNL_ARG_DIFF_SRC_LAYER] = filled(b.diff_src_layer_desc());
  arguments[DNNL_ARG_DIFF_WEIGHTS_LAYER] = filled(b.diff_weights_layer_desc());
  arguments[DNNL_ARG_DIFF_WEIGHTS_ITER] = filled(b.diff_weights_iter_desc());
  arguments[DNNL_ARG_DIFF_BIAS] = filled(b.diff_bias_desc());
  arguments[DNNL_ARG_DIFF_DST_LAYER] = filled(b.diff_dst_layer_desc());
  run(state, Lstm::rows, {{dnnl::lstm_backward(b), arguments}});
}

BENCHMARK(bench::forward<tr::LSTM<128>, tr::Extents<64, 32>, 32>);
BENCHMARK(onednn_lstm_forward);
BENCHMARK(bench::backward<tr::LSTM<128>, tr::Extents<64, 32>, 32>);
BENCHMARK(onednn_lstm_backward);

}  // namespace

int main(int argc, char** argv) { return run_benchmarks(argc, argv); }
