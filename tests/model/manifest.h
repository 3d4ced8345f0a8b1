// A model folder of tests/models: its manifest and its .npy files.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/op/tensor.h"

namespace ferrule {

struct NamedFile {
  std::string name, file;
  double rtol = 0, atol = 0;
};

struct Manifest {
  std::string model;
  std::vector<NamedFile> inputs, outputs;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The text after "key": up to the next comma or line, without quotes.
inline std::string json_field(const std::string& text, size_t from, size_t to,
                              const std::string& key) {
  const size_t at = text.find("\"" + key + "\":", from);
  if (at >= to) return "";
  const size_t start = at + key.size() + 3;
  std::string value(
      trim(std::string_view(text).substr(start, text.find_first_of(",\n", start) - start)));
  std::erase(value, '"');
  return value;
}

// Each entry of a list starts with its "name"; the shape of the file is what generate.py writes.
inline Manifest read_manifest(const std::string& folder) {
  const std::string text = read_text(folder + "/manifest.json");
  const size_t outputs = text.find("\"outputs\"");
  Manifest out{json_field(text, 0, text.size(), "model"), {}, {}};
  for (size_t at = text.find("\"name\""); at != std::string::npos;) {
    const size_t next = std::min(text.find("\"name\"", at + 1), text.size());
    NamedFile entry{json_field(text, at, next, "name"), json_field(text, at, next, "file")};
    entry.rtol = parse_double(json_field(text, at, next, "rtol")).value_or(0);
    entry.atol = parse_double(json_field(text, at, next, "atol")).value_or(0);
    if (!entry.file.empty()) (at < outputs ? out.inputs : out.outputs).push_back(entry);
    at = next == text.size() ? std::string::npos : next;
  }
  return out;
}

// A .npy file of version 1 or 2, C order, little-endian.
inline Result<Tensor> read_npy(const std::string& path) {
  static const std::map<std::string, Type> kTypes = {
      {"<f8", Type::f64}, {"<f4", Type::f32}, {"<f2", Type::f16},
      {"|i1", Type::i8},  {"<i2", Type::i16}, {"<i4", Type::i32},
      {"<i8", Type::i64}, {"|u1", Type::u8},  {"|b1", Type::boolean}};
  const std::string bytes = read_text(path);
  if (bytes.size() < 12 || bytes.compare(0, 6, "\x93NUMPY") != 0)
    return Status(Code::not_found, cat(path, ": want an .npy file"));
  const size_t start = bytes[6] == 1 ? 10 : 12;
  const size_t length = uint8_t(bytes[8]) + 256u * uint8_t(bytes[9]);
  const std::string header = bytes.substr(start, length);
  const size_t descr = header.find("'", header.find(':')) + 1;
  const size_t open = header.find('('), close = header.find(')');
  Shape shape;
  for (const std::string& part : split(header.substr(open + 1, close - open - 1), ','))
    if (const auto extent = parse_int(trim(part))) shape.push_back(*extent);
  const auto type = kTypes.find(header.substr(descr, 3));
  if (type == kTypes.end()) return Status(Code::unsupported, cat(path, ": ", header));
  Tensor out(TensorType{type->second, shape});
  if (bytes.size() - start - length != out.bytes().size())
    return Status(Code::invalid_argument, cat(path, ": wrong size"));
  if (!out.bytes().empty())
    std::memcpy(out.mutable_data(), bytes.data() + start + length, out.bytes().size());
  return out;
}

}  // namespace ferrule
