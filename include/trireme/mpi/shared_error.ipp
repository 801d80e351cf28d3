/// Definitions of trireme/mpi/shared_error.hpp.
#pragma once

#include "trireme/mpi/shared_error.hpp"

#include <exception>
#include <new>
#include <string>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE SharedError SharedError::from(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (FileError const& e) {
    return {Kind::file, e.what(), e.path()};
  } catch (ShapeError const& e) {
    return {Kind::shape, e.what(), {}};
  } catch (ValueError const& e) {
    return {Kind::value, e.what(), {}};
  } catch (CommunicationError const& e) {
    return {Kind::communication, e.what(), {}};
  } catch (std::bad_alloc const& e) {
    std::string const what = e.what();  // that of Kokkos is a sentence
    return {Kind::general, what == "std::bad_alloc" ? "there is not enough memory (std::bad_alloc)" : what, {}};
  } catch (std::exception const& e) {
    return {Kind::general, e.what(), {}};
  } catch (...) {
    return {Kind::general, "an exception that is no std::exception", {}};
  }
}

TRIREME_INLINE void SharedError::raise(std::string const& origin) const {
  std::string const text = origin + message;
  switch (kind) {
    case Kind::shape:
      raise_uniform(ShapeError(text));
    case Kind::value:
      raise_uniform(ValueError(text));
    case Kind::file:
      raise_uniform(FileErrorElsewhere(path, text));
    case Kind::communication:
      raise_uniform(CommunicationError(text));
    case Kind::general:
      break;
  }
  raise_uniform(Error(text));
}

}  // namespace trireme::detail
