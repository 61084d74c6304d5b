// Takes memory until somebody stops it, or until it has had four gibibytes.
const taken = [];
while (taken.length < 4096) taken.push(Buffer.alloc(1024 * 1024, 1));
console.log(JSON.stringify({ mebibytes: taken.length }));
