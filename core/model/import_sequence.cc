// Sequences and optionals: lists of values that exist only while the model is imported.
#include <algorithm>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

using Items = std::vector<Entry>;

Items items_of(ModelNode& n, size_t i) {
  const Entry entry = n.entry(i);
  if (entry.kind == Entry::Kind::sequence) return *entry.items;
  n.fail(cat("input ", i, ": want a sequence, got something else"));
  return {};
}

// A place in 0 .. last, negative from the end; `last` if the input is missing.
int64_t place(ModelNode& n, size_t i, int64_t fallback, int64_t size, int64_t last) {
  if (!n.has(i)) return fallback;
  const int64_t given = n.known_integer(i, 0), at = from_start(given, size);
  if (!n.failed() && (at < 0 || at > last))
    n.fail(cat("position: want -", size, " .. ", last, ", got ", given));
  return n.failed() ? 0 : at;
}

void construct(ModelNode& n) {
  Items items;
  for (size_t i = 0; i < n.n_in(); ++i) items.push_back(Entry::of(n.in(i)));
  n.out(0, Entry::sequence(std::move(items)));
}

void empty(ModelNode& n) { n.out(0, Entry::sequence({})); }

void insert(ModelNode& n) {
  Items items = items_of(n, 0);
  const auto size = int64_t(items.size());
  const int64_t at = place(n, 2, size, size, size);
  if (n.failed()) return;
  items.insert(items.begin() + at, Entry::of(n.in(1)));
  n.out(0, Entry::sequence(std::move(items)));
}

// SequenceErase if ARG of the row, else SequenceAt.
void element_at(ModelNode& n) {
  Items items = items_of(n, 0);
  const auto size = int64_t(items.size());
  const int64_t at = place(n, 1, size - 1, size, size - 1);
  if (n.failed() || items.empty()) return n.fail("want a sequence with an element");
  if (!n.row().arg) return n.out(0, items[size_t(at)]);
  items.erase(items.begin() + at);
  n.out(0, Entry::sequence(std::move(items)));
}

void length(ModelNode& n) {
  n.out(0, n.block().literal(Tensor::scalar(Type::i64, double(items_of(n, 0).size()))));
}

void split_to(ModelNode& n) {
  const Val x = n.in(0);
  const int64_t axis = n.axis_attribute(0, x.rank()), extent = x.dim(axis);
  const bool lone = !n.has(1) && !n.i("keepdims", 1);
  Ints sizes;
  if (!n.has(1) || n.in(1).rank() == 0) {
    const int64_t size = n.has(1) ? n.known_integer(1, 1) : 1;
    if (!n.want(size > 0 && extent / size < 1 << 16, "parts of 1 or more, fewer than 2^16")) return;
    for (int64_t at = 0; at < extent; at += size) sizes.push_back(std::min(size, extent - at));
  } else {
    sizes = n.known_ints(1);
  }
  int64_t at = 0;
  Items items;
  for (const int64_t size : sizes) {
    if (size < 0 || size > extent - at)
      return n.fail(cat("split: want sizes that sum to ", extent));
    const Val part = slice(x, axis, at, size);
    items.push_back(Entry::of(lone ? squeeze(part, {axis}) : part));
    at += size;
  }
  if (at != extent) return n.fail(cat("split: want sizes that sum to ", extent, ", got ", at));
  n.out(0, Entry::sequence(std::move(items)));
}

void concat_from(ModelNode& n) {
  const Items items = items_of(n, 0);
  const bool stacked = n.i("new_axis", 0) != 0;
  if (items.empty()) return n.fail("want a sequence with an element");
  std::vector<Val> parts;
  for (const Entry& item : items) {
    if (item.kind != Entry::Kind::tensor) return n.fail("want a sequence of tensors");
    parts.push_back(item.value);
  }
  const int64_t axis = n.axis(n.need_i("axis"), parts[0].rank() + stacked);
  for (Val& part : parts) part = stacked ? unsqueeze(part, {axis}) : part;
  n.out(0, concat(parts, axis));
}

// The body for each element in turn; sequences among the other inputs go along.
void map(ModelNode& n) {
  const onnx::GraphProto* body = n.graph("body", n.n_in(), n.n_out());
  if (!body) return;
  const size_t size = items_of(n, 0).size();
  std::vector<Items> results(body->outputs.size());
  for (size_t k = 0; k < size; ++k) {
    Items inputs;
    for (size_t i = 0; i < n.n_in(); ++i) {
      const Entry entry = n.entry(i);
      if (entry.kind == Entry::Kind::sequence && entry.items->size() != size)
        return n.fail("want sequences of one length");
      inputs.push_back(entry.kind == Entry::Kind::sequence ? (*entry.items)[k] : entry);
    }
    auto outputs = n.importer().run_graph(*body, n.scope(), n.block(), inputs);
    if (!outputs.ok()) return n.fail(std::move(outputs).status());
    for (size_t i = 0; i < results.size(); ++i) results[i].push_back((*outputs)[i]);
  }
  for (size_t i = 0; i < results.size(); ++i) n.out(i, Entry::sequence(std::move(results[i])));
}

void optional(ModelNode& n) {
  n.out(0, n.n_in() > 0 ? n.entry(0) : Entry{Entry::Kind::absent, {}, nullptr});
}
void has_element(ModelNode& n) {
  n.out(0, n.block().literal(Tensor::scalar(Type::boolean, n.has(0))));
}
void get_element(ModelNode& n) {
  if (!n.has(0)) return n.fail("want an optional with an element");
  n.out(0, n.entry(0));
}

constexpr ImportRow kRows[] = {
    {"", "SequenceConstruct", 11, kEver, construct, "1..>1", ""},
    {"", "SequenceEmpty", 11, kEver, empty, "0>1", "dtype"},
    {"", "SequenceInsert", 11, kEver, insert, "2..3>1", ""},
    {"", "SequenceErase", 11, kEver, element_at, "1..2>1", "", 1},
    {"", "SequenceAt", 11, kEver, element_at, "2>1", ""},
    {"", "SequenceLength", 11, kEver, length, "1>1", ""},
    {"", "SequenceMap", 17, kEver, map, "1..>..", "body"},
    {"", "SplitToSequence", 11, kEver, split_to, "1..2>1", "axis keepdims"},
    {"", "ConcatFromSequence", 11, kEver, concat_from, "1>1", "axis new_axis"},
    {"", "Optional", 15, kEver, optional, "0..1>1", "type"},
    {"", "OptionalHasElement", 15, kEver, has_element, "1>1 18:0..1>1", ""},
    {"", "OptionalGetElement", 15, kEver, get_element, "1>1", ""},
};

}  // namespace

std::span<const ImportRow> sequence_rows() { return kRows; }

}  // namespace ferrule
