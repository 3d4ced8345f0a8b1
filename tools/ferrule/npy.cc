#include "tools/ferrule/npy.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/base/text.h"

namespace ferrule::cli {
namespace {

struct Descr {
  const char* text;
  Type type;
};
constexpr Descr kDescrs[] = {{"<f8", Type::f64},  {"<f4", Type::f32}, {"<f2", Type::f16},
                             {"|i1", Type::i8},   {"<i2", Type::i16}, {"<i4", Type::i32},
                             {"<i8", Type::i64},  {"|u1", Type::u8},  {"<u2", Type::u16},
                             {"<u4", Type::u32},  {"<u8", Type::u64}, {"|b1", Type::boolean},
                             {"<V2", Type::bf16}, {"|V2", Type::bf16}};

// What other types are, by the first characters that say so.
struct Reason {
  const char* begin;
  const char* want;
};
constexpr Reason kReasons[] = {{">", "little-endian numbers"},
                               {"<c", "real numbers"},
                               {"|O", "numbers or bool, not Python objects"},
                               {"<U", "numbers or bool, not text"},
                               {"|S", "numbers or bool, not text"},
                               {"", "numbers or bool"}};

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
  const std::string text = field(header, "shape", ')');
  if (text.empty() || text[0] != '(') return wrong("want a shape in the header, got none");
  std::vector<int64_t> extents;
  for (const std::string& part : split(text.substr(1), ',')) {
    if (trim(part).empty()) continue;
    const auto extent = parse_int(trim(part));
    if (!extent || *extent < 0) return wrong(cat("shape: want extents, got ", text, ")"));
    extents.push_back(*extent);
  }
  auto shape = Shape::checked(extents);
  return shape.ok() ? std::move(shape) : std::move(shape).within(cat("npy: ", text, ")"));
}

Result<Type> type_of(const std::string& header) {
  std::string descr = field(header, "descr", ',');
  if (!descr.empty() && descr[0] == '[') return wrong("want numbers or bool, got records");
  if (descr.size() < 2) return wrong("want a type in the header, got none");
  descr = descr.substr(1, descr.size() - 2);
  for (const Descr& row : kDescrs)
    if (descr == row.text) return row.type;
  for (const Reason& row : kReasons)
    if (descr.rfind(row.begin, 0) == 0)
      return Status(Code::unsupported, cat("npy: want ", row.want, ", got type ", descr));
  return wrong(cat("want numbers or bool, got type ", descr));
}

// The header's text; `start` is where the elements are.
Result<std::string> header_of(Bytes bytes, size_t* start) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() < 12 || std::memcmp(p, "\x93NUMPY", 6) != 0)
    return wrong(cat("want an .npy file, got ",
                     bytes.empty() ? std::string("an empty one")
                                   : cat(bytes.size(), " bytes that begin otherwise")));
  if (p[6] < 1 || p[6] > 3) return wrong(cat("want version 1 to 3, got ", int(p[6])));
  const size_t length_bytes = p[6] == 1 ? 2 : 4;
  size_t header_n = p[8] | size_t(p[9]) << 8;
  if (length_bytes == 4) header_n |= size_t(p[10]) << 16 | size_t(p[11]) << 24;
  *start = 8 + length_bytes + header_n;
  if (*start > bytes.size())
    return wrong(cat("want a header of ", header_n, " bytes, got a file that ends in it"));
  std::string header(reinterpret_cast<const char*>(p) + 8 + length_bytes, header_n);
  if (trim(header).substr(0, 1) != "{")
    return wrong("want a header that is a dictionary, got none");
  return header;
}

}  // namespace

Result<Tensor> parse_npy(Bytes bytes, std::shared_ptr<const void> owner) {
  size_t start = 0;
  FRL_LET(const std::string header, header_of(bytes, &start));
  FRL_LET(const Type type, type_of(header));
  const std::string order = field(header, "fortran_order", ',');
  if (order != "False")
    return wrong(cat("want C order, got ", order == "True" ? "Fortran order" : "no order"));
  FRL_LET(const Shape shape, shape_of(header));
  const TensorType tensor_type{type, shape};
  int64_t size = 0;
  if (!checked_mul(shape.n_elements(), size_bytes(type), &size) ||
      uint64_t(size) != bytes.size() - start)
    return wrong(cat("want the elements of ", to_string(tensor_type), ", got ",
                     bytes.size() - start, " bytes"));
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
  std::string descr, dims;
  for (const Descr& row : kDescrs)
    if (row.type == tensor.element() && descr.empty()) descr = row.text;
  for (size_t i = 0; i < tensor.shape().rank(); ++i) dims += cat(tensor.shape()[i], ",");
  std::string header =
      cat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (", dims, "), }");
  header.resize((header.size() + 11) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  const unsigned char prefix[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)};
  const auto failed = [&] {
    return Status(Code::not_found, cat(path, ": cannot be written: ", std::strerror(errno)));
  };
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return failed();
  bool ok = std::fwrite(prefix, 1, 10, file) == 10 &&
            std::fwrite(header.data(), 1, header.size(), file) == header.size();
  ok = ok &&
       std::fwrite(tensor.bytes().data(), 1, tensor.bytes().size(), file) == tensor.bytes().size();
  Status status = ok ? Status() : failed();
  if (std::fclose(file) != 0 && ok) status = failed();
  return status;
}

}  // namespace ferrule::cli
