#ifndef ICLMECH_TASK_REGISTRY_HPP
#define ICLMECH_TASK_REGISTRY_HPP
// Finds the bundled tasks by name.
//
// They are the files DIR/tasks/*.json of the data directories: those that the environment variable
// ICLMECH_DATA_DIR lists, then those that the compile definition of the same name lists (set by CMake: the
// source tree's and the installed one). Lists are separated by ':', on Windows by ';'. A task that is in
// several is taken from the first.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "iclmech/detail/nearest_names.hpp"
#include "iclmech/error.hpp"
#include "iclmech/task/load.hpp"
#include "iclmech/task/task.hpp"

namespace iclmech {

/// Where bundled data is looked for, in order. The directories need not exist.
inline std::vector<std::filesystem::path> data_directories() {
#ifdef _WIN32
  constexpr char separator = ';';
#else
  constexpr char separator = ':';
#endif
  std::vector<std::filesystem::path> directories;
  const auto add = [&directories](std::string_view list) {
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(separator, begin), list.size());
      if (end > begin) directories.emplace_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
  };
  if (const char* variable = std::getenv("ICLMECH_DATA_DIR"); variable != nullptr) add(variable);
#ifdef ICLMECH_DATA_DIR
  add(ICLMECH_DATA_DIR);
#endif
  return directories;
}

/// The names of all bundled tasks, sorted.
inline std::vector<std::string> bundled_task_names() {
  std::vector<std::string> names;
  for (const std::filesystem::path& directory : data_directories()) {
    std::error_code missing;  // a directory that is not there holds no tasks
    for (const auto& entry : std::filesystem::directory_iterator(directory / "tasks", missing))
      if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Loads the bundled task called `name`. Throws argument_error for an unknown name, with the nearest known
/// ones.
inline task bundled_task(const std::string& name) {
  const std::vector<std::string> names = bundled_task_names();
  if (std::binary_search(names.begin(), names.end(), name))
    for (const std::filesystem::path& directory : data_directories()) {
      const std::filesystem::path file = directory / "tasks" / (name + ".json");
      if (std::filesystem::is_regular_file(file)) return load_task(file);
    }
  if (names.empty()) {
    std::string searched;
    for (const std::filesystem::path& directory : data_directories())
      searched += (searched.empty() ? "" : ", ") + (directory / "tasks").string();
    throw argument_error("there is no task \"" + name + "\", nor any other in the data directories (" +
                         searched +
                         "): set the environment variable ICLMECH_DATA_DIR to iclmech's data directory");
  }
  throw argument_error("there is no task \"" + name +
                       "\"; the nearest names are: " + detail::joined(detail::nearest_names(name, names, 3)) +
                       ". Give one of them or a .json, .jsonl, .csv or .tsv file");
}

/// A task file if `name_or_file` ends like one, otherwise the bundled task of that name.
inline task find_task(const std::string& name_or_file) {
  const std::string extension = std::filesystem::path(name_or_file).extension().string();
  return extension.empty() ? bundled_task(name_or_file) : load_task(name_or_file);
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_REGISTRY_HPP
