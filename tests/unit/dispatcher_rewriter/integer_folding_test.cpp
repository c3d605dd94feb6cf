#include "blobs/tools/integer_folding.h"

#include <catch2/catch.hpp>

using hearth::blobs::fold_constant;

TEST_CASE("constants are folded as C++ would") {
  struct Row {
    const char* expression;
    const char* value;
  };
  // Values worked out by hand after [expr]; what C++ refuses, or what is not a constant, gives nothing.
  const Row rows[] = {
      {"32/2", "16"},
      {"7/2", "3"},
      {"-7/2", "-3"},
      {"-7%3", "-1"},
      {"2+3*4", "14"},
      {"(2+3)*4", "20"},
      {"1<<4", "16"},
      {"1<<2+1", "8"},
      {"256>>3", "32"},
      {"-8>>1", "-4"},
      {"5&3|8", "9"},
      {"6^3", "5"},
      {"~0", "-1"},
      {"!0", "true"},
      {"!5", "false"},
      {"- -3", "3"},
      {"+4", "4"},
      {"8>0", "true"},
      {"(8>0)", "true"},
      {"0>0", "false"},
      {"3<=3", "true"},
      {"3>=4", "false"},
      {"1==1", "true"},
      {"1!=1", "false"},
      {"1<2==1", "true"},
      {"true", "true"},
      {"false", "false"},
      {"true&&false", "false"},
      {"0||2", "true"},
      {"true?3:4", "3"},
      {"0?1:0?2:3", "3"},
      {"true+true", "2"},
      {"true==1", "true"},
      {"+true", "1"},
      {"0x1F", "31"},
      {"010", "8"},
      {"0b101", "5"},
      {"1'000", "1000"},
      {"16u", "16"},
      {"16ULL", "16"},
      {"0x10L", "16"},
      {" 4 * ( 2 + 1 ) ", "12"},
      {"9223372036854775807", "9223372036854775807"},
      {"1&&2&1", "false"},
      {"10-4-3", "3"},
      {"100/10/5", "2"},
      {"2*-3", "-6"},
      {"64/(4/2)", "32"},
  };
  for (const Row& row : rows) {
    INFO(row.expression);
    const auto folded = fold_constant(row.expression);
    REQUIRE(folded.has_value());
    CHECK(*folded == row.value);
  }
}

TEST_CASE("what is no constant, or does not fit, stays as it is") {
  for (const char* expression : {"",
                                 "x",
                                 "32/0",
                                 "5%0",
                                 "x/2",
                                 "1.5",
                                 "1e3",
                                 "08",
                                 "0x",
                                 "1<<63",
                                 "1<<-1",
                                 "-1<<2",
                                 "9223372036854775808",
                                 "9223372036854775807+1",
                                 "4611686018427387904*2",
                                 "(1",
                                 "1)",
                                 "1 2",
                                 "1+",
                                 "*2",
                                 "1?2",
                                 "1:2",
                                 "16x",
                                 "'a'",
                                 "1=1",
                                 "1<<=2",
                                 "sizeof(int)",
                                 "ck_tile::kN",
                                 "99999999999999999999999999"}) {
    INFO(expression);
    CHECK_FALSE(fold_constant(expression).has_value());
  }
  CHECK_FALSE(fold_constant(std::string(100000, '(')).has_value());
  CHECK_FALSE(fold_constant(std::string(100000, '-') + "1").has_value());
}
