// Model files by hand: messages are strings of bytes, written field by field.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/model/model.h"

namespace ferrule::build {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += char(value | 0x80);
  return out + char(value);
}
inline std::string number(int field, uint64_t value) {
  return cat(varint(uint64_t(field) << 3), varint(value));
}
inline std::string bytes(int field, const std::string& content) {
  return cat(varint(uint64_t(field) << 3 | 2), varint(content.size()), content);
}
inline std::string real(int field, float value) {
  std::string out(4, '\0');
  std::memcpy(out.data(), &value, 4);
  return cat(varint(uint64_t(field) << 3 | 5), out);
}

// Attributes, complete with their field in the node.
inline std::string attribute(const std::string& content) { return bytes(5, content); }
inline std::string i(const std::string& name, int64_t value) {
  return attribute(bytes(1, name) + number(3, uint64_t(value)) + number(20, 2));
}
inline std::string f(const std::string& name, float value) {
  return attribute(bytes(1, name) + real(2, value) + number(20, 1));
}
inline std::string text(const std::string& name, const std::string& value) {
  return attribute(bytes(1, name) + bytes(4, value) + number(20, 3));
}
inline std::string ints(const std::string& name, const std::vector<int64_t>& values) {
  std::string out = bytes(1, name) + number(20, 7);
  for (const int64_t value : values) out += number(8, uint64_t(value));
  return attribute(out);
}
inline std::string graph_attribute(const std::string& name, const std::string& graph) {
  return attribute(bytes(1, name) + bytes(6, graph) + number(20, 5));
}
inline std::string reference(const std::string& name, const std::string& of, int type) {
  return attribute(bytes(1, name) + bytes(21, of) + number(20, uint64_t(type)));
}

// A node, complete with its field in a graph (1) or a function (7).
inline std::string node(const std::string& op, const std::vector<std::string>& in,
                        const std::vector<std::string>& out, const std::string& attributes = "",
                        const std::string& domain = "", int field = 1) {
  std::string content;
  for (const std::string& name : in) content += bytes(1, name);
  for (const std::string& name : out) content += bytes(2, name);
  content += bytes(3, out.empty() ? "lost" : cat("n_", out[0])) + bytes(4, op) + attributes;
  if (!domain.empty()) content += bytes(7, domain);
  return bytes(field, content);
}

// A value with a type; a dim of -1 is the symbol "n".
inline std::string value(const std::string& name, int type, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t dim : dims)
    shape += bytes(1, dim == -1 ? bytes(2, "n") : number(1, uint64_t(dim)));
  return bytes(1, name) + bytes(2, bytes(1, number(1, uint64_t(type)) + bytes(2, shape)));
}
inline std::string input(const std::string& name, int type, const std::vector<int64_t>& dims) {
  return bytes(11, value(name, type, dims));
}
inline std::string output(const std::string& name) { return bytes(12, bytes(1, name)); }

inline std::string tensor(const std::string& name, int type, const std::vector<int64_t>& dims,
                          const std::string& raw) {
  std::string out;
  for (const int64_t dim : dims) out += number(1, uint64_t(dim));
  return out + number(2, uint64_t(type)) + bytes(8, name) + bytes(9, raw);
}
template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
inline std::string initializer(const std::string& tensor) { return bytes(5, tensor); }

inline std::string model(const std::string& graph, int64_t opset = 17,
                         const std::string& rest = "") {
  return number(1, 8) + bytes(8, bytes(1, "") + number(2, uint64_t(opset))) + bytes(7, graph) +
         rest;
}

// A parsed model; the bytes live as long as it.
inline Result<Model> parse(const std::string& file) {
  auto kept = std::make_shared<const std::string>(file);
  return Model::parse(std::as_bytes(std::span(*kept)), kept, "");
}

constexpr int kF32 = 1, kI64 = 7, kBool = 9;

}  // namespace ferrule::build
