#include "tools/ferrule/npy.h"

#include <cstdio>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

struct Descr {
  const char* text;
  Type type;
};
constexpr Descr kDescrs[] = {{"<f8", Type::f64}, {"<f4", Type::f32}, {"<f2", Type::f16},
                             {"|i1", Type::i8},  {"<i2", Type::i16}, {"<i4", Type::i32},
                             {"<i8", Type::i64}, {"|u1", Type::u8},  {"<u2", Type::u16},
                             {"<u4", Type::u32}, {"<u8", Type::u64}, {"|b1", Type::boolean}};

Status wrong(std::string text) { return Status(Code::invalid_argument, "npy: " + text); }

// The text after 'key': in the header, up to `end`.
std::string field(const std::string& header, const std::string& key, char end) {
  const size_t at = header.find("'" + key + "'");
  if (at == std::string::npos) return {};
  const size_t colon = header.find(':', at);
  const size_t stop = header.find(end, colon);
  if (colon == std::string::npos || stop == std::string::npos) return {};
  return std::string(trim(std::string_view(header).substr(colon + 1, stop - colon - 1)));
}

Result<Shape> shape_of(const std::string& header) {
  std::string text = field(header, "shape", ')');
  if (text.empty() || text[0] != '(') return wrong("want a shape in the header");
  std::vector<int64_t> extents;
  for (const std::string& part : split(text.substr(1), ',')) {
    if (trim(part).empty()) continue;
    const auto extent = parse_int(trim(part));
    if (!extent) return wrong(cat("want extents, got ", part));
    extents.push_back(*extent);
  }
  return Shape::checked(extents);
}

}  // namespace

Result<Tensor> parse_npy(Bytes bytes, std::shared_ptr<const void> owner) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() < 12 || std::memcmp(p, "\x93NUMPY", 6) != 0)
    return wrong("want an .npy file, got something else");
  const size_t length_bytes = p[6] == 1 ? 2 : 4;
  size_t header_n = p[8] | size_t(p[9]) << 8;
  if (length_bytes == 4) header_n |= size_t(p[10]) << 16 | size_t(p[11]) << 24;
  const size_t start = 8 + length_bytes + header_n;
  if (start > bytes.size()) return wrong("want a whole header, the file is cut");
  const std::string header(reinterpret_cast<const char*>(p) + 8 + length_bytes, header_n);
  std::string descr = field(header, "descr", ',');
  if (descr.size() >= 2) descr = descr.substr(1, descr.size() - 2);
  if (field(header, "fortran_order", ',') != "False") return wrong("want C order");
  Type type = Type::none;
  for (const Descr& row : kDescrs)
    if (descr == row.text) type = row.type;
  if (type == Type::none)
    return Status(Code::unsupported, cat("npy: want numbers or bool, got type ", descr));
  FRL_LET(const Shape shape, shape_of(header));
  const TensorType tensor_type{type, shape};
  int64_t size = 0;
  if (!checked_mul(shape.n_elements(), size_bytes(type), &size) ||
      uint64_t(size) != bytes.size() - start)
    return wrong(cat("want ", to_string(tensor_type), ", got ", bytes.size() - start, " bytes"));
  const Bytes elements = bytes.subspan(start);
  if (reinterpret_cast<uint64_t>(elements.data()) % 64 == 0)
    return Tensor(tensor_type, elements, std::move(owner));
  Tensor out(tensor_type);
  std::memcpy(out.mutable_data(), elements.data(), elements.size());
  return out;
}

Result<Tensor> read_npy(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  return parse_npy(file.bytes(), file.owner()).within(path);
}

Status write_npy(const std::string& path, const Tensor& tensor) {
  Tensor out = tensor;
  if (tensor.element() == Type::bf16) {
    out = Tensor(TensorType{Type::f32, tensor.shape()});
    for (int64_t i = 0; i < tensor.n_elements(); ++i) out.set_f64(i, tensor.at_f64(i));
  }
  std::string descr, dims;
  for (const Descr& row : kDescrs)
    if (row.type == out.element()) descr = row.text;
  for (size_t i = 0; i < out.shape().rank(); ++i) dims += cat(out.shape()[i], ",");
  std::string header =
      cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", dims, "), }");
  header.resize((header.size() + 11) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  const unsigned char prefix[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)};
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return Status(Code::not_found, cat(path, ": cannot be written"));
  bool ok = std::fwrite(prefix, 1, 10, file) == 10 &&
            std::fwrite(header.data(), 1, header.size(), file) == header.size();
  ok &= std::fwrite(out.bytes().data(), 1, out.bytes().size(), file) == out.bytes().size();
  ok &= std::fclose(file) == 0;
  return ok ? Status() : Status(Code::not_found, cat(path, ": cannot be written"));
}

}  // namespace ferrule::cli
