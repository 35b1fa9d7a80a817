import { createHash, randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { groupRows } from "@latchkey/web/group-rows";
import { callProcedure, signUp } from "../support/account.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:import`: measures how long `latchkey import keys` takes for 100,000 keys while a server runs, and how long the web
// app's calls take for the same keys, the first time and when the import is repeated.

const keys = 100_000;
/** In seconds, of each import. */
const maxSeconds = 30;

await using stack = new AsyncDisposableStack();
const directory = await mkdtemp(join(tmpdir(), "latchkey-bench-"));
stack.defer(() => rm(directory, { recursive: true }));
const instance = await createTestInstance();
stack.defer(() => instance.close());
const { baseUrl } = await instance.start();
const owner = await signUp(baseUrl);

const rows = Array.from({ length: keys }, (_, number) => ({
  hash: createHash("sha256").update(randomUUID()).digest("hex"),
  start: "acme_abcdef",
  name: `Key ${number}`,
  externalId: `customer_${number % 20_000}`,
  permissions: "documents.read documents.write",
}));
const contents = rows.map((row) => ({ ...row, permissions: row.permissions.split(" ") }));
const files = {
  "keys.csv": ["hash,start,name,externalId,permissions", ...rows.map((row) => Object.values(row).join(","))],
  "keys.ndjson": contents.map((content) => JSON.stringify(content)),
};

async function run(command: readonly string[]): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await instance.command(["--json", ...command]);
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as Record<string, unknown>; // The command printed it.
}

const measured: { readonly what: string; readonly seconds: number }[] = [];

/** Measures an import into a new keyspace, and its repetition. It is in a workspace of its own, which can have a key only once. */
async function measure(
  name: string,
  importKeys: (path: { readonly workspaceId: string; readonly keyspaceId: string }) => Promise<unknown>,
): Promise<void> {
  const { id } = await run(["workspace", "create", "--owner", owner.email, "--name", name]);
  const options = ["--workspace", String(id), "--name", "API", "--prefix", "acme"];
  const created = await run(["keyspace", "create", ...options]);
  const path = { workspaceId: String(id), keyspaceId: String(created.id) };
  for (const what of ["first", "repeated"]) {
    const startedAt = performance.now();
    const imported = await importKeys(path);
    const seconds = (performance.now() - startedAt) / 1_000;
    if (imported !== (what === "first" ? keys : 0)) throw new Error(`Imported ${imported} keys.`);
    measured.push({ what: `${name}, ${what}`, seconds });
  }
}

for (const [name, lines] of Object.entries(files)) {
  const file = join(directory, name);
  await writeFile(file, lines.join("\n"));
  await measure(name, async ({ keyspaceId }) => {
    const { imported } = await run(["import", "keys", file, "--keyspace", keyspaceId]);
    return imported;
  });
}

async function* toRows() {
  for (const [index, content] of contents.entries()) yield { line: index + 1, content };
}

// As the web app: groups of its size, one after the other. It reads the file in the browser, which isn't measured.
await measure("web app", async (path) => {
  let imported = 0;
  for await (const group of groupRows(toRows())) {
    const { status, data } = await callProcedure(baseUrl, {
      path: "issuedKeyImport.importRows",
      kind: "mutation",
      input: { ...path, rows: group },
      cookie: owner.cookie,
    });
    if (status !== 200) throw new Error(`A call returned ${status}.`);
    imported += (data as { readonly imported: number }).imported; // The router's type for this procedure.
  }
  return imported;
});
console.info(`${keys.toLocaleString("en")} keys, in seconds.\n`);
const table = measured.map(({ what, seconds }) => [what, seconds.toFixed(1)]);
console.info(renderTable(["", "seconds"], table));
const tooSlow = measured.filter(({ seconds }) => seconds > maxSeconds);
if (tooSlow.length > 0)
  throw new Error(`Over ${maxSeconds} s: ${tooSlow.map(({ what }) => what).join("; ")}`);
