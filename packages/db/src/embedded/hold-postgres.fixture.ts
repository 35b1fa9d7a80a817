import { once } from "node:events";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";

// A separate process for tests. It opens the given data directory, reports that, and closes when its standard input
// ends.
const postgres = await openEmbeddedPostgres({ dataDirectory: process.argv[2] ?? "" });
const { kind, location, copiedBinaries } = postgres;
process.stdout.write(`${JSON.stringify({ kind, location, copiedBinaries })}\n`);
process.stdin.resume();
await once(process.stdin, "end");
await postgres.close();
