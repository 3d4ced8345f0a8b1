// The suite's own host and its families of the protocol: what they notice, and who passes them.
#include "conformance/raw/check.h"
#include "conformance/raw/noise.h"
#include "core/graph/block.h"
#include "tests/conformance/program.h"

namespace ferrule::conformance::test {
namespace {

using raw::Error;
using raw::Services;
using testing::HasSubstr;
using testing::IsEmpty;

// ---- rules of the line ----
Error said(int32_t code, std::string_view text) {
  Error out;
  std::memset(&out.value, 0, sizeof out.value);
  out.value.code = code, out.value.subject = -1, out.value.text_n = uint32_t(text.size());
  text.copy(out.value.text, text.size());
  return out;
}

TEST(RawError, NamesEachBrokenRule) {
  EXPECT_EQ(Error().fault(FRL_OK), "");
  EXPECT_THAT(said(FRL_INVALID, "x").fault(FRL_OK), HasSubstr("left alone"));
  EXPECT_THAT(Error().fault(FRL_INVALID), HasSubstr("filled"));
  EXPECT_EQ(said(FRL_INVALID, "x: want y").fault(FRL_INVALID), "");
  EXPECT_THAT(said(FRL_INVALID, "x").fault(FRL_NO_MEMORY), HasSubstr("error.code"));
  EXPECT_THAT(said(FRL_INVALID, "").fault(FRL_INVALID), HasSubstr("reason"));
  EXPECT_THAT(said(FRL_INVALID, "\xFF").fault(FRL_INVALID), HasSubstr("UTF-8"));
  Error endless = said(FRL_INVALID, "x");
  endless.value.text_n = 492;
  EXPECT_THAT(endless.fault(FRL_INVALID), HasSubstr("NUL behind"));
}

TEST(RawServices, CountAndFailOnRequest) {
  Services services;
  const frl_host& host = *services.table();
  services.fail_alloc(2);
  void* first = host.alloc(host.self, 100, 64);
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(services.fault_is_due());
  EXPECT_EQ(host.alloc(host.self, 100, 64), nullptr);
  EXPECT_FALSE(services.fault_is_due());
  EXPECT_EQ(services.live_bytes(), 100);
  services.set_budget(150);
  EXPECT_EQ(host.alloc(host.self, 51, 64), nullptr);
  host.release(host.self, first, 100, 64);
  EXPECT_EQ(services.live_blocks(), 0);
  EXPECT_EQ(services.misuse(), "");
}

TEST(RawServices, NoticeMisuse) {
  const auto misuse_of = [](void (*wrong)(Services&, const frl_host&)) {
    Services services;
    wrong(services, *services.table());
    return services.misuse();
  };
  EXPECT_THAT(misuse_of([](Services&, const frl_host& h) {
                int local = 0;
                h.release(h.self, &local, 4, 4);
              }),
              HasSubstr("that alloc gave"));
  EXPECT_THAT(misuse_of([](Services&, const frl_host& h) {
                h.release(h.self, h.alloc(h.self, 8, 8), 9, 8);
              }),
              HasSubstr("sizes of the request"));
  EXPECT_THAT(misuse_of([](Services&, const frl_host& h) {
                auto* p = static_cast<char*>(h.alloc(h.self, 8, 8));
                p[8] = 1;
                h.release(h.self, p, 8, 8);
              }),
              HasSubstr("past its end"));
  EXPECT_THAT(misuse_of([](Services& s, const frl_host& h) {
                s.close();
                h.log(h.self, 1, "late", 4);
              }),
              HasSubstr("after quiesce"));
}

TEST(RawServices, TeamRunsAsManyAsThereAre) {
  Services services({.workers = 3});
  const frl_host& host = *services.table();
  std::atomic<uint32_t> seen{0};
  const auto member = [](void* arg, const frl_worker* w) {
    *static_cast<std::atomic<uint32_t>*>(arg) += 1 + 100 * w->n;
  };
  EXPECT_EQ(host.team(host.self, 8, 64, member, &seen), FRL_OK);
  EXPECT_EQ(seen, 3u + 3 * 300);
  services.fail_teams(1);
  EXPECT_EQ(host.team(host.self, 8, 64, member, &seen), FRL_NO_MEMORY);
  EXPECT_EQ(seen, 3u + 3 * 300) << "a team without memory runs nothing";
}

// A block as a newer core would send it is still a good block, with the same nodes.
TEST(RawBlocks, GrownBlocksAreGood) {
  auto graph = parse_graph(
      "graph \"g\"\n  %x = input f32[4,5] \"x\"\n  %y = softmax %x {axis=-1}\n  return %y \"y\"\n");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  DeviceRow row;
  const auto block = raw::block_of(*graph, NodeId(0), row);
  ASSERT_TRUE(block.ok());
  for (const auto& [head, rows] : {std::pair{8u, 0u}, {0u, 8u}, {64u, 64u}}) {
    const Block grown = raw::grown_block(*block, head, rows);
    EXPECT_TRUE(check_block(grown.bytes()).ok()) << check_block(grown.bytes()).message();
    EXPECT_EQ(grown.region()->head.size, sizeof(frl_region) + head);
    EXPECT_EQ(grown.region()->nodes.stride, sizeof(frl_node) + rows);
    EXPECT_GT(grown.bytes().size(), block->bytes().size());
  }
}

// ---- who passes ----
std::string failures(const Report& report) {
  std::string out;
  for (const Record& record : report.records)
    if (record.verdict != Verdict::pass && record.verdict != Verdict::not_claimed)
      out += cat(verdict_name(record.verdict), " ", record.name, ": ", record.text, "\n");
  return out;
}

struct Passing {
  const char* plugin;
  const char* families;
  size_t least;  // cases that pass
};
class Protocol : public testing::TestWithParam<Passing> {};

TEST_P(Protocol, IsKept) {
  const Folder folder;
  run("ferrule-conformance",
      cat(FRL_BUILD_DIR "/", GetParam().plugin, " --family ", GetParam().families,
          " --depth smoke --jobs 2 --report ", folder.at("report")));
  const Report report = report_in(folder);
  EXPECT_THAT(failures(report), IsEmpty());
  size_t passed = 0;
  for (const Record& record : report.records) passed += record.verdict == Verdict::pass;
  EXPECT_GE(passed, GetParam().least);
}
INSTANTIATE_TEST_SUITE_P(
    Plugins, Protocol,
    testing::Values(Passing{"plugins/cpu.so", "A,C,D,J,K,L,M,O,P,S,T", 200},
                    Passing{"examples/template.so", "A,C,D,J,K,L,M,O,P,S,T", 120},
                    Passing{"test_plugins/c11.so", "A,C,D,J,K,L,M,O,P,S,T", 120},
                    Passing{"test_plugins/discrete.so", "A,C,D,J,K,L,M,O,P,S,T", 120}));

// The badge of the least profile is within reach of a plugin that claims hardly more.
class Badge : public testing::TestWithParam<const char*> {};
TEST_P(Badge, IsGiven) {
  const Folder folder;
  const Said said =
      run("ferrule-conformance",
          cat(FRL_BUILD_DIR "/test_plugins/", GetParam(),
              ".so --profile pointwise-minimal --level 4 --report ", folder.at("report")));
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_EQ(report_in(folder).judgement.badge, "pointwise-minimal L4");
}
INSTANTIATE_TEST_SUITE_P(Least, Badge, testing::Values("c11", "discrete"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Null, FailsEveryProfile) {
  const Folder folder;
  const Said said =
      run("ferrule-conformance",
          cat(FRL_BUILD_DIR "/test_plugins/null.so --depth smoke --report ", folder.at("report")));
  EXPECT_EQ(said.code, 1) << said.text;
  const Report report = report_in(folder);
  EXPECT_THAT(report.judgement.profiles, IsEmpty());
  EXPECT_EQ(report.judgement.badge, "");
  EXPECT_THAT(failures(report), IsEmpty())
      << "it fails for what it does not do, not for what it does";
}

}  // namespace
}  // namespace ferrule::conformance::test
