// Family B: the file itself and its neighbours, in folders of its own, through the core's loader.
#include "core/driver/loader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "conformance/suite/families.h"
#include "core/base/text.h"

namespace ferrule::conformance {
namespace {

namespace fs = std::filesystem;

// A temporary folder, gone at the end. What the system refuses throws, which ends the case.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "ferrule-loader-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code code;
    fs::remove_all(path_, code);
  }
  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string copy(const Target& target, const std::string& name) const {
    fs::copy_file(target.path, at(name));
    fs::permissions(at(name), fs::perms(0755));
    return at(name);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(at(name), std::ios::binary) << text;
    return at(name);
  }

 private:
  std::string path_;
};

Loaded load_from(std::vector<std::string> folders, std::vector<std::string> deny = {}) {
  LoadPolicy policy;
  policy.folders = std::move(folders), policy.deny = std::move(deny);
  return load_plugins(policy, std::make_shared<Team>(1), {});
}

// What is wrong with the one that should have loaded, or empty.
std::string trouble_of_good(const Target& target, const Loaded& loaded, size_t want = 1) {
  if (!target.driver)
    return cat("the plugin: want it to load, got ", stage_name(target.load.stage), ": ",
               target.load.status.message());
  if (loaded.drivers.size() != want) {
    std::string said;
    for (const auto& verdict : loaded.verdicts)
      said += cat("; ", fs::path(verdict.path).filename().string().substr(0, 40), " ",
                  stage_name(verdict.stage), ": ", verdict.status.message());
    return cat("drivers: want ", want, ", got ", loaded.drivers.size(), said);
  }
  for (const auto& driver : loaded.drivers) {
    if (driver->id() != target.driver->id())
      return cat("id: want ", target.driver->id(), ", got ", driver->id());
    const auto want_rows = target.driver->devices(), got_rows = driver->devices();
    if (want_rows.size() != got_rows.size())
      return cat("devices: want ", want_rows.size(), ", got ", got_rows.size());
    for (size_t i = 0; i < want_rows.size(); ++i)
      if (want_rows[i].claims_hash() != got_rows[i].claims_hash())
        return cat("claims of ", want_rows[i].name, ": they differ between two copies of one file");
  }
  return {};
}

Outcome good_loads(const Target& target, const Loaded& loaded) {
  const std::string trouble = trouble_of_good(target, loaded);
  return trouble.empty() ? pass(loaded.verdicts.size()) : fail(trouble);
}

// ---- names of the file ----

struct Name {
  const char* variant;
  std::string folder, file;
};

std::string deep_folder() {
  std::string out;
  for (int i = 0; i < 18; ++i) out += (i ? "/" : "") + std::string(200, char('a' + i));
  return out;
}

Outcome odd_name(const Target& target, const Name& name) {
  const Folder folder;
  std::error_code code;
  const std::string inside = name.folder.empty() ? folder.path() : folder.at(name.folder);
  fs::create_directories(inside, code);
  if (code)
    return {conformance::Verdict::not_claimed,
            cat("this file system has no such folders: ", code.message()), 0, 0};
  fs::copy_file(target.path, inside + "/" + name.file, code);
  if (code)
    return {conformance::Verdict::not_claimed,
            cat("this file system has no such names: ", code.message()), 0, 0};
  fs::permissions(inside + "/" + name.file, fs::perms(0755));
  return good_loads(target, load_from({inside}));
}

// ---- bad neighbours: the plugin loads, they each get a verdict ----

struct Neighbour {
  const char* variant;
  void (*put)(const Target& target, const Folder& folder, const std::string& name);
};

std::string bytes_of(const std::string& path, size_t most = SIZE_MAX) {
  std::ifstream file(path, std::ios::binary);
  std::string out{std::istreambuf_iterator<char>(file), {}};
  return out.substr(0, most);
}

template <int kNumerator, int kDenominator, int kLess>
void put_cut(const Target& target, const Folder& folder, const std::string& name) {
  folder.write(
      name, bytes_of(target.path, fs::file_size(target.path) * kNumerator / kDenominator - kLess));
}

