// Placement locks: written, read back, compared, followed; and files that are none.
#include "core/place/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "tests/pass/device.h"

namespace ferrule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A graph whose nodes bear names of a model, two of them the same.
Graph named_graph() {
  Graph graph("g");
  const auto node = [&](const char* name, const char* op, OpId id, ValueId x) {
    graph.set_sources({graph.add_source({name, op})});
    return *graph.emit(id, {x});
  };
  const ValueId x = graph.add_input({Type::f32, {2, 4}}, "x");
  const ValueId a = node("first", "Exp", FRL_OP_exp, x);
  const ValueId b = node("", "Exp", FRL_OP_exp, a);
  const ValueId c = node("", "Exp", FRL_OP_exp, b);
  const ValueId d = node("odd \"name\"\n#", "Softmax", FRL_OP_softmax, c);
  Attributes flat(FRL_OP_reshape);
  flat.slot(0).list = {8};
  graph.add_output(*graph.emit(FRL_OP_reshape, std::move(flat), {d}), "d");
  return graph;
}

struct Devices {
  DeviceRow a = test::device_claiming({"softmax", "pointwise"});
  DeviceRow b = test::device_claiming({"pointwise"});
  Devices() { a.architecture = "made up", a.fingerprint = 0xab, b.fingerprint = 1; }
  std::vector<Target> targets() const { return {{"a", &a}, {"b:0", &b}}; }
};

std::vector<int32_t> devices_of(const Placement& placement) {
  std::vector<int32_t> out;
  for (const PlacedNode& node : placement.nodes) out.push_back(node.device);
  return out;
}

PlacementLock parsed(const std::string& text) {
  auto lock = PlacementLock::parse(text, "test.lock");
  EXPECT_TRUE(lock.ok()) << lock.status().message();
  return lock.ok() ? std::move(*lock) : PlacementLock();
}

