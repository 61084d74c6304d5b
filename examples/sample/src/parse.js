import semver from "semver";

const RELEASE = /^##\s+\[?v?(?<version>\d[^\s\]]*)\]?(?:\s+-\s+(?<date>\d{4}-\d{2}-\d{2}))?\s*$/;
const SECTION = /^###\s+(?<kind>\S.*?)\s*$/;
const NOTE = /^[-*]\s+(?<text>\S.*?)\s*$/;

/**
 * The releases of a change log, in the order in which they are written.
 *
 * A heading whose version is not a semantic version ends the release before it and starts none.
 *
 * @param {string} text Markdown in the usual form: `## 1.2.0 - 2024-05-01`, `### Fixed`, `- what changed`
 * @returns {{version: string, date: string | null, notes: {kind: string, text: string}[]}[]}
 */
export function parseChangelog(text) {
  const releases = [];
  let release = null;
  let kind = "Changed";
  for (const line of text.split(/\r?\n/)) {
    if (/^##\s/.test(line)) {
      release = startRelease(RELEASE.exec(line)?.groups);
      kind = "Changed";
      if (release) releases.push(release);
    } else if (release && SECTION.test(line)) {
      kind = SECTION.exec(line).groups.kind;
    } else if (release && NOTE.test(line)) {
      release.notes.push({ kind, text: NOTE.exec(line).groups.text });
    }
  }
  return releases;
}

function startRelease(groups) {
  if (!groups || !semver.valid(groups.version)) return null;
  return { version: groups.version, date: groups.date ?? null, notes: [] };
}