constexpr Neighbour kNeighbours[] = {
    {"dead_link", [](const Target&, const Folder& f,
                     const std::string& name) { fs::create_symlink("nowhere", f.at(name)); }},
    {"link_loop",
     [](const Target&, const Folder& f, const std::string& name) {
       fs::create_symlink("loop", f.at(name)), fs::create_symlink(name, f.at("loop"));
     }},
    {"folder", [](const Target&, const Folder& f,
                  const std::string& name) { fs::create_directory(f.at(name)); }},
    {"unreadable",
     [](const Target&, const Folder& f, const std::string& name) {
       fs::permissions(f.write(name, "secret"), fs::perms::none);
     }},
    {"empty", [](const Target&, const Folder& f, const std::string& name) { f.write(name, ""); }},
    {"text", [](const Target&, const Folder& f,
                const std::string& name) { f.write(name, "#!/bin/sh\nexit 0\n"); }},
    {"pipe", [](const Target&, const Folder& f,
                const std::string& name) { ::mkfifo(f.at(name).c_str(), 0644); }},
    {"head_only", [](const Target& t, const Folder& f,
                     const std::string& name) { f.write(name, bytes_of(t.path, 64)); }},
    {"cut_quarter", put_cut<1, 4, 0>},
    {"cut_half", put_cut<1, 2, 0>},
    {"cut_last_byte", put_cut<1, 1, 1>},
    {"writable",
     [](const Target& t, const Folder& f, const std::string& name) {
       fs::permissions(f.copy(t, name), fs::perms(0777));
     }},
};

// Before and after it in the order of names: neither hides the other.
Outcome bad_neighbour(const Target& target, const Neighbour& neighbour, const char* name) {
  const Folder folder;
  fs::create_symlink(target.path, folder.at("m.so"));
  neighbour.put(target, folder, name);
  const Loaded loaded = load_from({folder.path()});
  const std::string trouble = trouble_of_good(target, loaded);
  if (!trouble.empty()) return fail(trouble);
  for (const auto& verdict : loaded.verdicts)
    if (fs::path(verdict.path).filename() == name)
      return verdict.status.message().empty() ? fail(cat(name, ": want a reason, got none"))
                                              : pass(2);
  return fail(cat(name, ": want a verdict, got none"));
}

// ---- the same plugin more than once ----

Outcome twice_by_copy(const Target& target) {
  const Folder folder;
  folder.copy(target, "one.so"), folder.copy(target, "two.so");
  const Loaded loaded = load_from({folder.path()});
  const std::string trouble = trouble_of_good(target, loaded);
  if (!trouble.empty()) return fail(trouble);
  const auto& second = loaded.verdicts.back();
  if (second.loaded() || second.status.code() != Code::denied)
    return fail(cat("two.so: want denied as loaded already, got ", second.status.message()));
  return pass(2);
}

Outcome twice_by_link(const Target& target) {
  const Folder folder;
  folder.copy(target, "one.so");
  fs::create_symlink("one.so", folder.at("two.so"));
  fs::create_directory_symlink(folder.path(), folder.at("link"));
  return good_loads(target, load_from({folder.path(), folder.path() + "/", folder.at("link")}));
}

Outcome vanished_folder(const Target& target) {
  const Folder folder;
  folder.copy(target, "one.so");
  return good_loads(target, load_from({folder.at("gone"), folder.path()}));
}

// Two drivers at once in one process, each with its own host.
Outcome two_drivers(const Target& target) {
  const Folder folder;
  const std::string path = folder.copy(target, "one.so");
  ferrule::Verdict first, second;
  const auto a = load_plugin(path, std::make_shared<Team>(1), {}, &first);
  const auto b = load_plugin(path, std::make_shared<Team>(1), {}, &second);
  if (!a.ok() || !b.ok())
    return fail(cat("second driver: want both to load, got ", first.status.message(),
                    second.status.message()));
  const Loaded both{{*a, *b}, {first, second}};
  const std::string trouble = trouble_of_good(target, both, 2);
  return trouble.empty() ? pass(2) : fail(trouble);
}

