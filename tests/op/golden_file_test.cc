// Reading of case files.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/base/text.h"
#include "tests/op/golden_file.h"

namespace ferrule {
namespace {

// "5" is an extent, "n:5" symbol n, "<=5" one that the kernel writes.
Dim parse_dim(const std::string& text) {
  if (text.starts_with("<=")) return {parse_int(text.substr(2)).value_or(-1), kWrittenSymbol};
  if (text.size() > 2 && text[1] == ':')
    return {parse_int(text.substr(2)).value_or(-1), uint32_t(text[0] - 'a' + 1)};
  return {parse_int(text).value_or(-1), 0};
}

// "f32[2,3]"
TensorType parse_tensor_type(const std::string& text) {
  const size_t open = text.find('[');
  TensorType out{parse_type(text.substr(0, open)), {}};
  EXPECT_NE(out.type, Type::none) << text;
  EXPECT_TRUE(open != std::string::npos && text.back() == ']') << text;
  const std::string inner = text.substr(open + 1, text.size() - open - 2);
  if (inner.empty()) return out;
  for (const std::string& dim : split(inner, ',')) out.shape.push_back(parse_dim(dim));
  return out;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  for (const std::string& word : split(line, ' '))
    if (!word.empty()) out.push_back(word);
  return out;
}

GoldenTensor parse_tensor(const std::vector<std::string>& words) {
  if (words.at(1) == "none") return {};
  return {parse_tensor_type(words[1]), {words.begin() + 2, words.end()}};
}

// A number, a type or an op.
int64_t parse_integer(const std::string& word) {
  if (const auto number = parse_int(word)) return *number;
  if (const OpRow* op = find_op(word)) return op->id;
  const Type type = parse_type(word);
  EXPECT_NE(type, Type::none) << word;
  return int64_t(type);
}

void set_attribute(GoldenCase& golden, const std::vector<std::string>& words) {
  for (const AttributeRow& row : attribute_rows(golden.row->id)) {
    if (row.name != words.at(1)) continue;
    Attribute& slot = golden.attributes.slot(row.slot);
    if (row.kind == AttributeKind::integer) slot.i = parse_integer(words.at(2));
    if (row.kind == AttributeKind::real) slot.f = parse_double(words.at(2)).value();
    if (row.kind == AttributeKind::list)
      for (size_t i = 2; i < words.size(); ++i) slot.list.push_back(parse_integer(words[i]));
    return;
  }
  ADD_FAILURE() << golden.at << ": no attribute " << words[1];
}

void add_line(std::vector<GoldenCase>& cases, const std::string& file, size_t number,
              const std::string& line) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty() || words[0] == "source") return;
  if (words[0] == "case") {
    GoldenCase& golden = cases.emplace_back();
    golden.at = cat(file, ":", number, " ", line.substr(5));
    golden.row = find_op(words.at(1));
    ASSERT_NE(golden.row, nullptr) << golden.at;
    golden.attributes = Attributes(golden.row->id);
    return;
  }
  ASSERT_FALSE(cases.empty()) << file << ":" << number;
  GoldenCase& golden = cases.back();
  const std::string rest(trim(line.substr(words[0].size())));
  if (words[0] == "set")
    set_attribute(golden, words);
  else if (words[0] == "in")
    golden.operands.push_back(parse_tensor(words));
  else if (words[0] == "out")
    golden.results.push_back(parse_tensor(words));
  else if (words[0] == "gives")
    golden.gives.push_back(rest);
  else if (words[0] == "refuses")
    golden.refusal = rest;
  else if (words[0] == "fails")
    golden.failure = rest;
  else if (words[0] == "near")
    golden.near = parse_double(rest).value();
  else
    ADD_FAILURE() << file << ":" << number << ": want a known word, got " << line;
}

template <class T>
T parse_element(const std::string& text) {
  if constexpr (std::is_same_v<T, uint64_t>)
    return std::stoull(text);
  else if constexpr (std::is_integral_v<T>)
    return T(parse_int(text).value());
  else if constexpr (std::is_same_v<T, float>)
    return std::stof(text);  // rounds once, which a detour over double does not
  else
    return convert_to<T>(std::stod(text));
}

}  // namespace

std::vector<std::string> golden_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(FRL_TEST_DATA "/op/golden"))
    if (entry.path().extension() == ".txt") out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<GoldenCase> read_golden_file(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  const std::string file = path.substr(path.rfind('/') + 1);
  std::vector<GoldenCase> out;
  std::string line, next;
  for (size_t number = 1; std::getline(in, next); ++number) {
    if (const size_t comment = next.find('#'); comment != std::string::npos) next.resize(comment);
    // An indented line goes on with the one before.
    if (next.starts_with(' ')) {
      line += next;
      continue;
    }
    add_line(out, file, number, line);
    line = next;
  }
  add_line(out, file, 0, line);
  return out;
}

Tensor to_tensor(const GoldenTensor& golden) {
  Tensor out(golden.type);
  if (golden.elements.empty()) return out;
  EXPECT_EQ(int64_t(golden.elements.size()), out.n_elements()) << to_string(golden.type);
  if (int64_t(golden.elements.size()) != out.n_elements()) return out;
  with_type(golden.type.type, [&]<class T>(T) {
    for (size_t i = 0; i < golden.elements.size(); ++i)
      out.mutable_as<T>()[i] = parse_element<T>(golden.elements[i]);
  });
  return out;
}

}  // namespace ferrule
