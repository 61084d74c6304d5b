import assert from "node:assert/strict";
import { test } from "node:test";
import { parseChangelog } from "../src/index.js";

test("a release has its version, date and notes by kind", () => {
  const [release] = parseChangelog("# Changes\n\n## 1.2.0 - 2024-05-01\n\n### Fixed\n\n- the door\n");
  assert.deepEqual(release, {
    version: "1.2.0",
    date: "2024-05-01",
    notes: [{ kind: "Fixed", text: "the door" }],
  });
});

test("a heading that is no version starts no release", () => {
  assert.deepEqual(parseChangelog("## Unreleased\n\n- soon\n"), []);
});

test("Windows line ends make no difference", () => {
  assert.equal(parseChangelog("## 1.0.0\r\n\r\n- first\r\n")[0].notes[0].text, "first");
});
