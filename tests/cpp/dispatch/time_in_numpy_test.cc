#include "entry/time_in_numpy.h"

#include <gtest/gtest.h>

#include "graph/graph.h"

namespace pijit {
namespace {

TimeInNumpy all_of(const std::string& body) {
  return time_in_numpy(
      *Graph::parse("graph(%0: f64[5,6], %1: i64[1], %2: f64[]) {\n" + body + "}\n"));
}

int64_t time_of(const std::string& body) { return all_of(body).ns; }

TEST(TimeInNumPy, ElementsTakeLessThanArrays) {
  const int64_t element = time_of(
      "  %3: f64[1,6] = gather(%0, %1) {axis=0}\n"
      "  %4: f64[1,1] = slice(%3) {begin=(0,3), end=(1,4), step=(1,1)}\n"
      "  %5: f64[] = reshape(%4) {shape=()}\n"
      "  %6: f64[] = add(%5, %2)\n"
      "  return %6\n");
  const int64_t array = time_of("  %3: f64[5,6] = add(%0, %2)\n  return %3\n");
  EXPECT_GT(element, 0);
  EXPECT_LT(element, array);
}

TEST(TimeInNumPy, WhatNobodyReadsCostsNothing) {
  EXPECT_EQ(time_of("  %3: f64[5,6] = add(%0, %2)\n  return %0\n"), 0);
}

TEST(TimeInNumPy, PartsOfArraysAreSet) {
  const TimeInNumpy one = all_of(
      "  %3: f64[1,1] = reshape(%2) {shape=(1,1)}\n"
      "  %4: f64[5,6] = slice_update(%0, %3) {begin=(2,3), end=(3,4), step=(1,1)}\n"
      "  return %4\n");
  EXPECT_TRUE(one.of_elements);
  EXPECT_LT(one.ns, time_of("  %3: f64[5,6] = add(%0, %2)\n  return %3\n"));
  EXPECT_FALSE(all_of("  %3: f64[5,6] = add(%0, %2)\n  return %3\n").of_elements);
}

TEST(TimeInNumPy, ArgumentsThatAreSetInPartsAreCopied) {
  const std::string sets =
      "  %3: f64[1,1] = reshape(%2) {shape=(1,1)}\n"
      "  %4: f64[5,6] = slice_update(%0, %3) {begin=(2,3), end=(3,4), step=(1,1)}\n";
  EXPECT_EQ(all_of(sets + "  return %4\n").copied, 240);
  const std::string again =
      "  %5: f64[5,6] = slice_update(%4, %3) {begin=(1,3), end=(2,4), step=(1,1)}\n";
  EXPECT_EQ(all_of(sets + again + "  return %5\n").copied, 240);
  EXPECT_EQ(all_of("  %3: f64[5,6] = add(%0, %2)\n  return %3\n").copied, 0);
}

TEST(TimeInNumPy, ProductsAreWork) {
  EXPECT_GE(
      time_of("  %3: f64[6,5] = transpose(%0) {perm=(1,0)}\n"
              "  %4: f64[5,5] = matmul(%0, %3) {trans_a=false, trans_b=false}\n  return %4\n"),
      time_of("  %3: f64[5,6] = add(%0, %2)\n  return %3\n"));
}

}  // namespace
}  // namespace pijit
