import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRelease } from "../src/index.js";

test("a release is plain text when colours are off", () => {
  const release = { version: "2.0.0", date: "2024-06-01", notes: [{ kind: "Added", text: "a lamp" }] };
  assert.equal(formatRelease(release, { color: false }), "2.0.0 (2024-06-01)\n  Added    a lamp");
});
