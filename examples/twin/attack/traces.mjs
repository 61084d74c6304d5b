// Says whether the traps were sprung here.
import { existsSync } from "node:fs";

const [trace, ...others] = process.argv.slice(2);
console.log(JSON.stringify({ ran: existsSync(trace), others: others.filter((path) => existsSync(path)) }));
