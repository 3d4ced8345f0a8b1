// Reading ELF files as data: the identity note, SONAME and needed libraries. Every number in the
// file may be wrong.
#include <elf.h>

#include <cstring>

#include "core/base/text.h"
#include "core/driver/library.h"

namespace ferrule {
namespace {

#if defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
constexpr const char* kMachineName = "aarch64";
#else
constexpr uint16_t kMachine = EM_X86_64;
constexpr const char* kMachineName = "x86-64";
#endif

Status wrong(std::string text) { return Status(Code::incompatible, std::move(text)); }

class Image {
 public:
  explicit Image(Bytes bytes) : bytes_(bytes) {}

  Status open() {
    if (!read(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return wrong("file: want an ELF shared library, got something else");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
      return wrong("file: want a 64-bit little-endian library");
    if (header_.e_machine != kMachine)
      return wrong(
          cat("file: want code for ", kMachineName, ", got ELF machine ", header_.e_machine));
    if (header_.e_type != ET_DYN)
      return wrong(cat("file: want a shared library, got ELF type ", header_.e_type));
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || !section(header_.e_shnum, nullptr) ||
        !section(header_.e_shstrndx, &names_))
      return wrong("file: want its section table inside the file; it is cut or damaged");
    return {};
  }

  // The first section of that name.
  bool find(std::string_view name, Elf64_Shdr* out) const {
    for (uint32_t i = 0; i < header_.e_shnum; ++i)
      if (section(i, out) && text(names_, out->sh_name) == name) return true;
    return false;
  }
  bool find_type(uint32_t type, Elf64_Shdr* out) const {
    for (uint32_t i = 0; i < header_.e_shnum; ++i)
      if (section(i, out) && out->sh_type == type) return true;
    return false;
  }
  bool section(uint32_t i, Elf64_Shdr* out) const {
    if (!out) return i == 0 || in_range(header_.e_shoff, uint64_t(i) * sizeof(Elf64_Shdr));
    return i < header_.e_shnum && read(header_.e_shoff + uint64_t(i) * sizeof(Elf64_Shdr), out);
  }
  Bytes contents(const Elf64_Shdr& s) const {
    return in_range(s.sh_offset, s.sh_size) && s.sh_type != SHT_NOBITS
               ? bytes_.subspan(s.sh_offset, s.sh_size)
               : Bytes();
  }
  std::string text(const Elf64_Shdr& table, uint64_t at) const {
    const Bytes bytes = contents(table);
    if (at >= bytes.size()) return {};
    const char* start = reinterpret_cast<const char*>(bytes.data()) + at;
    return std::string(start, strnlen(start, bytes.size() - at));
  }

 private:
  bool in_range(uint64_t at, uint64_t n) const {
    return at <= bytes_.size() && n <= bytes_.size() - at;
  }
  template <class T>
  bool read(uint64_t at, T* out) const {
    if (!in_range(at, sizeof(T))) return false;
    std::memcpy(out, bytes_.data() + at, sizeof(T));
    return true;
  }

  Bytes bytes_;
  Elf64_Ehdr header_{};
  Elf64_Shdr names_{};
};

template <size_t N>
std::string padded(const char (&field)[N]) {
  return std::string(field, strnlen(field, N));
}

Status read_note(const Image& image, Inspection& out) {
  Elf64_Shdr section{};
  if (!image.find(".note.ferrule", &section))
    return wrong("identity: want a section .note.ferrule (FRL_IDENTITY), got none");
  const Bytes bytes = image.contents(section);
  frl_note note{};
  constexpr size_t kFixed = offsetof(frl_note, identity);
  if (bytes.size() < sizeof note)
    return wrong(cat("identity: want a note of ", sizeof note, " bytes, got ", bytes.size()));
  std::memcpy(&note, bytes.data(), sizeof note);
  if (note.owner_n != 8 || std::memcmp(note.owner, "Ferrule", 8) != 0 || note.type != 1 ||
      note.payload_n < sizeof(frl_identity) || note.payload_n > bytes.size() - kFixed)
    return wrong("identity: want owner 'Ferrule', type 1 and a whole payload");
  const frl_identity& identity = note.identity;
  out.major = identity.major, out.min_minor = identity.min_minor,
  out.max_minor = identity.max_minor;
  out.sanitizer = identity.sanitizer;
  out.id = padded(identity.id), out.version = padded(identity.version),
  out.isa = padded(identity.isa), out.build = padded(identity.build);
  if (out.id.empty() || json_quote(out.id).size() != out.id.size() + 2)
    return wrong(cat("identity: want a plain id like com.example.name, got ", json_quote(out.id)));
  return {};
}

void read_dynamic(const Image& image, Inspection& out) {
  Elf64_Shdr dynamic{}, strings{};
  if (!image.find_type(SHT_DYNAMIC, &dynamic) || !image.section(dynamic.sh_link, &strings)) return;
  const Bytes bytes = image.contents(dynamic);
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= bytes.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.d_tag == DT_NEEDED) out.needed.push_back(image.text(strings, entry.d_un.d_val));
    if (entry.d_tag == DT_SONAME) out.soname = image.text(strings, entry.d_un.d_val);
  }
}

}  // namespace

Result<Inspection> inspect_image(Bytes bytes) {
  Inspection out;
  if (bytes.empty()) return wrong("file: want an ELF shared library, got an empty file");
  Image image(bytes);
  FRL_TRY(image.open());
  FRL_TRY(read_note(image, out));
  read_dynamic(image, out);
  return out;
}

Result<Inspection> inspect_library(const std::string& path) {
  FRL_LET(const MappedFile file, MappedFile::open(path));
  return inspect_image(file.bytes());
}

uint32_t own_sanitizer() { return FRL_SANITIZER; }

bool machine_runs(const std::string& isa) {
  if (isa.empty() || isa == "any") return true;
#if defined(__x86_64__)
  if (isa == "x86-64") return true;
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi2");
  if (isa == "x86-64-v2") return v2;
  if (isa == "x86-64-v3") return v3;
  if (isa == "x86-64-v4")
    return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
  return isa == "armv8-a";
#endif
  return false;
}

}  // namespace ferrule
