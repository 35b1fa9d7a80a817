import { permissions } from "@latchkey/auth/permissions";
import { decodeId, encodeId, type KeyId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import type { Command } from "commander";
import { z } from "zod";
import { getAccount } from "../domain/accounts.ts";
import { createKey, deleteKey, getKeyOwner, type KeyEdit, rotateKey, updateKey } from "../domain/api-keys.ts";
import { email, keyDescription, keyName } from "../fields.ts";
import { rejectedAs } from "../issues.ts";
import { keySettings, lifetimeSeconds, overlapSeconds } from "../key-fields.ts";
import { commandOrigin } from "./command-origin.ts";
import { parseOptions } from "./parse-options.ts";
import type { Perform } from "./performer.ts";

export function addKeyCommands(program: Command, perform: Perform): void {
  const key = program.command("key").description("API keys");
  const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  key
    .command("create")
    .description("make an API key for a user; its secret is printed once and kept nowhere")
    .requiredOption("--user <email>", "whose permissions the key has")
    .requiredOption("--name <name>", "what the key is called")
    .option("--description <text>", "what the key is for", "")
    .option(
      "--expires-in <duration>",
      "how long it is good, such as 90s, 15m, 1h or 30d; without end unless told",
    )
    .option("--limit <quota/window>", "uses a window, such as 100/60s; any number unless told")
    .option("--workspace <id>", "a workspace it reaches, repeatable; all of the user's unless told", collect)
    .option(
      "--permission <name>",
      `a permission it has, repeatable; all unless told: ${permissions.join(", ")}`,
      collect,
    )
    .option("--read-only", "only permissions that read")
    .option("--ip <range>", "a range of addresses it may come from, repeatable; any unless told", collect)
    .action((options: unknown) =>
      perform(async (db, _ground, quotas) => {
        const { user: address, name, description, ...settings } = parseOptions(newKey, options);
        const { id: userId } = await getAccount(db, address);
        const { id, secret } = await db
          .transaction()
          .execute((trx) => createKey(trx, { userId, name, description, settings }, quotas));
        return { id: encodeId("key", id), key: secret };
      }),
    );
  key
    .command("delete <id>")
    .description("delete an API key; it is refused from then on")
    .action((text: string) =>
      perform(async (db) => {
        const edit = await editOf(db, text);
        await db.transaction().execute((trx) => deleteKey(trx, edit));
        return { id: text, deleted: true };
      }),
    );
  for (const [name, isDisabled, description] of [
    ["disable", true, "refuse an API key until it is enabled again"],
    ["enable", false, "let an API key be used again"],
  ] as const) {
    key
      .command(`${name} <id>`)
      .description(description)
      .action((text: string) =>
        perform(async (db) => {
          const edit = await editOf(db, text);
          const changes = { settings: { isDisabled }, mayExpand: true };
          await db.transaction().execute((trx) => updateKey(trx, edit, changes));
          return { id: text, disabled: isDisabled };
        }),
      );
  }
  key
    .command("rotate <id>")
    .description("give an API key a new secret, printed once; the old one is good for the overlap")
    .option(
      "--overlap <duration>",
      "how long the old secret stays valid, from 0s to 30d, such as 90m or 12h",
      "24h",
    )
    .action((text: string, options: unknown) =>
      perform(async (db) => {
        const { overlap } = parseOptions(rotation, options);
        const edit = await editOf(db, text);
        const { id, secret } = await db.transaction().execute((trx) => rotateKey(trx, edit, overlap));
        return { id: encodeId("key", id), key: secret };
      }),
    );
}

/** @throws {AppError} BAD_REQUEST, NOT_FOUND */
async function editOf(db: Db, text: string): Promise<KeyEdit> {
  const id = readKeyId(text);
  return { userId: await getKeyOwner(db, id), id, origin: commandOrigin };
}

function readKeyId(text: string): KeyId {
  const id = decodeId("key", text);
  if (id) return id;
  throw new AppError("BAD_REQUEST", {
    message: `"${text}" is not the id of an API key, such as key_01h4….`,
  });
}

const secondsByUnit = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

/** A duration such as `90s`, `15m`, `1h` or `30d`, in seconds. */
const duration = z
  .string()
  .regex(/^\d{1,9}[smhd]$/, "Use a number and a unit, such as 90s, 15m, 1h or 30d.")
  .transform(
    (text) => Number(text.slice(0, -1)) * secondsByUnit[text.slice(-1) as keyof typeof secondsByUnit],
  );

const limit = z
  .string()
  .regex(/^\d{1,10}\/\d{1,9}[smhd]$/, "Use uses and a window, such as 100/60s.")
  .transform((text) => {
    const [quota = "", window = ""] = text.split("/");
    return { quota: Number(quota), windowSeconds: duration.parse(window) };
  })
  .pipe(keySettings.limit.unwrap().unwrap());

const newKey = z
  .strictObject({
    user: email,
    name: keyName,
    description: keyDescription,
    expiresIn: duration.pipe(lifetimeSeconds).optional(),
    limit: limit.optional(),
    workspace: keySettings.workspaceIds.unwrap().optional(),
    permission: keySettings.permissions.unwrap().optional(),
    readOnly: z.boolean().default(false),
    ip: keySettings.ipRanges.unwrap().optional(),
  })
  .transform(({ expiresIn, limit, workspace, permission, readOnly, ip, ...key }) => ({
    ...key,
    expiresAt: expiresIn === undefined ? null : { inSeconds: expiresIn },
    limit: limit ?? null,
    workspaceIds: workspace ?? null,
    permissions: permission ?? null,
    isReadOnly: readOnly,
    ipRanges: ip ?? null,
  }));

const overlapHelp = "Not a duration from 0s to 30d. Use a number and a unit, for example 90m, 12h or 30d.";

const rotation = z.strictObject({
  overlap: z
    .string()
    .refine(
      (text) => overlapSeconds.safeParse(duration.safeParse(text).data).success,
      rejectedAs("invalid_value", overlapHelp),
    )
    .pipe(duration),
});
