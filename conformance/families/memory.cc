// K: buffers. To refusal and back, the largest one, none at all, alignment, import, neighbours.
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "conformance/raw/check.h"
#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

using raw::Session;

constexpr uint64_t kRoom = uint64_t{512}
                           << 20;  // what the child may still map while memory is exhausted

// Bounds the address space of this process while it lives; a plugin's own allocator meets it too.
class AddressLimit {
 public:
  explicit AddressLimit(uint64_t room_bytes) {
    getrlimit(RLIMIT_AS, &saved_);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = saved_;
    now.rlim_cur = std::min<rlim_t>(saved_.rlim_cur, pages * 4096 + room_bytes);
    setrlimit(RLIMIT_AS, &now);
  }
  ~AddressLimit() { setrlimit(RLIMIT_AS, &saved_); }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;

 private:
  rlimit saved_{};
};

Status works(Session& session) {
  const Status status = raw::runs_right(session);
  return status.code() == Code::not_claimed ? session.open_queue().status() : status;
}

std::string check_refusal(const Status& status, const char* what) {
  if (status.code() == Code::no_memory) return "";
  return cat(what, ": want no_memory, got ", status.ok() ? "a buffer" : status.message());
}

// Allocates until the plugin says no; the bytes it gave.
Result<uint64_t> exhaust(Session& session, uint32_t space_id, uint64_t step) {
  const frl_space& space = session.row().spaces[space_id];
  std::vector<raw::Held<frl_buffer>> held;
  uint64_t bytes = 0;
  for (;;) {
    auto buffer = session.make_buffer(step, space_id);
    if (!buffer.ok()) {
      if (const std::string wrong =
              check_refusal(buffer.status(), "make_buffer at the end of memory");
          !wrong.empty())
        return Status(Code::internal, wrong);
      return bytes;
    }
    held.push_back(std::move(*buffer));
    bytes += step;
    if (bytes > space.total_bytes)
      return Status(Code::internal, cat("make_buffer: want a refusal beyond the space's total of ",
                                        space.total_bytes, " bytes, ", bytes, " were given"));
    if (bytes > uint64_t{64} << 30)
      return Status(Code::not_claimed, "space: it is larger than the suite fills");
  }
}

// ---- to refusal ----
Outcome to_refusal(const Target& target, uint64_t step, bool by_host) {
  return raw::with_session(target, [&](Session& session) {
    FRL_CHECK(works(session));
    const frl_space& space = session.row().spaces[0];
    uint64_t first = 0;
    for (int round = 0; round < 2; ++round) {
      if (by_host)
        session.services().set_budget(uint64_t(session.services().live_bytes()) + kRoom / 4);
      {
        const AddressLimit limit(by_host ? kRoom * 4 : kRoom);
        FRL_HAVE(const uint64_t bytes, exhaust(session, 0, std::min(step, space.max_alloc_bytes)));
        if (round == 0) first = bytes;
        if (bytes < first / 2)
          return fail(cat("make_buffer: want as much room again after all was dropped, ", first,
                          " bytes, got ", bytes));
      }
      session.services().set_budget(0);
      FRL_CHECK(works(session));
    }
    return pass(first / std::max<uint64_t>(step, 1) + 1);
  });
}

// The host has no memory at all: each call says so or does without.
Outcome host_has_none(const Target& target) {
  return raw::with_session(target, [&](Session& session) {
    FRL_CHECK(works(session));
    session.close();
    session.services().set_budget(1);
    const Status opened = session.reopen();
    if (!opened.ok() && opened.code() != Code::no_memory)
      return fail(cat("open without host memory: want no_memory, got ", opened.message()));
    if (opened.ok())
      if (const Status status = works(session); !status.ok() && status.code() != Code::no_memory)
        return fail(cat("work without host memory: want no_memory, got ", status.message()));
    session.services().set_budget(0);
    FRL_CHECK(session.reopen());
    return raw::outcome_of(works(session), 2);
  });
}

// ---- sizes ----
Outcome beyond_largest(Session& session) {
  for (uint32_t space = 0; space < session.row().spaces.size(); ++space) {
    const uint64_t most = session.row().spaces[space].max_alloc_bytes;
    for (uint64_t bytes : {most + 1, most * 2, uint64_t{1} << 63, UINT64_MAX - 63, UINT64_MAX}) {
      if (bytes <= most) continue;
      const auto buffer = session.make_buffer(bytes, space);
      if (buffer.ok())
        return fail(cat("make_buffer: space ", space, " claims at most ", most,
                        " bytes, want a refusal of ", bytes, ", got a buffer"));
      if (buffer.status().code() != Code::no_memory &&
          buffer.status().code() != Code::invalid_argument)
        return fail(cat("make_buffer: want no_memory for ", bytes, " bytes, got ",
                        buffer.status().message()));
    }
  }
  return raw::outcome_of(works(session), 5);
}

