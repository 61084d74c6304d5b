// Starts processes until the system refuses one, or until it has a thousand.
import { spawn } from "node:child_process";

const start = () =>
  new Promise((resolve) => {
    const child = spawn("/bin/sleep", ["86399"], { stdio: "ignore" });
    child.on("spawn", () => resolve(null));
    child.on("error", (error) => resolve(error.code));
  });

let started = 0;
let error = null;
while (error === null && started < 1000) {
  error = await start();
  if (error === null) started += 1;
}
console.log(JSON.stringify({ started, error }));
process.exit(0);
