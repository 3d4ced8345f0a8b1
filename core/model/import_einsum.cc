// Matrix products: MatMul, Gemm, Einsum, Det.
#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/model/importer.h"

namespace ferrule {
namespace {

void mat_mul(ModelNode& n) {
  const Val a = n.in(0), b = n.in(1);
  if (!n.want(a.rank() >= 1 && b.rank() >= 1, "operands of one axis or more")) return;
  n.out(0, matmul(a, b));
}

void gemm(ModelNode& n) {
  const Val a = n.i("transA", 0) ? swap_last(n.in(0)) : n.in(0),
            b = n.i("transB", 0) ? swap_last(n.in(1)) : n.in(1);
  if (!n.want(a.rank() == 2 && b.rank() == 2, "matrices")) return;
  Val y = matmul(a, b) * n.f("alpha", 1);
  if (n.has(2)) {
    const Ints dims = y.dims();
    y = y + n.in(2) * n.f("beta", 1);
    if (!n.want(y.dims() == dims, "a third operand that broadcasts to the product")) return;
  }
  n.out(0, y);
}

void determinant(ModelNode& n) { n.out(0, apply(FRL_OP_det, n.in(0))); }

// An operand of an Einsum with one label for each axis.
struct Term {
  Val x;
  std::string labels;
};

// Labels of '...' are digits beyond the letters, the last axis first.
constexpr char kEllipsis = '\x01';

bool read_labels(std::string_view text, int64_t rank, std::string* out) {
  const size_t dots = text.find("...");
  std::string plain(text);
  if (dots != std::string::npos) plain.erase(dots, 3);
  for (const char c : plain)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  const int64_t hidden = rank - int64_t(plain.size());
  if (dots == std::string::npos && rank >= 0) return *out = plain, hidden == 0;
  if (hidden < 0 || hidden > int64_t(kMaxRank)) return false;
  std::string spread;
  for (int64_t i = hidden; i-- > 0;) spread += char(kEllipsis + i);
  *out = plain.insert(dots, spread);
  return true;
}

// Axes of one label become one axis: the elements where their places agree.
Term without_repeats(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const size_t j = term.labels.find(term.labels[i], i + 1);
    if (j == std::string::npos || !term.x.ok()) continue;
    Ints order;
    for (size_t axis = 0; axis < term.labels.size(); ++axis)
      if (axis != i && axis != j) order.push_back(int64_t(axis));
    order.push_back(int64_t(i)), order.push_back(int64_t(j));
    Val x = transpose(term.x, order);
    const int64_t extent = x.dim(-1);
    Ints dims = x.dims();
    dims.pop_back();
    dims.back() = extent * extent;
    x = slice(reshape(x, dims), -1, 0, extent, extent + 1);
    std::string labels;
    for (size_t axis = 0; axis + 2 < order.size(); ++axis)
      labels += term.labels[size_t(order[axis])];
    term = {x, labels + term.labels[i]};
    i = size_t(-1);  // from the start again
  }
  return term;
}

// The term with exactly these labels, in this order; those it lacks get an extent of 1.
Val arranged(const Term& term, const std::string& labels) {
  Ints order, missing;
  for (size_t i = 0; i < labels.size(); ++i) {
    const size_t at = term.labels.find(labels[i]);
    if (at == std::string::npos)
      missing.push_back(int64_t(i));
    else
      order.push_back(int64_t(at));
  }
  return unsqueeze(transpose(term.x, order), missing);
}

Term summed(const Term& term, const std::string& kept) {
  Ints axes;
  std::string labels;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (kept.find(term.labels[i]) == std::string::npos)
      axes.push_back(int64_t(i));
    else
      labels += term.labels[i];
  }
  return {reduce(FRL_OP_add, term.x, axes, false), labels};
}

int64_t extent_of(const Term& term, char label) {
  const size_t at = term.labels.find(label);
  return at == std::string::npos ? 1 : term.x.dim(int64_t(at));
}

// An extent of 1 stands for any.
int64_t joint_extent(const Term& a, const Term& b, char label) {
  const int64_t extent = extent_of(a, label);
  return extent == 1 ? extent_of(b, label) : extent;
}

