// Fills the workspace, says how far it got, and makes room again.
import fs from "node:fs";

const piece = Buffer.alloc(1024 * 1024, 1);
const names = [];
let bytes = 0;
let error = null;
while (error === null && bytes < 4 * 1024 ** 3) {
  const name = `fill-${names.length}`;
  names.push(name);
  try {
    const file = fs.openSync(name, "w");
    for (let count = 0; count < 32; count++) bytes += fs.writeSync(file, piece);
    fs.closeSync(file);
  } catch (caught) {
    error = caught.code;
  }
}
for (const name of names) fs.rmSync(name, { force: true });
console.log(JSON.stringify({ bytes, error }));
