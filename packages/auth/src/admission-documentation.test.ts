import { glob, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";

const path = join(import.meta.dirname, "../../../docs/admission.md");
const migrations = join(import.meta.dirname, "../../db/src/migrations/*.ts");

/** What Mermaid accepts on a line: the kind of the diagram, a participant, or one arrow between two parts. */
const statement =
  /^(sequenceDiagram|flowchart LR|participant \w+ as [^-<>]+|\w+--?>>\w+: [^<>]+|\w+(\[\w+\])? -->(\|[^|]+\|)? \w+([[{]\w+[\]}])?)$/;

test("the diagrams of docs/admission.md have one statement per line", async () => {
  const diagrams = (await readFile(path, "utf8")).match(/(?<=```mermaid\n)[^`]+/g) ?? [];
  expect(diagrams).toHaveLength(2);
  const lines = diagrams.flatMap((diagram) => diagram.trimEnd().split("\n"));
  expect(lines.filter((line) => !statement.test(line.trim()))).toEqual([]);
});

/** The triggers that increment the versions of owners, with the words by which the documentation names what changes. */
const triggers = {
  bump_members: "starts or stops requiring a second factor",
  bump_owner_with_passkey: "adds or removes an authenticator app or a passkey",
  bump_owner_with_totp: "adds or removes an authenticator app or a passkey",
};

test("docs/admission.md names what increments the version of an owner by a trigger", async () => {
  const names: string[] = [];
  for await (const file of glob(migrations)) {
    const source = await readFile(file, "utf8");
    names.push(...Array.from(source.matchAll(/create trigger (bump_\w+)/g), ([, name = ""]) => name));
    // Their names can't be found in this way. These triggers increment no version.
    const hasComputedName = source.includes("create trigger $" + "{") && !/00(34|40)-/.test(basename(file));
    expect(hasComputedName, file).toBe(false);
  }
  expect(names.sort()).toEqual(Object.keys(triggers).sort());
  const row = (await readFile(path, "utf8")).split("\n").find((line) => line.startsWith("| the key owner |"));
  for (const words of Object.values(triggers)) expect(row).toContain(words);
});
