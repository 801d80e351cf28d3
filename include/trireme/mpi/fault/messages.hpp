/// Output for messages about the run, as EnvironmentOptions::messages sets it.
#pragma once

#include <cstdio>

namespace trireme::detail {

/// Null: nowhere.
inline std::FILE*& messages() {
  static std::FILE* file = stderr;
  return file;
}

/// Scope of an Environment's choice of `messages`.
class MessageScope {
 public:
  explicit MessageScope(std::FILE* file) : outer_(messages()) { messages() = file; }
  ~MessageScope() { messages() = outer_; }
  MessageScope(MessageScope const&) = delete;
  MessageScope& operator=(MessageScope const&) = delete;

 private:
  std::FILE* outer_;
};

}  // namespace trireme::detail
