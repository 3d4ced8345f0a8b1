// The open kinds beside pointwise, and closed ones that have no kernel of their own: a body is run
// part by part, with inner values in scratch. A batch runs its body once a slice.
#include <algorithm>

#include "plugins/cpu/copy.h"
#include "plugins/cpu/program.h"

namespace cpu {
namespace {

constexpr size_t kMostArguments = 128;  // of a batch: 64 inputs, 16 outputs, scratch

class SequenceKernel final : public frl::Kernel {
 public:
  SequenceKernel(const Context& context, const frl::Region& region)
      : scratch_(region.output_argument(region.n_outputs())),
        program_(
            build_program(context, region, std::vector<Access>(region.n_values(), Access::whole))) {
    packs = program_.packs, scratch_bytes = program_.scratch_bytes;
    for (size_t i = 0; i < region.n_outputs(); ++i) {
      const int to = region.output_argument(i);
      const int from = program_.homes[region.output(i).id].argument;
      if (from != to) repeats_.push_back({to, from, region.output(i).bytes()});
    }
  }
  void pack(uint32_t input, const std::byte* source, std::byte* target,
            const frl_host* host) const override {
    program_.pack(input, source, target, host);
  }
  void run(const frl::Call& call) const override {
    program_.run(call.args, scratch_bytes ? call.args[scratch_] : nullptr, call);
    for (const Repeat& r : repeats_)
      std::memcpy(call.args[r.to], call.args[r.from], static_cast<size_t>(r.bytes));
  }

 private:
  struct Repeat {  // an output that is an input, or another output, once more
    int to, from;
    int64_t bytes;
  };

  int scratch_;
  Program program_;
  std::vector<Repeat> repeats_;
};

class BatchKernel final : public frl::Kernel {
 public:
  BatchKernel(const Context& context, const frl::Region& region)
      : slices_(region.attribute_i(FRL_AT_batch_slices)),
        scratch_(region.output_argument(region.n_outputs())),
        axes_(region.attribute_list(FRL_AT_batch_axes)) {
    const std::vector<Access> access = accesses(region);
    program_ = build_program(context, region, access);
    packs = program_.packs, scratch_bytes = program_.scratch_bytes;
    int place = 0;
    for (size_t i = 0; i < region.n_inputs(); ++i)
      if (const frl::Value v = region.input(i); v.present())
        add(place++, v, axes_[i], access[v.id], copies_in_);
    for (size_t i = 0; i < region.n_outputs(); ++i)
      add(region.output_argument(i), region.output(i), axes_[region.n_inputs() + i],
          access[region.output(i).id], copies_out_);
    std::erase_if(moves_, [](const Move& m) { return m.step_bytes == 0; });
  }
  void pack(uint32_t input, const std::byte* source, std::byte* target,
            const frl_host* host) const override {
    program_.pack(input, source, target, host);
  }
  void run(const frl::Call& call) const override {
    std::byte* args[kMostArguments];
    std::copy_n(call.args, scratch_ + (scratch_bytes ? 1 : 0), args);
    std::byte* scratch = scratch_bytes ? args[scratch_] : nullptr;
    for (int64_t slice = 0; slice < slices_; ++slice) {
      for (const Copy& c : copies_in_)
        if (slice == 0 || c.moves) c.plan.run(call.host, scratch + c.offset, args[c.argument]);
      program_.run(args, scratch, call);
      for (const Copy& c : copies_out_) c.plan.run(call.host, args[c.argument], scratch + c.offset);
      for (const Move& m : moves_) args[m.argument] += m.step_bytes;
    }
  }

 private:
  struct Move {
    int argument;
    int64_t step_bytes;  // from slice to slice
  };
  struct Copy {
    int argument;
    uint64_t offset;
    bool moves;
    CopyPlan plan;
  };

  // A slice is read and written where it lies, unless it has gaps that its users do not take.
  std::vector<Access> accesses(const frl::Region& region) const {
    std::vector<Access> out(region.n_values(), Access::inside);
    for (size_t i = 0; i < region.n_inputs(); ++i) {
      const frl::Value v = region.input(i);
      if (v.present() && (v.is_dense() || takes_strides(region, v.id)))
        out[v.id] = axes_[i] == 0 ? Access::whole : Access::by_slices;
    }
    std::vector<size_t> times(region.n_values());
    for (size_t i = 0; i < region.n_outputs(); ++i) ++times[region.output(i).id];
    for (size_t i = 0; i < region.n_inputs(); ++i)
      if (const frl::Value v = region.input(i); v.present()) ++times[v.id];
    for (size_t i = 0; i < region.n_outputs(); ++i) {
      const frl::Value v = region.output(i);
      out[v.id] = v.is_dense() && times[v.id] == 1 ? Access::by_slices : Access::inside;
    }
    return out;
  }
  void add(int argument, const frl::Value& v, int64_t axis, Access access,
           std::vector<Copy>& copies) {
    const int64_t width = frl::element_bytes(v.type);
    const size_t at = axis_index(v, axis);
    const int64_t step = axis == 0 ? 0 : v.extents[at] * v.strides[at] * width;
    moves_.push_back({argument, step});
    if (access != Access::inside) return;
    const frl::Extents dense = dense_strides(v);
    const std::span<const int64_t> there(v.strides.data(), v.rank), here(dense.data(), v.rank);
    copies.push_back({argument, program_.homes[v.id].offset, step != 0,
                      &copies == &copies_in_ ? CopyPlan(v.shape(), there, here, width)
                                             : CopyPlan(v.shape(), here, there, width)});
  }

  int64_t slices_;
  int scratch_;
  std::vector<int64_t> axes_;  // of inputs, then outputs; 0: all of it each time
  Program program_;
  std::vector<Copy> copies_in_, copies_out_;
  std::vector<Move> moves_;
};

}  // namespace

KernelPtr make_sequence(const Context& context, const Request& request) {
  return std::make_unique<SequenceKernel>(context, request.region());
}
KernelPtr make_batch(const Context& context, const Request& request) {
  return std::make_unique<BatchKernel>(context, request.region());
}

}  // namespace cpu
