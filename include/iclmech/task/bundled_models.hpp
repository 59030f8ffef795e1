#ifndef ICLMECH_TASK_BUNDLED_MODELS_HPP
#define ICLMECH_TASK_BUNDLED_MODELS_HPP
// The tiny models that come with the library, and their task files, by name.

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "iclmech/task/registry.hpp"

namespace iclmech {

/// Where bundled models are looked for: `models` in a data directory, or `examples/models` beside one.
inline std::vector<std::filesystem::path> model_directories() {
  std::vector<std::filesystem::path> directories;
  for (const std::filesystem::path& data : data_directories())
    for (const std::filesystem::path& candidate :
         {data / "models", data.lexically_normal().parent_path() / "examples" / "models"})
      if (std::filesystem::is_directory(candidate)) directories.push_back(candidate);
  return directories;
}

/// The names of the bundled models, sorted.
inline std::vector<std::string> bundled_model_names() {
  std::vector<std::string> names;
  for (const std::filesystem::path& directory : model_directories())
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      if (std::filesystem::exists(entry.path() / "config.json"))
        names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// The folder of a bundled model, or nothing.
inline std::optional<std::string> bundled_model(const std::string& name) {
  for (const std::filesystem::path& directory : model_directories())
    if (!name.empty() && std::filesystem::exists(directory / name / "config.json"))
      return (directory / name).string();
  return std::nullopt;
}

/// A path as it is, or the folder of the bundled model of that name; a folder that happens to have a bundled
/// model's name and holds no model does not hide it.
/// @throws argument_error naming the nearest bundled models if it is neither.
inline std::string find_model(const std::string& path_or_name) {
  const bool file = std::filesystem::is_regular_file(path_or_name);
  const bool model = file || std::filesystem::exists(std::filesystem::path(path_or_name) / "config.json");
  if (!model)
    if (const auto folder = bundled_model(path_or_name)) return *folder;
  if (std::filesystem::exists(path_or_name)) return path_or_name;
  const std::vector<std::string> names = bundled_model_names();
  throw argument_error("there is no file or folder '" + path_or_name + "' and no bundled model of that name" +
                       (names.empty() ? std::string(": give a Hugging Face folder or a .gguf file")
                                      : "; the bundled ones are " + detail::joined(names)));
}

/// A task file, a bundled task, or a task of the bundled models, by name.
/// @throws argument_error for an unknown name, with the nearest ones.
inline task find_any_task(const std::string& name_or_file) {
  for (const std::filesystem::path& directory : model_directories())
    if (const auto file = directory / "tasks" / (name_or_file + ".json");
        std::filesystem::is_regular_file(file))
      return load_task(file);
  return find_task(name_or_file);
}

}  // namespace iclmech

#endif  // ICLMECH_TASK_BUNDLED_MODELS_HPP
