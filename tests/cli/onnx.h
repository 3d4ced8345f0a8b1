// The least of an ONNX file's encoding that these tests need, by the numbers of onnx.proto.
#pragma once

#include <string>
#include <vector>

namespace ferrule::onnx_file {

inline std::string varint(uint64_t x) {
  std::string out;
  for (; x >= 0x80; x >>= 7) out += char(x | 0x80);
  return out + char(x);
}
inline std::string number(int field, uint64_t x) {
  return varint(uint64_t(field) << 3) + varint(x);
}
inline std::string bytes(int field, const std::string& text) {
  return varint(uint64_t(field) << 3 | 2) + varint(text.size()) + text;
}

// Dimensions that are digits are fixed, others symbols. The element type is float unless said.
inline std::string value(int field, const std::string& name, const std::vector<std::string>& dims,
                         int type = 1) {
  std::string shape;
  for (const std::string& dim : dims)
    shape += bytes(1, dim[0] <= '9' ? number(1, std::stoull(dim)) : bytes(2, dim));
  return bytes(field,
               bytes(1, name) + bytes(2, bytes(1, number(1, uint64_t(type)) + bytes(2, shape))));
}

struct Node {
  std::string op, output;
};

// Each node reads x and gives an output of x's shape.
inline std::string model(const std::vector<std::string>& dims, const std::vector<Node>& nodes,
                         int type = 1) {
  std::string graph = bytes(2, "g") + value(11, "x", dims, type);
  for (const Node& node : nodes)
    graph += bytes(1, bytes(1, "x") + bytes(2, node.output) + bytes(4, node.op)) +
             value(12, node.output, dims, type);
  return number(1, 8) + bytes(7, graph) + bytes(8, bytes(1, "") + number(2, 17));
}

}  // namespace ferrule::onnx_file