PlacementLock written(const Devices& devices) {
  Graph graph = named_graph();
  const auto placement = place(graph, devices.targets(), {});
  EXPECT_TRUE(placement.ok()) << placement.status().message();
  PlacementLock lock;
  EXPECT_TRUE(lock.add(*placement, devices.targets(), ""));
  EXPECT_FALSE(lock.add(*placement, devices.targets(), ""));
  return lock;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Lock, IsALineForEachNode) {
  const std::string text = written({}).text();
  EXPECT_THAT(text, HasSubstr("ferrule placement 1\n"
                              "device \"a\" = \"made up\" fingerprint 171 claims "));
  EXPECT_THAT(text, HasSubstr("node exp 0 \"first (Exp)\" = \"a\"\n"
                              "node exp 0 \"unnamed (Exp)\" = \"a\"\n"
                              "node exp 1 \"unnamed (Exp)\" = \"a\"\n"
                              "node softmax 0 \"odd \\\"name\\\"\\u000a# (Softmax)\" = \"a\"\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("reshape")));
  EXPECT_EQ(written({}).text(), text);
}

TEST(Lock, ReadsBack) {
  const PlacementLock lock = written({});
  const PlacementLock again = parsed(lock.text() + "\n  # a \"comment\r\n\n");
  EXPECT_EQ(again.text(), lock.text());
  EXPECT_THAT(lock_differences(lock, again), IsEmpty());
}

TEST(Lock, ReadsBackFromAFile) {
  const auto path = std::filesystem::temp_directory_path() / ("lock_" + std::to_string(::getpid()));
  const PlacementLock lock = written({});
  ASSERT_TRUE(lock.write(path).ok());
  const auto again = PlacementLock::read(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->text(), lock.text());
  EXPECT_EQ(PlacementLock::read(path).status().code(), Code::not_found);
  EXPECT_FALSE(PlacementLock::read(std::filesystem::temp_directory_path()).ok());
  EXPECT_FALSE(lock.write(path / "no" / "folder").ok());
}

TEST(Lock, IsFollowed) {
  const Devices devices;
  const PlacementLock lock =
      parsed(replaced(written(devices).text(), "exp 1 \"unnamed (Exp)\" = \"a\"",
                      "exp 1 \"unnamed (Exp)\" = \"b:0\""));
  Graph graph = named_graph();
  const auto placement = place(graph, devices.targets(), {}, {&lock, ""});
  ASSERT_TRUE(placement.ok()) << placement.status().message();
  EXPECT_THAT(devices_of(*placement), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_EQ(graph.node(NodeId(2)).device, 1);
}

TEST(Lock, ThatIsNotCompleteLeavesTheRestToCosts) {
  const Devices devices;
  const std::string text = written(devices).text();
  PlacementLock lock =
      parsed(text.substr(0, text.find("node")) + "node exp 0 \"first (Exp)\" = \"b:0\"");
  lock.set_complete(false);
  Graph graph = named_graph();
  const auto placement = place(graph, devices.targets(), {}, {&lock, ""});
  ASSERT_TRUE(placement.ok()) << placement.status().message();
  EXPECT_EQ(placement->nodes[0].device, 1);
  EXPECT_TRUE(lock.add(*placement, devices.targets(), ""));
  EXPECT_EQ(*lock.find("node exp 0 \"first (Exp)\""), "\"b:0\"");
  EXPECT_NE(lock.find("node exp 1 \"unnamed (Exp)\""), nullptr);
}

TEST(Lock, OverridesAlso) {
  const Devices devices;
  std::vector<Target> targets = devices.targets();
  targets[1].also = true;
  const PlacementLock lock = parsed(
      replaced(written(devices).text(), "\"first (Exp)\" = \"a\"", "\"first (Exp)\" = \"b:0\""));
  Graph graph = named_graph();
  const auto placement = place(graph, targets, {}, {&lock, ""});
  ASSERT_TRUE(placement.ok()) << placement.status().message();
  EXPECT_EQ(placement->nodes[0].device, 1);
}

TEST(Lock, ThatCannotBeFollowedNamesEveryNode) {
  const Devices devices;
  std::string text = written(devices).text();
  text = replaced(text, "(Softmax)\" = \"a\"", "(Softmax)\" = \"b:0\"");
  text = replaced(text, "exp 0 \"first (Exp)\"", "exp 0 \"other (Exp)\"");
  const PlacementLock lock = parsed(text);
  Graph graph = named_graph();
  const auto placement = place(graph, devices.targets(), {}, {&lock, ""});
  ASSERT_FALSE(placement.ok());
  EXPECT_EQ(placement.status().code(), Code::invalid_argument);
  const std::string& message = placement.status().message();
  EXPECT_THAT(message, HasSubstr("want a usable line of test.lock for every node, got 2"));
  EXPECT_THAT(message, HasSubstr("exp 0 \"first (Exp)\": no line"));
  EXPECT_THAT(message,
              HasSubstr("softmax 0 \"odd \\\"name\\\"\\u000a# (Softmax)\": \"b:0\": softmax"));
  const auto scoped = place(graph, devices.targets(), {}, {&lock, "loop (Loop)/0: "});
  EXPECT_THAT(scoped.status().message(),
              HasSubstr("exp 0 \"loop (Loop)/0: first (Exp)\": no line"));
}

TEST(Lock, WithADeviceThatIsMissingSaysSo) {
  const Devices devices;
  const PlacementLock lock = parsed(written(devices).text());
  const Target other[] = {{"c", &devices.a}};
  Graph graph = named_graph();
  const auto placement = place(graph, other, {}, {&lock, ""});
  ASSERT_FALSE(placement.ok());
  EXPECT_THAT(placement.status().message(), HasSubstr("want one of the targets \"c\", got \"a\""));
}

TEST(Lock, DifferencesAreALineEach) {
  const Devices devices;
  const std::string text = written(devices).text();
  std::string other =
      replaced(text, "exp 1 \"unnamed (Exp)\" = \"a\"", "exp 1 \"unnamed (Exp)\" = \"b:0\"");
  other = replaced(other, "\"first (Exp)\"", "\"renamed (Exp)\"");
  other = replaced(other, "fingerprint 1 ", "fingerprint 2 ");
  other = replaced(other, "node", "device \"c\" = \"\" claims 0\nnode");
  const auto lines = lock_differences(parsed(text), parsed(other));
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], HasSubstr("device \"b:0\": \"\" fingerprint 1 claims "));
  EXPECT_THAT(lines[0], HasSubstr(" -> \"\" fingerprint 2 claims "));
  EXPECT_EQ(lines[1], "node exp 0 \"first (Exp)\": \"a\" -> gone");
  EXPECT_EQ(lines[2], "node exp 1 \"unnamed (Exp)\": \"a\" -> \"b:0\"");
  EXPECT_EQ(lines[3], "device \"c\": new -> \"\" claims 0");
  EXPECT_EQ(lines[4], "node exp 0 \"renamed (Exp)\": new -> \"a\"");
  EXPECT_EQ(lock_differences(parsed(other), parsed(text)).size(), 5u);
}

// Bytes changed, cut out and doubled: a sentence, or a lock that reads back as itself.
TEST(Lock, SurvivesDamage) {
  const std::string text = written({}).text();
  std::mt19937 random(1);
  int fine = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (uint32_t n = random() % 3 + 1; n > 0; --n) {
      const size_t at = text.find('\n') + 1 + random() % (text.size() - text.find('\n') - 1);
      const char bytes[] = {char(random()), '"', '\\', '\n', ' ', '=', '#', '9'};
      if (random() % 3 == 0) damaged[std::min(at, damaged.size() - 1)] = bytes[random() % 8];
      if (random() % 3 == 0) damaged.erase(std::min(at, damaged.size()), random() % 40);
      if (random() % 3 == 0) damaged.insert(std::min(at, damaged.size()), damaged.substr(0, at));
    }
    const auto lock = PlacementLock::parse(damaged, "damaged.lock");
    fine += lock.ok();
    if (!lock.ok()) {
      EXPECT_THAT(lock.status().message(), HasSubstr("want "));
      continue;
    }
    const auto again = PlacementLock::parse(lock->text(), "again.lock");
    ASSERT_TRUE(again.ok()) << damaged << again.status().message();
    EXPECT_EQ(again->text(), lock->text());
  }
  EXPECT_GT(fine, 100);
}

