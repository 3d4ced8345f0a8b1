// Status and Result: how every fallible function of the core answers. Codes are those of the C ABI.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "plugin-api/frl_plugin.h"

namespace ferrule {

enum class Code : int32_t {
  ok = FRL_OK,
  invalid_argument = FRL_INVALID,
  internal = FRL_INTERNAL,
  incompatible = FRL_INCOMPATIBLE,
  no_memory = FRL_NO_MEMORY,
  device_lost = FRL_DEVICE_LOST,
  timed_out = FRL_TIMED_OUT,
  cancelled = FRL_CANCELLED,
  not_claimed = FRL_NOT_CLAIMED,
  stale = FRL_STALE,
  foreign = FRL_FOREIGN,
  driver_missing = FRL_DRIVER_MISSING,
  driver_old = FRL_DRIVER_OLD,
  denied = FRL_DENIED,
  busy = FRL_BUSY,
  // A backend's "no".
  no_type = FRL_NO_TYPE,
  no_shape = FRL_NO_SHAPE,
  no_layout = FRL_NO_LAYOUT,
  no_attribute = FRL_NO_ATTRIBUTE,
  no_body = FRL_NO_BODY,
  no_room = FRL_NO_ROOM,
  no_benefit = FRL_NO_BENEFIT,
  // The core's own; they never cross the C ABI to a plugin.
  not_found = 1000,
  unsupported = 1001,
  no_device = 1002,
  out_of_limits = 1003,
};

// "invalid_argument", for reports and JSON.
const char* code_name(Code code);

// Code and message; the message has the form "what: want X, got Y" and is empty for ok.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::ok; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // Puts "what: " in front of the message; each layer does so once. No effect on ok.
  Status within(const std::string& what) && {
    if (!ok()) message_.insert(0, what + ": ");
    return std::move(*this);
  }

 private:
  Code code_ = Code::ok;
  std::string message_;
};

// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status&& status() && { return std::move(status_); }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }

  Result within(const std::string& what) && {
    if (!ok()) status_ = std::move(status_).within(what);
    return std::move(*this);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace ferrule

#define FRL_JOIN_(a, b) a##b
#define FRL_JOIN(a, b) FRL_JOIN_(a, b)

// Returns the status of `expr` from this function unless it is ok.
#define FRL_TRY(expr)                                      \
  do {                                                     \
    if (auto frl_status_ = (expr); !frl_status_.ok())      \
      return ::ferrule::status_of(std::move(frl_status_)); \
  } while (false)

// FRL_LET(const Graph graph, import(model)): declares, or returns the status.
#define FRL_LET(decl, expr) FRL_LET_(FRL_JOIN(frl_result_, __LINE__), decl, expr)
#define FRL_LET_(name, decl, expr)                              \
  auto name = (expr);                                           \
  if (!name.ok()) return ::ferrule::status_of(std::move(name)); \
  decl = std::move(name).value()

namespace ferrule {

// What fn() answers; where memory ran out below, Code::no_memory. Entry points of the library wrap
// themselves in it: models say how large tensors are.
template <class Fn>
auto within_memory(Fn&& fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const std::bad_alloc& error) {
    return Status(Code::no_memory, std::string("memory: ") + error.what());
  } catch (const std::length_error&) {
    return Status(Code::no_memory, "memory: want more than can be addressed");
  }
}

inline Status status_of(Status&& status) { return std::move(status); }
template <class T>
Status status_of(Result<T>&& result) {
  return std::move(result).status();
}

}  // namespace ferrule
