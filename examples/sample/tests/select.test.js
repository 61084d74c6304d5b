import assert from "node:assert/strict";
import { test } from "node:test";
import { latest, since } from "../src/index.js";

const releases = (...versions) => versions.map((version) => ({ version, date: null, notes: [] }));

test("the latest release is the highest version", () => {
  assert.equal(latest(releases("1.9.0", "1.10.0")).version, "1.10.0");
});

test("an empty change log has no latest release", () => {
  assert.equal(latest([]), null);
});

test("since leaves the version itself out", () => {
  assert.deepEqual(
    since(releases("1.0.0", "1.1.0", "1.2.0"), "1.1.0").map((release) => release.version),
    ["1.2.0"],
  );
});
