// The C++20 face of libferrule: RAII, spans and results over the C API. Header only; nothing throws
// but what the standard library throws when memory runs out.
#pragma once

#if __cplusplus < 202002L
#error "ferrule.hpp wants C++20: -std=c++20, or CMAKE_CXX_STANDARD 20"
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ferrule/ferrule.h"

namespace ferrule::api {

struct Error {
  int32_t code = 0;
  std::string text;
};

// A value, or the Error that says why there is none.
template <class T>
class Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}
  Expected(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return value_.has_value(); }
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return &*value_; }
  const Error& error() const { return error_; }

 private:
  std::optional<T> value_;
  Error error_;
};

template <class T>
constexpr uint32_t type_of() {
  using U = std::remove_cv_t<T>;
  constexpr uint32_t kSigned[] = {FERRULE_I8, FERRULE_I16, FERRULE_I32, FERRULE_I64},
                     kUnsigned[] = {FERRULE_U8, FERRULE_U16, FERRULE_U32, FERRULE_U64};
  if constexpr (std::is_same_v<U, double>)
    return FERRULE_F64;
  else if constexpr (std::is_same_v<U, float>)
    return FERRULE_F32;
  else if constexpr (std::is_same_v<U, bool>)
    return FERRULE_BOOL;
  else
    return (std::is_signed_v<U> ? kSigned : kUnsigned)[std::countr_zero(sizeof(U))];
}

// A named view of the caller's elements; they must outlive the run.
//   shapes  the product of `extents` is elements.size()
template <class T>
ferrule_tensor tensor(const char* name, std::span<const T> elements,
                      std::span<const int64_t> extents) {
  ferrule_tensor out{name, elements.data(),          elements.size_bytes(),
                     {},   uint32_t(extents.size()), type_of<T>()};
  for (size_t i = 0; i < extents.size() && i < FERRULE_MAX_RANK; ++i) out.extents[i] = extents[i];
  return out;
}

// All outputs of one run; tensors live as long as this.
class Outputs {
 public:
  explicit Outputs(ferrule_result* result) : result_(result, ferrule_result_close) {}
  uint32_t size() const { return ferrule_result_n(result_.get()); }
  ferrule_tensor operator[](uint32_t number) const {
    ferrule_tensor out{};
    ferrule_result_tensor(result_.get(), number, &out);
    return out;
  }
  // The elements of an output; empty if its type is another.
  template <class T>
  std::span<const T> elements(uint32_t number) const {
    const ferrule_tensor t = (*this)[number];
    if (t.type != type_of<T>()) return {};
    return {static_cast<const T*>(t.data), size_t(t.size_bytes / sizeof(T))};
  }

 private:
  std::shared_ptr<ferrule_result> result_;
};

class Stream {
 public:
  explicit Stream(ferrule_stream* stream) : stream_(stream, ferrule_stream_close) {}
  Expected<Outputs> run(std::span<const ferrule_tensor> inputs) {
    ferrule_error error{};
    ferrule_result* result = nullptr;
    if (ferrule_stream_run(stream_.get(), inputs.data(), uint32_t(inputs.size()), &result, &error))
      return Error{error.code, error.text};
    return Outputs(result);
  }

 private:
  std::shared_ptr<ferrule_stream> stream_;
};

class Session {
 public:
  explicit Session(ferrule_session* session) : session_(session, ferrule_session_close) {}
  Expected<Outputs> run(std::span<const ferrule_tensor> inputs) const {
    ferrule_error error{};
    ferrule_result* result = nullptr;
    if (ferrule_run(session_.get(), inputs.data(), uint32_t(inputs.size()), &result, &error))
      return Error{error.code, error.text};
    return Outputs(result);
  }
  // states: input -> the output that is its next value
  Expected<Stream> stream(const std::map<std::string, std::string>& states) const {
    std::vector<const char*> names;
    for (const auto& [input, output] : states)
      names.push_back(input.c_str()), names.push_back(output.c_str());
    ferrule_error error{};
    ferrule_stream* stream = nullptr;
    if (ferrule_stream_open(session_.get(), names.data(), uint32_t(states.size()), &stream, &error))
      return Error{error.code, error.text};
    return Stream(stream);
  }
  std::vector<ferrule_value> inputs() const {
    std::vector<ferrule_value> out(ferrule_n_inputs(session_.get()));
    for (uint32_t i = 0; i < out.size(); ++i) ferrule_input(session_.get(), i, &out[i]);
    return out;
  }
  std::vector<ferrule_value> outputs() const {
    std::vector<ferrule_value> out(ferrule_n_outputs(session_.get()));
    for (uint32_t i = 0; i < out.size(); ++i) ferrule_output(session_.get(), i, &out[i]);
    return out;
  }

 private:
  std::shared_ptr<ferrule_session> session_;
};

class Runtime {
 public:
  static Expected<Runtime> open(ferrule_options options = {}) {
    options.size = sizeof options;
    ferrule_error error{};
    ferrule_runtime* runtime = nullptr;
    if (ferrule_open(&options, &runtime, &error)) return Error{error.code, error.text};
    return Runtime(runtime);
  }
  Expected<Session> load(const std::string& path) const {
    ferrule_error error{};
    ferrule_session* session = nullptr;
    if (ferrule_load(runtime_.get(), path.c_str(), &session, &error))
      return Error{error.code, error.text};
    return Session(session);
  }
  Expected<Session> load(std::span<const std::byte> bytes) const {
    ferrule_error error{};
    ferrule_session* session = nullptr;
    if (ferrule_load_bytes(runtime_.get(), bytes.data(), bytes.size(), &session, &error))
      return Error{error.code, error.text};
    return Session(session);
  }
  std::vector<ferrule_verdict> verdicts() const {
    std::vector<ferrule_verdict> out(ferrule_n_verdicts(runtime_.get()));
    for (uint32_t i = 0; i < out.size(); ++i) ferrule_get_verdict(runtime_.get(), i, &out[i]);
    return out;
  }

 private:
  explicit Runtime(ferrule_runtime* runtime) : runtime_(runtime, ferrule_close) {}
  std::shared_ptr<ferrule_runtime> runtime_;
};

}  // namespace ferrule::api