// Both terms as one matrix product: [shared.., left, inner] x [shared.., inner, right].
Term product(Term a, Term b, const std::string& later) {
  a = summed(a, b.labels + later), b = summed(b, a.labels + later);
  std::string shared, left, right, inner;
  for (const char c : a.labels) {
    const bool both = b.labels.find(c) != std::string::npos,
               kept = later.find(c) != std::string::npos;
    (both ? (kept ? shared : inner) : left) += c;
  }
  for (const char c : b.labels)
    if (a.labels.find(c) == std::string::npos) right += c;
  // Inner axes are spread, so that both sides sum the same number of products.
  const auto matrix = [&](const Term& term, const std::string& rows, const std::string& columns) {
    Ints full, dims;
    for (const char c : shared) full.push_back(extent_of(term, c)), dims.push_back(full.back());
    for (const std::string& part : {rows, columns}) {
      int64_t together = 1;
      for (const char c : part) full.push_back(joint_extent(a, b, c)), together *= full.back();
      dims.push_back(together);
    }
    return reshape(broadcast_to(arranged(term, shared + rows + columns), full), dims);
  };
  const Val y = matmul(matrix(a, left, inner), matrix(b, inner, right));
  const std::string labels = shared + left + right;
  Ints dims;
  for (const char c : labels) dims.push_back(joint_extent(a, b, c));
  return {reshape(y, dims), labels};
}

// The result's labels where the equation does not say: those that occur once, in order.
std::string implied(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& labels : operands)
    for (const char c : labels) ++counts[c];
  std::string hidden, plain;
  for (const auto& [c, count] : counts) {
    if (c < 'A')
      hidden.insert(hidden.begin(), c);
    else if (count == 1)
      plain += c;
  }
  return hidden + plain;
}

void einsum(ModelNode& n) {
  std::string equation = n.text("equation", "");
  if (!n.has_attribute("equation")) return n.fail("want attribute 'equation', got nothing");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  const auto inputs = split(equation.substr(0, arrow), ',');
  if (!n.want(inputs.size() == n.n_in(), cat("as many operands as '", equation, "' names"))) return;
  std::vector<Term> terms;
  std::vector<std::string> labels;
  size_t hidden = 0;
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Term term{n.in(i), {}};
    if (!n.want(read_labels(inputs[i], term.x.rank(), &term.labels),
                cat("operand ", i, " to fit '", inputs[i], "'")))
      return;
    hidden = std::max<size_t>(hidden, size_t(std::count_if(term.labels.begin(), term.labels.end(),
                                                           [](char c) { return c < 'A'; })));
    for (size_t k = 0; k < term.labels.size(); ++k) {
      int64_t& extent = extents.emplace(term.labels[k], 1).first->second;
      const int64_t own = term.x.dim(int64_t(k));
      if (!n.want(extent == 1 || own == 1 || extent == own,
                  cat("one extent for '", term.labels.substr(k, 1), "'")))
        return;
      if (own != 1) extent = own;
    }
    labels.push_back(term.labels);
    terms.push_back(without_repeats(term));
  }
  std::string result = implied(labels);
  if (arrow != std::string::npos) {
    const std::string text = equation.substr(arrow + 2);
    const auto plain = int64_t(text.size()) - (text.find("...") == std::string::npos ? 0 : 3);
    const int64_t rank = text.find("...") == std::string::npos ? plain : plain + int64_t(hidden);
    if (!read_labels(text, rank, &result))
      return n.fail(cat("equation: want a result of letters, got '", text, "'"));
  }
  for (size_t i = 0; i < result.size(); ++i)
    if (!extents.contains(result[i]) || result.find(result[i], i + 1) != std::string::npos)
      return n.fail(
          cat("equation: want each result label once and in an operand, got '", equation, "'"));
  Term term = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string later = result;
    for (size_t k = i + 1; k < terms.size(); ++k) later += terms[k].labels;
    term = product(term, terms[i], later);
  }
  n.out(0, arranged(summed(term, result), result));
}

constexpr ImportRow kRows[] = {
    {"", "MatMul", 1, kEver, mat_mul, "2>1", ""},
    {"", "Gemm", 1, kEver, gemm, "3>1 11:2..3>1", "alpha beta transA transB broadcast"},
    {"", "Einsum", 12, kEver, einsum, "1..>1", "equation"},
    {"", "Det", 11, kEver, determinant, "1>1", ""},
};

}  // namespace

std::span<const ImportRow> einsum_rows() { return kRows; }

}  // namespace ferrule
