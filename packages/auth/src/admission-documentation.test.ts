import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";

const path = join(import.meta.dirname, "../../../docs/admission.md");

/** What Mermaid accepts on a line: the kind of the diagram, a participant, or one arrow between two parts. */
const statement =
  /^(sequenceDiagram|flowchart LR|participant \w+ as [^-<>]+|\w+--?>>\w+: [^<>]+|\w+(\[\w+\])? -->(\|[^|]+\|)? \w+([[{]\w+[\]}])?)$/;

test("the diagrams of docs/admission.md have one statement per line", async () => {
  const diagrams = (await readFile(path, "utf8")).match(/(?<=```mermaid\n)[^`]+/g) ?? [];
  expect(diagrams).toHaveLength(2);
  const lines = diagrams.flatMap((diagram) => diagram.trimEnd().split("\n"));
  expect(lines.filter((line) => !statement.test(line.trim()))).toEqual([]);
});
