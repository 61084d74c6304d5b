import pc from "picocolors";

const PAINT = { Added: "green", Fixed: "yellow", Removed: "red", Security: "magenta" };

/** One release as text; `color` false gives plain text, whatever the terminal can do. */
export function formatRelease(release, { color = pc.isColorSupported } = {}) {
  const paint = pc.createColors(color);
  const head = release.date ? `${release.version} (${release.date})` : release.version;
  const lines = release.notes.map(({ kind, text }) => {
    const label = kind.padEnd(8);
    return `  ${PAINT[kind] ? paint[PAINT[kind]](label) : label} ${text}`;
  });
  return [paint.bold(head), ...lines].join("\n");
}
