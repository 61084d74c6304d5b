// Never ends, and is deaf to polite signals.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {});
for (;;) {
  // Busy.
}
