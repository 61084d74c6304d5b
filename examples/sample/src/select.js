import semver from "semver";

/** Releases from the newest to the oldest, whatever order they were written in. */
export function newestFirst(releases) {
  return [...releases].sort((a, b) => (a.version < b.version ? 1 : -1));
}

/** The newest release, or null when there is none. */
export function latest(releases) {
  return newestFirst(releases)[0] ?? null;
}

/** Releases that are newer than `version`, the newest first. */
export function since(releases, version) {
  if (!semver.valid(version)) throw new RangeError(`not a version: ${version}`);
  return newestFirst(releases).filter((release) => semver.gt(release.version, version));
}