// ---- where it may come from ----

class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& path) : before_(fs::current_path()) {
    fs::current_path(path);
  }
  ~WorkingFolder() {
    std::error_code code;
    fs::current_path(before_, code);
  }

 private:
  fs::path before_;
};

Outcome relative_path(const Target& target) {
  const Folder folder;
  folder.copy(target, "planted.so");
  const WorkingFolder inside(folder.path());
  const Loaded loaded = load_from({".", "", "./"});
  if (!loaded.drivers.empty())
    return fail("relative folder: want nothing loaded from the working folder, got a driver");
  return pass(3);
}

Outcome other_working_folder(const Target& target) {
  const Folder folder, elsewhere;
  folder.copy(target, "one.so");
  const WorkingFolder inside(elsewhere.path());
  return good_loads(target, load_from({folder.path()}));
}

Outcome denied(const Target& target, bool by_id) {
  if (!target.driver) return fail("the plugin: want it to load");
  const Folder folder;
  const std::string path = folder.copy(target, "unwanted.so");
  const Loaded loaded = load_from({folder.path()}, {by_id ? target.driver->id() : "unwanted.so"});
  if (!loaded.drivers.empty() || loaded.verdicts.size() != 1 ||
      loaded.verdicts[0].status.code() != Code::denied)
    return fail("denied plugin: want it refused, got a driver");
  if (bytes_of("/proc/self/maps").find(path) != std::string::npos)
    return fail("denied plugin: want it never opened, got it mapped");
  return pass(2);
}

// Drivers of vendors are looked up at run time, so that the library loads on every machine.
constexpr const char* kDriverLibraries[] = {"libcuda.",   "libnvrtc.",    "libcudart.",
                                            "libcublas",  "libamdhip64.", "libhiprtc.",
                                            "libvulkan.", "libOpenCL.",   "libze_loader."};

Outcome needed_libraries(const Target& target) {
  const auto found = inspect_library(target.path);
  if (!found.ok()) return fail(found.status().message());
  for (const std::string& library : found->needed)
    for (const char* driver : kDriverLibraries)
      if (library.rfind(driver, 0) == 0)
        return fail(
            cat("needed libraries: want drivers opened at run time, got ", library, " linked"));
  return pass(found->needed.size() + 1);
}

}  // namespace

void list_loader(const Target& target, std::vector<Case>& cases) {
  const auto add = [&](std::string name, std::function<Outcome(const Target&)> run) {
    cases.push_back({"B/" + std::move(name), std::move(run)});
  };
  const Name names[] = {{"emoji", "", "\xF0\x9F\x94\xA9.so"},
                        {"space", "a folder", "my plugin.so"},
                        {"not_utf8", "", "\xFF\xFE.so"},
                        {"quotes", "", "'\"$(x)\n.so"},
                        {"long", "", std::string(252, 'n') + ".so"},
                        {"deep_path", deep_folder(), "p.so"}};
  for (const Name& name : names)
    add(cat("name/", name.variant), [name](const Target& t) { return odd_name(t, name); });
  for (const Neighbour& neighbour : kNeighbours) {
    add(cat("neighbour/", neighbour.variant, "/before"),
        [&](const Target& t) { return bad_neighbour(t, neighbour, "a.so"); });
    if (target.depth == Depth::smoke) continue;
    add(cat("neighbour/", neighbour.variant, "/after"),
        [&](const Target& t) { return bad_neighbour(t, neighbour, "z.so"); });
  }
  add("twice/copy", twice_by_copy);
  add("twice/link", twice_by_link);
  add("twice/two_drivers", two_drivers);
  add("folder/vanished", vanished_folder);
  add("folder/relative", relative_path);
  add("folder/other_working_folder", other_working_folder);
  add("deny/id", [](const Target& t) { return denied(t, true); });
  add("deny/file", [](const Target& t) { return denied(t, false); });
  add("file/needed_libraries", needed_libraries);
}

}  // namespace ferrule::conformance
