#include "iclmech/io/json_fields.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using iclmech::file_error;
using iclmech::detail::json_fields;

const std::string path = "x.json";

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const file_error& problem) {
    return problem.what();
  }
  return "nothing was thrown";
}

TEST(json_fields, reads_typed_fields) {
  const nlohmann::json value = {
      {"text", "a"}, {"flag", true}, {"number", 7}, {"none", nullptr}, {"list", {{{"n", 1}}, {{"n", 2}}}}};
  const json_fields fields(path, "", value);
  EXPECT_EQ(fields.text("text"), "a");
  EXPECT_TRUE(fields.flag("flag", false));
  EXPECT_TRUE(fields.flag("absent", true));
  EXPECT_FALSE(fields.flag("none", false));
  EXPECT_EQ(fields.number("number", 7), 7);
  EXPECT_EQ(fields.find("none"), nullptr);
  EXPECT_EQ(fields.objects("list").at(1).number("n", 9), 2);
}

TEST(json_fields, errors_name_the_file_and_the_path_of_the_field) {
  const nlohmann::json value = {{"a", {{"b", {{{"c", 1}}, 5}}, {"t", "x"}, {"n", -1}, {"big", 8}}}};
  const json_fields fields(path, "", value);
  const json_fields a = fields.object("a");
  EXPECT_EQ(message_of([&] { fields.object("z"); }), "x.json: z: is missing");
  EXPECT_EQ(message_of([&] { a.text("z"); }), "x.json: a.z: is missing");
  EXPECT_EQ(message_of([&] { a.text("n"); }), "x.json: a.n: is number, but a text is needed here");
  EXPECT_EQ(message_of([&] { a.flag("t", false); }),
            "x.json: a.t: is string, but true or false is needed here");
  EXPECT_EQ(message_of([&] { a.number("n", 7); }),
            "x.json: a.n: is number, but a whole number from 0 up is needed here");
  EXPECT_EQ(message_of([&] { a.number("big", 7); }), "x.json: a.big: is 8; at most 7 is allowed");
  EXPECT_EQ(message_of([&] { a.objects("t"); }), "x.json: a.t: is string, but a list is needed here");
  EXPECT_EQ(message_of([&] { a.objects("b"); }), "x.json: a.b[1]: is number, but an object is needed here");
  EXPECT_EQ(message_of([&] { a.object("b"); }), "x.json: a.b: is array, but an object is needed here");
}

TEST(json_fields, the_whole_file_must_be_an_object) {
  const nlohmann::json value = nlohmann::json::array();
  EXPECT_EQ(message_of([&] { json_fields(path, "", value); }),
            "x.json: JSON text: is array, but an object is needed here");
}

}  // namespace
