import { maxPasswordLength, minPasswordLength } from "@latchkey/auth/password";
import { openDatabase } from "@latchkey/db/connection";
import { decodeId, encodeId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { Command } from "commander";
import { z } from "zod";
import { openGround } from "../boot.ts";
import { createAccount, disableAccount, enableAccount, getAccount } from "../domain/accounts.ts";
import { createKey, deleteAnyKey } from "../domain/api-keys.ts";
import type { Env } from "../env.ts";
import { toIssues } from "../failure.ts";
import { email, keyDescription, keyName, newPassword, personName, workspaceName } from "../fields.ts";
import { readSecret } from "./read-secret.ts";

/**
 * The `latchkey` command, for whoever operates the instance: it works on the same database as the server, beside
 * a running one too.
 */
export function createProgram(readEnv: () => Env): Command {
  const program = new Command("latchkey")
    .description("Operate a Latchkey instance: its schema, its users, their keys.")
    .option("--json", "print the result as JSON")
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  const perform = createPerformer(program, readEnv);

  program
    .command("migrate")
    .description("bring the database's schema up to date")
    .action(() => perform(async (_db, applied) => ({ applied })));

  const user = program.command("user").description("people with a sign-in");
  user
    .command("create")
    .description("make a user with a first workspace")
    .requiredOption("--email <address>", "what the user signs in with")
    .requiredOption("--name <name>", "what the user is called")
    .requiredOption(
      "--password-stdin",
      `read the password (${minPasswordLength} to ${maxPasswordLength} characters) from standard input`,
    )
    .option("--workspace <name>", "what the first workspace is called")
    .action(async (options: unknown) => {
      const account = parse(newUser, {
        ...(options as object),
        passwordStdin: undefined,
        password: await readSecret(process.stdin),
      });
      await perform(async (db) => {
        const { userId, workspaceId } = await createAccount(
          db,
          { ...account, workspaceName: account.workspace },
          { kind: "command", address: null, requestId: null },
        );
        return { userId: encodeId("user", userId), workspaceId: encodeId("workspace", workspaceId) };
      });
    });
  user
    .command("disable <email>")
    .description("end a user's sessions and put all of their keys out of force")
    .action((address: string) =>
      perform(async (db) => {
        const id = await disableAccount(db, parse(email, address));
        return { userId: encodeId("user", id), disabled: true };
      }),
    );
  user
    .command("enable <email>")
    .description("let a disabled user sign in again and put their keys back in force")
    .action((address: string) =>
      perform(async (db) => {
        const id = await enableAccount(db, parse(email, address));
        return { userId: encodeId("user", id), enabled: true };
      }),
    );

  const key = program.command("key").description("API keys");
  key
    .command("create")
    .description("make an API key for a user; its secret is printed once and kept nowhere")
    .requiredOption("--user <email>", "whose permissions the key has")
    .requiredOption("--name <name>", "what the key is called")
    .option("--description <text>", "what the key is for", "")
    .action((options: unknown) =>
      perform(async (db) => {
        const { user: address, ...facts } = parse(newKey, options);
        const { id: userId } = await getAccount(db, address);
        const { id, secret } = await createKey(db, { userId, ...facts });
        return { id: encodeId("key", id), key: secret };
      }),
    );
  key
    .command("delete <id>")
    .description("delete an API key; it is refused from then on")
    .action((text: string) =>
      perform(async (db) => {
        const id = decodeId("key", text);
        if (!id)
          throw new AppError("BAD_REQUEST", {
            message: `"${text}" is not the id of an API key, such as key_01h4….`,
          });
        await deleteAnyKey(db, id);
        return { id: text, deleted: true };
      }),
    );
  return program;
}

type Task = (db: Db, applied: readonly string[]) => Promise<Record<string, unknown>>;

/** Opens the database, performs the task, prints its result and leaves. */
function createPerformer(program: Command, readEnv: () => Env): (task: Task) => Promise<void> {
  return async (task) => {
    const ground = await openGround(readEnv());
    const db = openDatabase(ground.connection, { applicationName: "latchkey command", maxConnections: 1 });
    try {
      print(await task(db, ground.applied), program.opts<{ json?: boolean }>().json === true);
    } finally {
      await db.destroy();
      await ground.close();
    }
  };
}

function print(result: Record<string, unknown>, isJson: boolean): void {
  const lines = Object.entries(result).map(
    ([name, value]) => `${name}: ${[value].flat().join(", ") || "nothing"}`,
  );
  process.stdout.write(`${isJson ? JSON.stringify(result) : lines.join("\n")}\n`);
}

const newUser = z.strictObject({
  email,
  name: personName,
  password: newPassword,
  passwordStdin: z.undefined(),
  workspace: workspaceName.optional(),
});

const newKey = z.strictObject({ user: email, name: keyName, description: keyDescription });

/** @throws {AppError} BAD_REQUEST that names each option that is off. */
function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (!success) throw new AppError("BAD_REQUEST", { issues: error.issues.flatMap(toIssues) });
  return data;
}
