import { glob, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/product.ts";

// Comments refer to decision records by number, such as docs/decisions/0033, and pages by the name of the file.

/** Folders without sources or pages of the project. */
const excluded = new Set(["node_modules", "dist", ".git", ".turbo", ".results"]);
const isExcluded = (path: string) => excluded.has(basename(path)) || basename(path).startsWith(".data");

test("every decision record that a source file or a page refers to exists", async () => {
  const records = new Set<string>();
  for await (const path of glob("docs/decisions/*.md", { cwd: projectRoot })) {
    records.add(basename(path));
    records.add(basename(path).slice(0, 4));
  }
  const missing: string[] = [];
  let count = 0;
  for await (const path of glob("**/*.{ts,tsx,md}", { cwd: projectRoot, exclude: isExcluded })) {
    const text = await readFile(join(projectRoot, path), "utf8");
    // Records refer to each other by the name of the file alone.
    const pattern = path.startsWith("docs/decisions/")
      ? /(?:decisions\/|\]\()(\d{4}(?:-[\w-]+\.md)?)/g
      : /decisions\/(\d{4}(?:-[\w-]+\.md)?)/g;
    for (const [, record = ""] of text.matchAll(pattern)) {
      count += 1;
      if (!records.has(record)) missing.push(`${path}: ${record}`);
    }
  }
  expect(missing).toEqual([]);
  expect(count).toBeGreaterThan(100);
});
