/// Buffers: arrays on a device, and events that are ready when an operation there is complete.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "trireme/pjrt/lowering/tensor_type.hpp"
#include "trireme/pjrt/runtime/client.hpp"

namespace trireme::pjrt {

using lowering::TensorType;

/// PJRT's type of an element.
constexpr PJRT_Buffer_Type buffer_type(lowering::Element element) {
  switch (element) {
    case lowering::Element::f32:
      return PJRT_Buffer_Type_F32;
    case lowering::Element::f64:
      return PJRT_Buffer_Type_F64;
    case lowering::Element::i32:
      return PJRT_Buffer_Type_S32;
    case lowering::Element::ui32:
      return PJRT_Buffer_Type_U32;
    case lowering::Element::ui64:
      return PJRT_Buffer_Type_U64;
    case lowering::Element::i1:
      return PJRT_Buffer_Type_PRED;
  }
  return PJRT_Buffer_Type_INVALID;
}

/// An event of a device, ready when an operation there is complete. It keeps its client.
class Event {
 public:
  Event() = default;
  /// Owner of an event of the client.
  Event(Client const& client, PJRT_Event* event) : client_(client.shared_from_this()), event_(event) {}
  Event(Event&& other) noexcept : client_(std::move(other.client_)), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() { destroy(); }

  /// Waits, once. \throws PluginError if the event's operation failed
  void await() {
    if (!event_) return;
    auto arguments = sized<PJRT_Event_Await_Args, PJRT_Event_Await_Args_STRUCT_SIZE>();
    arguments.event = event_;
    client_->call(&PJRT_Api::PJRT_Event_Await, arguments, "PJRT_Event_Await");
    destroy();
  }

 private:
  void destroy() noexcept {
    if (!event_) return;
    auto arguments = sized<PJRT_Event_Destroy_Args, PJRT_Event_Destroy_Args_STRUCT_SIZE>();
    arguments.event = std::exchange(event_, nullptr);
    try {
      client_->call(&PJRT_Api::PJRT_Event_Destroy, arguments, "PJRT_Event_Destroy");
    } catch (PluginError const&) {  // a leak, at worst
    }
    client_.reset();
  }

  std::shared_ptr<Client const> client_;
  PJRT_Event* event_ = nullptr;
};

/// Owner of an array on one device. Donating it to a program frees the array; the handle still has to be destroyed.
/// It keeps its client, since a callback's snapshot may outlive the model, and one model may be assigned over another.
class Buffer {
 public:
  Buffer() = default;
  /// Owner of an array of this type on a device of the client.
  Buffer(Client const& client, PJRT_Buffer* buffer, TensorType const& type)
      : client_(client.shared_from_this()), buffer_(buffer), type_(type) {}
  Buffer(Buffer&& other) noexcept
      : client_(std::move(other.client_)), buffer_(std::exchange(other.buffer_, nullptr)), type_(other.type_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(buffer_, other.buffer_);
    std::swap(type_, other.type_);
    other.destroy();
    return *this;
  }
  ~Buffer() { destroy(); }

  /// Handle for calls of PJRT.
  PJRT_Buffer* handle() const { return buffer_; }
  /// Extents and type of the elements.
  TensorType const& type() const { return type_; }
  explicit operator bool() const { return buffer_ != nullptr; }

  /// Destroys the array and the handle, if there is one.
  void destroy() noexcept {
    if (!buffer_) return;
    auto arguments = sized<PJRT_Buffer_Destroy_Args, PJRT_Buffer_Destroy_Args_STRUCT_SIZE>();
    arguments.buffer = std::exchange(buffer_, nullptr);
    try {
      client_->call(&PJRT_Api::PJRT_Buffer_Destroy, arguments, "PJRT_Buffer_Destroy");
    } catch (PluginError const&) {
    }
    client_.reset();
  }

  /// Waits until it is computed, and copies it to host memory of type().bytes() bytes, in row-major order.
  void to_host(void* destination) const { copy_to_host(destination).await(); }
  /// The same without waiting.
  Event copy_to_host(void* destination) const {
    // Without a layout the elements come in the device's own order, which on TPUs is column-major for narrow arrays.
    std::array<std::int64_t, TensorType::max_rank> minor_to_major{};
    for (std::size_t i = 0; i < type_.rank; ++i) minor_to_major[i] = static_cast<std::int64_t>(type_.rank - 1 - i);
    auto layout = sized<PJRT_Buffer_MemoryLayout, PJRT_Buffer_MemoryLayout_STRUCT_SIZE>();
    layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
    layout.tiled = sized<PJRT_Buffer_MemoryLayout_Tiled, PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE>();
    layout.tiled.minor_to_major = minor_to_major.data();
    layout.tiled.minor_to_major_size = type_.rank;
    auto arguments = sized<PJRT_Buffer_ToHostBuffer_Args, PJRT_Buffer_ToHostBuffer_Args_STRUCT_SIZE>();
    arguments.src = buffer_;
    arguments.host_layout = &layout;
    arguments.dst = destination;
    arguments.dst_size = type_.bytes();
    client_->call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, arguments, "PJRT_Buffer_ToHostBuffer");
    return {*client_, arguments.event};
  }

 private:
  std::shared_ptr<Client const> client_;
  PJRT_Buffer* buffer_ = nullptr;
  TensorType type_;
};

/// A buffer that a device is filling, and the event after which the host's memory may change.
struct Upload {
  Buffer buffer;
  Event host_done;
};

namespace detail {
/// Elements are row-major on the host, where no strides are given.
inline Upload upload(Client const& client, std::size_t device, TensorType const& type, void const* data,
                     PJRT_HostBufferSemantics semantics) {
  auto arguments = sized<PJRT_Client_BufferFromHostBuffer_Args, PJRT_Client_BufferFromHostBuffer_Args_STRUCT_SIZE>();
  arguments.client = client.handle();
  arguments.data = data;
  arguments.type = buffer_type(type.element);
  arguments.dims = type.dims.data();
  arguments.num_dims = type.rank;
  arguments.host_buffer_semantics = semantics;
  arguments.device = client.devices()[device];
  client.call(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, arguments, "PJRT_Client_BufferFromHostBuffer");
  return {Buffer(client, arguments.buffer, type), Event(client, arguments.done_with_host_buffer)};
}
}  // namespace detail

/// A copy of host memory, in row-major order, on the device; the host memory may be changed again when this returns.
inline Buffer copy_to_device(Client const& client, std::size_t device, TensorType const& type, void const* data) {
  auto made = detail::upload(client, device, type, data, PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  made.host_done.await();
  return std::move(made.buffer);
}

/// The same without a copy: an array that may be the host memory itself if the device can read it (aligned to 64 bytes,
/// on a CPU). The memory must not change until the buffer is destroyed and the event is ready.
inline Upload lend_to_device(Client const& client, std::size_t device, TensorType const& type, void const* data) {
  return detail::upload(client, device, type, data, PJRT_HostBufferSemantics_kImmutableZeroCopy);
}

}  // namespace trireme::pjrt