Outcome largest(Session& session) {
  const uint64_t most = session.row().spaces[0].max_alloc_bytes;
  const AddressLimit limit(kRoom);
  {
    const auto buffer = session.make_buffer(most);
    if (!buffer.ok())
      if (const std::string wrong =
              check_refusal(buffer.status(), "make_buffer of the largest size");
          !wrong.empty())
        return fail(wrong);
    if (buffer.ok() && (*buffer)->bytes < most)
      return fail(cat("make_buffer: want ", most, " bytes, got ", (*buffer)->bytes));
  }
  return raw::outcome_of(works(session));
}

Outcome zero_bytes(Session& session) {
  FRL_HAVE(auto queue, session.open_queue());
  for (uint32_t space = 0; space < session.row().spaces.size(); ++space) {
    FRL_HAVE(const auto a, session.make_buffer(0, space));
    FRL_HAVE(const auto b, session.make_buffer(0, space));
    if (a.get() == b.get())
      return fail(
          "make_buffer: want a buffer of its own for each request of 0 bytes, got one twice");
    FRL_CHECK(queue->finish({.copies = {raw::copy_of(raw::whole(a), raw::whole(b), 0)}}));
  }
  return pass(session.row().spaces.size());
}

Outcome alignment(Session& session) {
  for (uint32_t id = 0; id < session.row().spaces.size(); ++id) {
    const frl_space& space = session.row().spaces[id];
    for (uint64_t bytes : {uint64_t{1}, uint64_t{3}, uint64_t{63}, uint64_t{65}, uint64_t{4097},
                           (uint64_t{2} << 20) + 1}) {
      FRL_HAVE(const auto buffer, session.make_buffer(bytes, id));
      const auto at = reinterpret_cast<uint64_t>(buffer->host);
      if (buffer->bytes < bytes)
        return fail(cat("buffer.bytes: want at least ", bytes, ", got ", buffer->bytes));
      if (bool(space.flags & FRL_SPACE_HOST_VISIBLE) != (buffer->host != nullptr))
        return fail(cat("buffer.host: space ", id,
                        ": want an address just where the space is host-visible, got ", at));
      if (at % space.align_bytes || buffer->address % space.align_bytes)
        return fail(cat("buffer: space ", id, ": want a start aligned to ", space.align_bytes,
                        ", got ", at, " and ", buffer->address));
      if (buffer->host) std::memset(buffer->host, 0x3C, bytes);
    }
  }
  return pass(6);
}

Outcome unknown_space(Session& session) {
  for (uint32_t space : {uint32_t(session.row().spaces.size()), 1000u, UINT32_MAX}) {
    const auto buffer = session.make_buffer(64, space);
    if (buffer.ok())
      return fail(cat("make_buffer: want invalid for space ", space, ", got a buffer"));
    if (buffer.status().code() != Code::invalid_argument)
      return fail(
          cat("make_buffer: want invalid for space ", space, ", got ", buffer.status().message()));
  }
  return raw::outcome_of(works(session), 3);
}

