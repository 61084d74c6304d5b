// Leaves a process behind that has a session of its own and holds none of our pipes.
import { spawn } from "node:child_process";

const left = spawn("/bin/sleep", ["86399"], { detached: true, stdio: "ignore" });
left.unref();
console.log(JSON.stringify({ pid: left.pid }));