const std::string kHead = "ferrule placement 1\n", kDevice = "device \"a\" = \"\" claims 1\n";
constexpr const char* kForm =
    "want device \"ID\" = IDENTITY or node OP NUMBER \"NAMES\" = \"ID\", got";

struct Malformed {
  std::string text, message;
};
void PrintTo(const Malformed& m, std::ostream* out) { *out << m.text.substr(0, 100); }

class MalformedLock : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedLock, IsASentence) {
  const auto lock = PlacementLock::parse(GetParam().text, "bad.lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.status().code(), Code::invalid_argument);
  EXPECT_THAT(lock.status().message(), HasSubstr(GetParam().message));
  EXPECT_LT(lock.status().message().size(), 300u);
}

const Malformed kMalformed[] = {
    {"", "bad.lock:1: want ferrule placement 1 on the first line, got "},
    {"ferrule placement 2\n", "bad.lock:1: want ferrule placement 1 on the first line, got"},
    {std::string("\0\xff\n\n", 4), "bad.lock:1: want"},
    {std::string(100000, 'x'), "bad.lock:1: want"},
    {kHead + "\n\nnodes\n", std::string("bad.lock:4: ") + kForm + " nodes"},
    {kHead + std::string(100000, 'x'), "xxx..."},
    {kHead + std::string(100000, '"'), "\"\"\"..."},
    {kHead + std::string(100000, '='), "===..."},
    {kHead + "=", kForm},
    {kHead + "device", kForm},
    {kHead + "device \"a", kForm},
    {kHead + "device \"a\\", kForm},
    {kHead + "device \"a\\\" = x", kForm},
    {kHead + "device \"a\"b = x", kForm},
    {kHead + "device a = x", kForm},
    {kHead + "device \"a\" =", kForm},
    {kHead + "device \"a\"", kForm},
    {kHead + kDevice + "device \"a\" = y",
     "bad.lock:3: want each device and node once, got device"},
    {kHead + "node exp 0 \"x\" = \"a\"",
     "bad.lock:2: want a device that has a line above, got node"},
    {kHead + kDevice + "node exp x \"x\" = \"a\"", kForm},
    {kHead + kDevice + "node exp -1 \"x\" = \"a\"", kForm},
    {kHead + kDevice + "node exp 99999999999999999999 \"x\" = \"a\"", kForm},
    {kHead + kDevice + "node \"exp\" 0 \"x\" = \"a\"", kForm},
    {kHead + kDevice + "node exp 0 x = \"a\"", kForm},
    {kHead + kDevice + "node exp 0 \"x\" = \"a\" more", kForm},
    {kHead + kDevice + "node exp 0 \"x\" = a", kForm},
    {kHead + kDevice + "node exp 0 \"x\"", kForm},
    {kHead + kDevice + "node exp 0 \"x\" = \"a\"\nnode exp 0 \"x\" = \"a\"",
     "bad.lock:4: want each device and node once, got node exp 0"},
};

INSTANTIATE_TEST_SUITE_P(All, MalformedLock, testing::ValuesIn(kMalformed));

}  // namespace
}  // namespace ferrule
