/// Definitions of trireme/mpi/shared_error.hpp.
#pragma once

#include "trireme/mpi/shared_error.hpp"

#include <exception>
#include <new>
#include <string>
#include <typeinfo>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"

namespace trireme::detail {

/// The error's text as a sentence on one line.
inline std::string sentence_of(std::exception const& error) {
  std::string what = one_line(error.what());
  if (what.empty()) what = formatted("an exception of type {} without a text", readable_type(typeid(error).name()));
  return what;
}

TRIREME_INLINE SharedError SharedError::from(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (FileError const& e) {
    return {Kind::file, sentence_of(e), e.path()};
  } catch (ShapeError const& e) {
    return {Kind::shape, sentence_of(e), {}};
  } catch (ValueError const& e) {
    return {Kind::value, sentence_of(e), {}};
  } catch (CommunicationError const& e) {
    return {Kind::communication, sentence_of(e), {}};
  } catch (std::bad_alloc const& e) {
    std::string const what = sentence_of(e);  // that of Kokkos is a sentence
    return {Kind::general, what == "std::bad_alloc" ? "there is not enough memory (std::bad_alloc)" : what, {}};
  } catch (std::exception const& e) {
    return {Kind::general, sentence_of(e), {}};
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
