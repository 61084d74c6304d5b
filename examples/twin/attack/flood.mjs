// Prints without end.
import fs from "node:fs";

const line = "x".repeat(65536);
for (;;) fs.writeSync(1, line);
