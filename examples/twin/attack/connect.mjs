// Tries to reach every HOST:PORT (and to resolve every bare name), and says what came of each.
import { lookup } from "node:dns/promises";
import net from "node:net";

const connect = (host, port) =>
  new Promise((resolve) => {
    const socket = net.connect({ host, port: Number(port) });
    const end = (outcome) => {
      socket.destroy();
      resolve(outcome);
    };
    socket.setTimeout(1500, () => end("timeout"));
    socket.on("connect", () => end("connected"));
    socket.on("error", (error) => end(error.code));
  });

const resolveName = (name) => lookup(name).then(
  ({ address }) => `resolved to ${address}`,
  (error) => error.code,
);

const outcomes = {};
for (const target of process.argv.slice(2)) {
  const [host, port] = target.split(":");
  outcomes[target] = await (port ? connect(host, port) : resolveName(host));
}
console.log(JSON.stringify({ outcomes }));
