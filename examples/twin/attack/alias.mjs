// Gives push another name, in the clone's own configuration.
import { appendFileSync } from "node:fs";

appendFileSync(".git/config", "[alias]\n\tup = push\n");
