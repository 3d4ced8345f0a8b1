// Which system calls a piece of code makes that start threads or processes, open files or sockets.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ferrule::conformance::raw {

// Runs `fn` with such calls refused, and names those that were tried ("openat"). For ever after,
// the calling process can make none of them: for errands only.
//   supported  false where the kernel or the machine has no filter; fn has run unwatched then
std::vector<std::string> watched(const std::function<void()>& fn, bool* supported);

}  // namespace ferrule::conformance::raw