// ---- contents ----
// Buffers filled each with its own pattern, some dropped and made again: none changes another.
Outcome neighbours(Session& session) {
  constexpr size_t kBuffers = 64;
  FRL_HAVE(auto queue, session.open_queue());
  std::vector<raw::Held<frl_buffer>> held(kBuffers);
  std::vector<std::vector<unsigned char>> bytes(kBuffers);
  const auto fill = [&](size_t i, uint32_t round) -> Status {
    bytes[i].assign(1 + (i * 7919 + round * 104'729) % 40'000,
                    static_cast<unsigned char>(i * 3 + round));
    FRL_LET(held[i], session.make_buffer(bytes[i].size()));
    return queue->finish(
        {.copies = {
             raw::copy_of(raw::whole(held[i]), raw::address(bytes[i].data()), bytes[i].size())}});
  };
  for (size_t i = 0; i < kBuffers; ++i) FRL_CHECK(fill(i, 0));
  for (uint32_t round = 1; round <= 6; ++round) {
    for (size_t i = round % 3; i < kBuffers; i += 3) held[i].reset();
    for (size_t i = round % 3; i < kBuffers; i += 3) FRL_CHECK(fill(i, round));
    for (size_t i = 0; i < kBuffers; ++i) {
      std::vector<unsigned char> back(bytes[i].size());
      FRL_CHECK(queue->finish(
          {.copies = {raw::copy_of(raw::address(back.data()), raw::whole(held[i]), back.size())}}));
      if (back != bytes[i])
        return fail(cat("buffers: round ", round, ": want buffer ", i, " of ", back.size(),
                        " bytes left alone, it changed"));
    }
  }
  return pass(kBuffers * 6);
}

// Caller's memory made known to the device: used in place, given back unharmed.
Outcome import(Session& session) {
  const auto& spaces = session.row().spaces;
  const auto unified = std::find_if(spaces.begin(), spaces.end(),
                                    [](const frl_space& s) { return s.flags & FRL_SPACE_UNIFIED; });
  if (unified == spaces.end()) return {Verdict::not_claimed, "no space is unified"};
  const auto id = uint32_t(unified - spaces.begin());
  FRL_HAVE(auto queue, session.open_queue());
  alignas(4096) static unsigned char memory[8192];
  for (bool read_only : {true, false}) {
    std::fill(std::begin(memory), std::end(memory), 0x21);
    {
      FRL_HAVE(const auto buffer, session.make_buffer(4096, id, memory, read_only));
      if (buffer->host && buffer->host != memory)
        return fail("import: want the caller's own memory, got another address");
      std::vector<unsigned char> other(4096, 0x77);
      if (!read_only)
        FRL_CHECK(queue->finish(
            {.copies = {raw::copy_of(raw::whole(buffer), raw::address(other.data()), 4096)}}));
      FRL_CHECK(queue->finish(
          {.copies = {raw::copy_of(raw::address(other.data()), raw::whole(buffer), 4096)}}));
      if (other[0] != memory[0] || other[4095] != memory[4095])
        return fail("import: want the caller's bytes through the buffer, got others");
    }
    if (memory[0] != (read_only ? 0x21 : 0x77) || memory[4096] != 0x21)
      return fail(
          "import: want only the imported bytes touched, and kept after the buffer is dropped");
  }
  return pass(2);
}

// A kernel asks for no more scratch than its row says, and works in just as much.
Outcome scratch(Session& session) {
  uint64_t judged = 0;
  for (const raw::Specimen& each : raw::specimens(session)) {
    FRL_HAVE(const Block block, raw::block_of(each.graph, NodeId(0), session.row()));
    FRL_HAVE(const auto kernel, session.compile(block));
    uint64_t most = 0;
    for (const Claim& claim : session.row().claims)
      if (claim.op == each.graph.node(NodeId(0)).op) most = std::max(most, claim.scratch_bytes);
    if (kernel->scratch_bytes > most)
      return fail(cat(each.name, ": want at most the claimed ", most, " bytes of scratch, got ",
                      kernel->scratch_bytes));
    FRL_CHECK(raw::runs_right(session, each));
    ++judged;
  }
  return judged ? pass(judged)
                : Outcome{Verdict::not_claimed, "none of the suite's specimens is claimed"};
}

void add(std::vector<Case>& cases, const char* name, Outcome (*check)(Session&)) {
  cases.push_back({name, [check](const Target& t) { return raw::with_session(t, check); }});
}

}  // namespace

void list_memory(const Target&, std::vector<Case>& cases) {
  cases.push_back({"K/refusal/large_buffers",
                   [](const Target& t) { return to_refusal(t, uint64_t{64} << 20, false); }});
  cases.push_back({"K/refusal/small_buffers",
                   [](const Target& t) { return to_refusal(t, uint64_t{1} << 20, false); }});
  cases.push_back({"K/refusal/by_the_host",
                   [](const Target& t) { return to_refusal(t, uint64_t{4} << 20, true); }});
  cases.push_back({"K/refusal/no_host_memory", host_has_none});
  add(cases, "K/largest/beyond", beyond_largest);
  add(cases, "K/largest/exact", largest);
  add(cases, "K/size/zero", zero_bytes);
  add(cases, "K/size/alignment", alignment);
  add(cases, "K/space/unknown", unknown_space);
  add(cases, "K/contents/neighbours", neighbours);
  add(cases, "K/contents/import", import);
  add(cases, "K/scratch/claimed", scratch);
}

}  // namespace ferrule::conformance
