export { formatRelease } from "./format.js";
export { parseChangelog } from "./parse.js";
export { latest, newestFirst, since } from "./select.js";
