#include "tools/ferrule/npy.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

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

using Fields = std::map<std::string, std::string>;

// Bytes of the Python literal at the front of `text`: a quoted text, what brackets hold, or a word.
size_t literal_bytes(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\'' || c == '"') i = std::min(text.find(c, i + 1), text.size());
    const bool opens = c == '(' || c == '[', closes = c == ')' || c == ']';
    depth += opens - closes;
    if (depth == 0 && std::string_view(",:}").find(c) != std::string_view::npos) return i;
  }
  return text.size();
}

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }: these three keys, each once.
Result<Fields> fields_of(std::string_view header) {
  constexpr const char* kKeys[] = {"descr", "fortran_order", "shape"};
  std::string_view rest = trim(header);
  if (!rest.starts_with("{") || !rest.ends_with("}"))
    return wrong("want a header that is a dictionary, got none");
  Fields out;
  rest = trim(rest.substr(1, rest.size() - 2));
  while (!rest.empty()) {
    const size_t colon = literal_bytes(rest);
    const std::string_view quoted = trim(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    const size_t end = literal_bytes(rest);
    std::string value(trim(rest.substr(0, end)));
    if (quoted.size() < 2 || value.empty() || (end < rest.size() && rest[end] != ','))
      return wrong("want 'key': value in the header");
    const std::string key(quoted.substr(1, quoted.size() - 2));
    rest = trim(rest.substr(std::min(end + 1, rest.size())));
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys))
      return wrong(cat("header: want descr, fortran_order and shape, got ", key));
    if (!out.emplace(key, std::move(value)).second)
      return wrong(cat("header: want each key once, got ", key, " twice"));
  }
  for (const char* key : kKeys)
    if (!out.contains(key)) return wrong(cat("want ", key, " in the header, got none"));
  return out;
}

Result<Shape> shape_of(const std::string& text) {
  const auto bad = [&] { return wrong(cat("shape: want extents, got ", text)); };
  if (!text.starts_with("(") || !text.ends_with(")")) return bad();
  std::vector<int64_t> extents;
  std::string_view inside = trim(std::string_view(text).substr(1, text.size() - 2));
  if (inside.ends_with(',')) inside.remove_suffix(1);  // (3,) is a tuple, (3) is a number
  for (const std::string& part : inside.empty() ? std::vector<std::string>() : split(inside, ',')) {
    const auto extent = parse_int(trim(part));
    if (!extent || *extent < 0) return bad();
    extents.push_back(*extent);
  }
  auto shape = Shape::checked(extents);
  return shape.ok() ? std::move(shape) : std::move(shape).within(cat("npy: ", text));
}

Result<Type> type_of(std::string descr) {
  if (descr[0] == '[') return wrong("want numbers or bool, got records");
  if (descr.size() < 3) return wrong(cat("want a type in the header, got ", descr));
  descr = descr.substr(1, descr.size() - 2);
  for (const Descr& row : kDescrs)
    if (descr == row.text) return row.type;
  for (const Reason& row : kReasons)
    if (descr.rfind(row.begin, 0) == 0)
      return Status(Code::unsupported, cat("npy: want ", row.want, ", got type ", descr));
  return wrong(cat("want numbers or bool, got type ", descr));
}

// Elements whose first axis is the fastest, as NumPy writes a transposed array.
Tensor row_major(const TensorType& type, Bytes elements) {
  Tensor out(type);
  const size_t rank = type.shape.rank(), width = size_t(size_bytes(type.type));
  std::vector<int64_t> at(rank);
  for (int64_t k = 0; k < out.n_elements(); ++k) {
    int64_t place = 0;
    for (size_t axis = rank; axis-- > 0;) place = place * type.shape[axis] + at[axis];
    std::memcpy(out.mutable_data() + size_t(k) * width, elements.data() + size_t(place) * width,
                width);
    for (size_t axis = rank; axis-- > 0 && ++at[axis] == type.shape[axis];) at[axis] = 0;
  }
  return out;
}

// The header's text; `start` is where the elements are.
Result<std::string> header_of(Bytes bytes, size_t* start) {
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  if (bytes.size() < 12 || std::memcmp(p, "\x93NUMPY", 6) != 0)
    return wrong(cat("want an .npy file, got ",
                     bytes.empty()       ? std::string("an empty one")
                     : bytes.size() < 12 ? cat("only ", bytes.size(), " bytes")
                                         : cat(bytes.size(), " bytes that begin otherwise")));
  if (p[6] < 1 || p[6] > 3) return wrong(cat("want version 1 to 3, got ", int(p[6])));
  const size_t length_bytes = p[6] == 1 ? 2 : 4;
  size_t header_n = p[8] | size_t(p[9]) << 8;
  if (length_bytes == 4) header_n |= size_t(p[10]) << 16 | size_t(p[11]) << 24;
  *start = 8 + length_bytes + header_n;
  if (*start > bytes.size())
    return wrong(cat("want a header of ", header_n, " bytes, got a file that ends in it"));
  return std::string(reinterpret_cast<const char*>(p) + 8 + length_bytes, header_n);
}

}  // namespace

Result<Tensor> parse_npy(Bytes bytes, std::shared_ptr<const void> owner) {
  size_t start = 0;
  FRL_LET(const std::string header, header_of(bytes, &start));
  FRL_LET(const Fields fields, fields_of(header));
  FRL_LET(const Type type, type_of(fields.at("descr")));
  const std::string& order = fields.at("fortran_order");
  if (order != "False" && order != "True")
    return wrong(cat("fortran_order: want True or False, got ", order));
  FRL_LET(const Shape shape, shape_of(fields.at("shape")));
  const TensorType tensor_type{type, shape};
  int64_t size = 0;
  if (!checked_mul(shape.n_elements(), size_bytes(type), &size) ||
      uint64_t(size) != bytes.size() - start)
    return wrong(cat("want the elements of ", to_string(tensor_type), ", got ",
                     bytes.size() - start, " bytes"));
  const Bytes elements = bytes.subspan(start);
  if (order == "True" && shape.rank() > 1) return row_major(tensor_type, elements);
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
