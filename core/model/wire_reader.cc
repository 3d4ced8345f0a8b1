#include "core/model/wire_reader.h"

#include <cstring>

#include "core/base/text.h"

namespace ferrule::onnx {
namespace {

constexpr const char* wire_name(uint8_t wire) {
  return wire == kVarint    ? "varint"
         : wire == kFixed64 ? "fixed64"
         : wire == kBytes   ? "bytes"
         : wire == kFixed32 ? "fixed32"
                            : "group";
}

}  // namespace

bool take_varint(Bytes bytes, size_t* at, uint64_t* out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (*at >= bytes.size()) return false;
    const auto byte = uint8_t(bytes[(*at)++]);
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return *out = value, true;
  }
  return false;
}

Status FieldReader::fail(const std::byte* at, const std::string& what, Code code) const {
  return Status(code, cat("byte ", at - file_.data(), ": ", what));
}

Status FieldReader::want(const Field& field, uint8_t wire) const {
  if (field.wire == wire) return {};
  return fail(field.bytes.data(), cat("field ", field.number, ": want ", wire_name(wire), ", got ",
                                      wire_name(field.wire)));
}

Status FieldReader::text(const Field& field, std::string_view& out) const {
  FRL_TRY(want(field, kBytes));
  out = {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
  return {};
}

Status FieldReader::text(const Field& field, std::vector<std::string_view>& out) const {
  return text(field, out.emplace_back());
}

Status FieldReader::integer(const Field& field, int64_t& out) const {
  FRL_TRY(want(field, kVarint));
  out = int64_t(field.value);
  return {};
}

Status FieldReader::real(const Field& field, float& out) const {
  FRL_TRY(want(field, kFixed32));
  std::memcpy(&out, field.bytes.data(), 4);
  return {};
}

Status FieldReader::numbers(const Field& field, uint8_t wire, Numbers& out) const {
  if (field.wire != kBytes) FRL_TRY(want(field, wire));
  const size_t size = wire == kFixed32 ? 4 : wire == kFixed64 ? 8 : 1;
  if (field.bytes.size() % size != 0)
    return fail(field.bytes.data(),
                cat("field ", field.number, ": want whole numbers of ", size, " bytes"));
  if (!field.bytes.empty()) out.chunks.push_back(field.bytes);
  return {};
}

Status FieldReader::next(Bytes message, size_t* at, Field* out) const {
  const std::byte* start = message.data() + *at;
  uint64_t key = 0;
  if (!take_varint(message, at, &key)) return fail(start, "want a field, got a cut-off varint");
  if (key >> 3 == 0 || key >> 3 > (1u << 29) - 1)
    return fail(start, cat("want a field number from 1 to 2^29 - 1, got ", key >> 3));
  out->number = uint32_t(key >> 3);
  out->wire = uint8_t(key & 7);
  const size_t content = *at;
  uint64_t size = 0;
  switch (out->wire) {
    case kVarint:
      if (!take_varint(message, at, &out->value))
        return fail(start, "want a varint, got a cut-off one");
      out->bytes = message.subspan(content, *at - content);
      return {};
    case kFixed64:
      size = 8;
      break;
    case kFixed32:
      size = 4;
      break;
    case kBytes:
      if (!take_varint(message, at, &size))
        return fail(start, "want a length, got a cut-off varint");
      break;
    default:
      return fail(
          start, cat("field ", out->number, ": want a wire type of 0, 1, 2 or 5, got ", out->wire));
  }
  if (size > message.size() - *at)
    return fail(start,
                cat("field ", out->number, ": want ", size, " bytes, got ", message.size() - *at));
  out->bytes = message.subspan(*at, size);
  *at += size;
  return {};
}

Status FieldReader::integers(const Field& field, std::vector<int64_t>& out) const {
  if (field.wire == kVarint) return out.push_back(int64_t(field.value)), Status();
  FRL_TRY(want(field, kBytes));
  for (size_t at = 0; at < field.bytes.size();) {
    uint64_t value = 0;
    if (!take_varint(field.bytes, &at, &value))
      return fail(field.bytes.data(),
                  cat("field ", field.number, ": want varints, got a cut-off one"));
    out.push_back(int64_t(value));
  }
  return {};
}

Status FieldReader::reals(const Field& field, std::vector<float>& out) const {
  if (field.wire == kFixed32) return real(field, out.emplace_back());
  FRL_TRY(want(field, kBytes));
  if (field.bytes.size() % 4 != 0)
    return fail(field.bytes.data(), cat("field ", field.number, ": want whole floats"));
  const size_t n = out.size();
  out.resize(n + field.bytes.size() / 4);
  if (!field.bytes.empty()) std::memcpy(out.data() + n, field.bytes.data(), field.bytes.size());
  return {};
}

bool decode_varints(const Numbers& numbers, int64_t n, std::vector<int64_t>* out) {
  int64_t count = 0;
  for (const Bytes chunk : numbers.chunks)
    for (const std::byte byte : chunk) count += uint8_t(byte) < 0x80;
  if (count != n) return false;
  out->reserve(size_t(n));
  for (const Bytes chunk : numbers.chunks)
    for (size_t at = 0; at < chunk.size();) {
      uint64_t value = 0;
      if (!take_varint(chunk, &at, &value)) return false;
      out->push_back(int64_t(value));
    }
  return out->size() == size_t(n);
}

bool decode_fixed(const Numbers& numbers, size_t size_bytes, void* out) {
  size_t at = 0;
  for (const Bytes chunk : numbers.chunks) at += chunk.size();
  if (at != size_bytes) return false;
  at = 0;
  for (const Bytes chunk : numbers.chunks) {
    std::memcpy(static_cast<std::byte*>(out) + at, chunk.data(), chunk.size());
    at += chunk.size();
  }
  return true;
}

}  // namespace ferrule::onnx
