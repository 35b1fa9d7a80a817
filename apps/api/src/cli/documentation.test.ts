import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { permissions } from "@latchkey/auth/permissions";
import type { Command } from "commander";
import { expect, test } from "vitest";
import { projectRoot, readEnv } from "../env.ts";
import { createProgram } from "./program.ts";

// docs/command.md and the program describe the same commands.

const program = createProgram({ ...process, loadEnv: async () => readEnv({}) });

/** Each command except `help`, by its usage, such as `latchkey key edit <id>`, with the flags of its options. */
function listCommands(command: Command, path: string): [usage: string, flags: string[]][] {
  if (command.commands.length > 0) {
    const children = command.commands.filter((child) => child.name() !== "help");
    return children.flatMap((child) => listCommands(child, `${path} ${child.name()}`));
  }
  const args = command.registeredArguments
    .map((argument) => {
      const name = argument.variadic ? `${argument.name()}...` : argument.name();
      return argument.required ? ` <${name}>` : ` [${name}]`;
    })
    .join("");
  const flags = command.options.map((option) => option.flags + (option.mandatory ? " required" : ""));
  return [[path + args, flags.sort()]];
}

function readReference(text: string): [usage: string, flags: string[]][] {
  const sections = text.split(/^### /m).slice(1);
  return sections.map((section) => {
    const usage = /^`(.+)`\n/.exec(section)?.[1] ?? "";
    const rows = [...section.matchAll(/^\| `(--[^`]+)` +\| (required; )?/gm)];
    const flags = rows.map(([, flags = "", required]) => flags + (required ? " required" : ""));
    return [usage, [...flags, ...readSharedFlags(section)].sort()];
  });
}

/** The options in the sentence of a section that refers to the table of another command. */
function readSharedFlags(section: string): string[] {
  const [sentence = ""] = /^Choose the keys [^.]+\sas for\s\[[^.]+\.$/m.exec(section) ?? [];
  return [...sentence.matchAll(/`(--[^`]+)`/g)].map(([, flags = ""]) => flags);
}

test("docs/command.md lists every command with its options, and no other", async () => {
  const text = await readFile(join(projectRoot, "docs/command.md"), "utf8");
  expect(readReference(text)).toEqual(listCommands(program, "latchkey"));
});

test("docs/command.md lists the permissions of the catalog as the values of --permission", async () => {
  const text = await readFile(join(projectRoot, "docs/command.md"), "utf8");
  const rows = [...text.matchAll(/^\| `--permission <permission>` +\| .*: (.+?) +\|$/gm)];
  const listed = rows.map(([, values = ""]) => values.split(", "));
  expect(listed).toEqual([permissions, permissions]); // Of `key create` and `key edit`.
});

test("the README lists every command", async () => {
  const text = await readFile(join(projectRoot, "README.md"), "utf8");
  const rows = [
    ...text.matchAll(
      /^\| (`(?:migrate|backup|restore|demo|user|key|workspace|keyspace|issued-key|verify|import|member|service-account|invitation|webhook|audit|operator|instance)\b[^|]*)\|/gm,
    ),
  ];
  const listed = rows.flatMap(([, cell = ""]) => {
    const [first = "", ...others] = [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    const [group = ""] = first.split(" ");
    return [first, ...others.map((name) => `${group} ${name}`)];
  });
  const commands = listCommands(program, "").map(([usage]) => usage.replace(/ [<[].*/, "").trim());
  expect(listed.sort()).toEqual(commands.sort());
});
