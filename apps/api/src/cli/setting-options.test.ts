import type { IssuedFieldName } from "@latchkey/db/issued-key-settings";
import type { SettingName } from "@latchkey/db/key-settings";
import { expect, test } from "vitest";
import { readEnv } from "../env.ts";
import { createProgram } from "./program.ts";

/** Which options of `key create` set each setting of an API key. `key disable` sets `isDisabled`. */
const keyOptions: Readonly<Record<SettingName, readonly string[]>> = {
  isDisabled: [],
  expiresAt: ["--expires-at", "--expires-in"],
  workspaceIds: ["--workspace"],
  permissions: ["--permission"],
  isReadOnly: ["--read-only"],
  ipRanges: ["--ip"],
  limit: ["--limit"],
};

/** Which options of `issued-key create` set each field. The others have the default of the keyspace. */
const issuedKeyOptions: Readonly<Record<IssuedFieldName, readonly string[]>> = {
  name: ["--name"],
  externalId: ["--external-id"],
  meta: ["--meta"],
  permissions: ["--permission"],
  limits: ["--limit"],
  credits: ["--credits", "--refill"],
  expiresAt: ["--expires-at", "--expires-in"],
  isDisabled: [],
  ipRanges: ["--ip"],
};

test.each<[string, readonly string[], Readonly<Record<string, readonly string[]>>]>([
  ["key", ["--description", "--name", "--user"], keyOptions],
  ["issued-key", ["--keyspace"], issuedKeyOptions],
])("`latchkey %s create` has the options of each setting, and no other", (group, others, bySetting) => {
  const program = createProgram({ ...process, loadEnv: async () => readEnv({}) });
  const commands = program.commands.find((command) => command.name() === group)?.commands;
  const create = commands?.find((command) => command.name() === "create");
  const flags = create?.options.map(({ long }) => long).sort();
  expect(flags).toEqual([...others, ...Object.values(bySetting).flat()].sort());
});
