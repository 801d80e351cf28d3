/// Definitions of trireme/io/event_file_message.hpp.
#pragma once

#include "trireme/io/event_file_message.hpp"

#include <array>
#include <cstdint>
#include <string>

#ifdef TRIREME_HAVE_PROTOZERO
#include <protozero/pbf_writer.hpp>
#endif

#include "trireme/core/linkage.hpp"

#ifdef TRIREME_HAVE_PROTOZERO
namespace trireme::io {

TRIREME_INLINE std::string version_message(double time) {
  using namespace detail;
  std::string message;
  protozero::pbf_writer event(message);
  event.add_double(tag(EventField::wall_time), time);
  event.add_string(tag(EventField::file_version), "brain.Event:2");
  return message;
}

TRIREME_INLINE std::string scalar_message(double time, ScalarEvent const& scalar) {
  using namespace detail;
  std::string message;
  {  // a message is whole once its writer is gone
    protozero::pbf_writer event(message);
    event.add_double(tag(EventField::wall_time), time);
    event.add_int64(tag(EventField::step), static_cast<std::int64_t>(scalar.step));
    protozero::pbf_writer summary(event, tag(EventField::summary));
    protozero::pbf_writer value(summary, tag(SummaryField::value));
    value.add_string(tag(ValueField::tag), scalar.tag);
    {
      protozero::pbf_writer tensor(value, tag(ValueField::tensor));
      tensor.add_enum(tag(TensorField::dtype), dtype_float);
      tensor.add_message(tag(TensorField::tensor_shape), protozero::data_view{});
      std::array const values{static_cast<float>(scalar.value)};
      tensor.add_packed_float(tag(TensorField::float_val), values.begin(), values.end());
    }
    protozero::pbf_writer metadata(value, tag(ValueField::metadata));
    protozero::pbf_writer plugin(metadata, tag(MetadataField::plugin_data));
    plugin.add_string(tag(PluginField::plugin_name), "scalars");
  }
  return message;
}

}  // namespace trireme::io

#endif  // TRIREME_HAVE_PROTOZERO
