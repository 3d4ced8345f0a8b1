// Protobuf's wire format: the fields of one message, each checked, with byte offsets in the errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/model/wire.h"

namespace ferrule::onnx {

enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number = 0;
  uint8_t wire = 0;
  uint64_t value = 0;  // of a varint
  Bytes bytes;         // the content; of a varint its own bytes
};

// The varint at `at`, which is moved past it; false if it is cut off or longer than ten bytes.
bool take_varint(Bytes bytes, size_t* at, uint64_t* out);

class FieldReader {
 public:
  explicit FieldReader(Bytes file) : file_(file) {}

  // Calls fn(field) for each field of a message of the file.
  template <class Fn>
  Status each(Bytes message, Fn fn) const {
    for (size_t at = 0; at < message.size();) {
      Field field;
      FRL_TRY(next(message, &at, &field));
      FRL_TRY(fn(field));
    }
    return {};
  }

  // Each takes one field, or says that it has another wire type. Lists take packed and lone
  // numbers.
  Status want(const Field& field, uint8_t wire) const;
  Status text(const Field& field, std::string_view& out) const;
  Status text(const Field& field, std::vector<std::string_view>& out) const;
  Status integer(const Field& field, int64_t& out) const;
  Status integers(const Field& field, std::vector<int64_t>& out) const;
  Status real(const Field& field, float& out) const;
  Status reals(const Field& field, std::vector<float>& out) const;
  // A repeated number that stays encoded.
  Status numbers(const Field& field, uint8_t wire, Numbers& out) const;

  Status fail(const std::byte* at, const std::string& what,
              Code code = Code::invalid_argument) const;

 private:
  Status next(Bytes message, size_t* at, Field* out) const;

  Bytes file_;
};

}  // namespace ferrule::onnx
