/// The protocol buffers in TensorBoard's event files: messages `Event` of TensorFlow's event.proto, serialised.
#pragma once

#ifdef TRIREME_HAVE_PROTOZERO

#include <cstdint>
#include <string>

#include <protozero/pbf_writer.hpp>

namespace trireme::io {

/// One point of a curve.
struct ScalarEvent {
  std::string tag{};
  std::uint64_t step = 0;
  double value = 0;
};

/// The event with which a file begins. \param time  seconds since 1970
std::string version_message(double time);

/// A scalar as TensorFlow 2 writes it: a tensor of one float, marked for the plugin "scalars".
std::string scalar_message(double time, ScalarEvent const& scalar);

namespace detail {
// Numbers of the fields in event.proto, summary.proto, tensor.proto and types.proto.
enum class EventField : protozero::pbf_tag_type { wall_time = 1, step = 2, file_version = 3, summary = 5 };
enum class SummaryField : protozero::pbf_tag_type { value = 1 };
enum class ValueField : protozero::pbf_tag_type { tag = 1, tensor = 8, metadata = 9 };
enum class MetadataField : protozero::pbf_tag_type { plugin_data = 1 };
enum class PluginField : protozero::pbf_tag_type { plugin_name = 1 };
enum class TensorField : protozero::pbf_tag_type { dtype = 1, tensor_shape = 2, float_val = 5 };
constexpr std::int32_t dtype_float = 1;

constexpr protozero::pbf_tag_type tag(auto field) { return static_cast<protozero::pbf_tag_type>(field); }
}  // namespace detail

}  // namespace trireme::io

#endif  // TRIREME_HAVE_PROTOZERO

#ifndef TRIREME_COMPILED
#include "trireme/io/event_file_message.ipp"
#endif
