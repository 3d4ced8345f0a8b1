// Files that are no plugins, or that lie oddly: the scan goes on past each.
#include <elf.h>

#include "tests/zoo/cage.h"

namespace ferrule::zoo {
namespace {

using testing::HasSubstr;

struct Row {
  const char* name;
  void (*make)(const Cage& cage);  // bad.so
  Stage stage;
  Code code;
  const char* text;
};

// A good library with one number of its ELF header changed.
template <class T>
void patched(const Cage& cage, size_t at, T value) {
  std::string bytes = Cage::read(Cage::member("good"));
  bytes.replace(at, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
  cage.write(bytes);
}

void truncated(const Cage& cage) {
  const std::string bytes = Cage::read(Cage::member("good"));
  cage.write(bytes.substr(0, bytes.size() / 2));
}
void text(const Cage& cage) { cage.write("#!/bin/sh\necho not a library\n"); }
void only_magic(const Cage& cage) { cage.write(ELFMAG); }
void empty(const Cage& cage) { cage.write(""); }
void folder(const Cage& cage) { fs::create_directory(cage.at("bad.so")); }
void dead_link(const Cage& cage) { fs::create_symlink("nowhere.so", cage.at("bad.so")); }
void link_loop(const Cage& cage) { fs::create_symlink("bad.so", cage.at("bad.so")); }
void fifo(const Cage& cage) { ASSERT_EQ(::mkfifo(cage.at("bad.so").c_str(), 0600), 0); }
void machine(const Cage& cage) {
  patched<uint16_t>(cage, offsetof(Elf64_Ehdr, e_machine), EM_S390);
}
void narrow(const Cage& cage) { patched<uint8_t>(cage, EI_CLASS, ELFCLASS32); }
void program(const Cage& cage) { patched<uint16_t>(cage, offsetof(Elf64_Ehdr, e_type), ET_EXEC); }
void far_sections(const Cage& cage) {
  patched<uint64_t>(cage, offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 8);
}
void open_to_all(const Cage& cage) {
  cage.put("good");
  ASSERT_EQ(::chmod(cage.at("bad.so").c_str(), 0666), 0);
}

class ZooFile : public testing::TestWithParam<Row> {};

TEST_P(ZooFile, HasItsOwnVerdict) {
  const Row& row = GetParam();
  const Cage cage;
  row.make(cage);
  const Loaded loaded = cage.load();
  const Verdict verdict = verdict_of(loaded, "bad.so");
  EXPECT_STREQ(stage_name(verdict.stage), stage_name(row.stage)) << verdict.status.message();
  EXPECT_STREQ(code_name(verdict.status.code()), code_name(row.code)) << verdict.status.message();
  EXPECT_THAT(verdict.status.message(), HasSubstr(row.text));
  EXPECT_EQ(loaded.drivers.size(), 1u);
  expect_cpu(loaded);
}

constexpr Row kRows[] = {
    {"truncated", truncated, Stage::inspect, Code::incompatible, "it is cut or damaged"},
    {"text", text, Stage::inspect, Code::incompatible,
     "want an ELF shared library, got something else"},
    {"only_magic", only_magic, Stage::inspect, Code::incompatible,
     "want an ELF shared library, got something else"},
    {"empty", empty, Stage::inspect, Code::incompatible, "got an empty file"},
    {"folder", folder, Stage::discover, Code::incompatible,
     "want a regular file, got a folder or device"},
    {"fifo", fifo, Stage::discover, Code::incompatible,
     "want a regular file, got a folder or device"},
    {"dead_link", dead_link, Stage::discover, Code::not_found, "the link leads nowhere"},
    {"link_loop", link_loop, Stage::discover, Code::not_found, "Too many levels of symbolic links"},
    {"machine", machine, Stage::inspect, Code::incompatible, "got ELF machine 22"},
    {"narrow", narrow, Stage::inspect, Code::incompatible, "want a 64-bit little-endian library"},
    {"program", program, Stage::inspect, Code::incompatible,
     "want a shared library, got ELF type 2"},
    {"far_sections", far_sections, Stage::inspect, Code::incompatible, "it is cut or damaged"},
    {"open_to_all", open_to_all, Stage::discover, Code::denied,
     "anybody may write it; chmod o-w it first"},
};
INSTANTIATE_TEST_SUITE_P(All, ZooFile, testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

// Root reads everything, so a test run by root becomes somebody else for a while.
class AsSomebody {
 public:
  AsSomebody() { was_root_ = ::geteuid() == 0 && ::seteuid(65534) == 0; }
  ~AsSomebody() {
    if (was_root_ && ::seteuid(0) != 0) std::abort();
  }

 private:
  bool was_root_;
};

TEST(ZooAccess, UnreadableFileNamesTheReason) {
  const Cage cage;
  cage.put("good");
  ASSERT_EQ(::chmod(cage.at("bad.so").c_str(), 0), 0);
  const AsSomebody somebody;
  const Loaded loaded = cage.load();
  const Verdict verdict = verdict_of(loaded, "bad.so");
  EXPECT_EQ(verdict.stage, Stage::inspect);
  EXPECT_THAT(verdict.status.message(), HasSubstr("Permission denied"));
  expect_cpu(loaded);
}

TEST(ZooAccess, UnreadableFolderHidesNoOther) {
  const Cage shut, open;
  ASSERT_EQ(::chmod(shut.folder().c_str(), 0), 0);
  Loaded loaded;
  {
    const AsSomebody somebody;
    LoadPolicy policy = open.policy();
    policy.folders.insert(policy.folders.begin(), shut.folder().string());
    loaded = Cage::load(policy);
  }
  ::chmod(shut.folder().c_str(), 0755);
  ASSERT_FALSE(loaded.verdicts.empty());
  EXPECT_EQ(loaded.verdicts[0].stage, Stage::discover);
  EXPECT_THAT(loaded.verdicts[0].status.message(), HasSubstr("Permission denied"));
  expect_cpu(loaded);
}

TEST(ZooNames, AnyFileNameWillDo) {
  std::string longest(255, 'x');
  longest.replace(252, 3, ".so");
  const std::vector<std::string> names = {"\xf0\x9f\xa6\x8a.so", "\xff\xfe(.so", " .so", longest};
  for (const std::string& name : names) {
    const Cage cage;
    cage.put("good", name);
    const Loaded loaded = cage.load();
    EXPECT_TRUE(verdict_of(loaded, name).loaded()) << verdict_of(loaded, name).status.message();
    EXPECT_EQ(loaded.drivers.size(), 2u);
    expect_cpu(loaded);
  }
}

TEST(ZooNames, OneFileByTwoPathsIsOnePlugin) {
  const Cage cage;
  cage.put("good");
  fs::create_symlink("bad.so", cage.at("link.so"));
  LoadPolicy policy = cage.policy();
  policy.folders.push_back(cage.folder().string() + "/");
  const Loaded loaded = Cage::load(policy);
  EXPECT_EQ(loaded.drivers.size(), 2u);
  EXPECT_EQ(loaded.verdicts.size(), 2u);
}

TEST(ZooNames, RelativeFoldersAreNotSearched) {
  const Cage cage;
  LoadPolicy policy = cage.policy();
  policy.folders.insert(policy.folders.begin(), "plugins");
  const Loaded loaded = Cage::load(policy);
  EXPECT_EQ(loaded.verdicts[0].status.code(), Code::denied);
  EXPECT_THAT(loaded.verdicts[0].status.message(), HasSubstr("want an absolute path, got plugins"));
  expect_cpu(loaded);
}

}  // namespace
}  // namespace ferrule::zoo
