#!/usr/bin/env node
import { readFileSync } from "node:fs";
import mri from "mri";
import { formatRelease, latest, parseChangelog, since } from "../src/index.js";

const { _: files, since: from } = mri(process.argv.slice(2), { string: ["since"] });
const releases = parseChangelog(readFileSync(files[0] ?? "CHANGELOG.md", "utf8"));
const shown = from ? since(releases, from) : [latest(releases)].filter(Boolean);
console.log(shown.map((release) => formatRelease(release)).join("\n\n") || "Nothing new.");
