import { once } from "node:events";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";

// A process of its own for tests: opens the data directory it is given, says so, and closes once its
// standard input ends.
const postgres = await openEmbeddedPostgres({ dataDirectory: process.argv[2] ?? "" });
process.stdout.write(`${JSON.stringify({ kind: postgres.kind, location: postgres.location })}\n`);
process.stdin.resume();
await once(process.stdin, "end");
await postgres.close();
