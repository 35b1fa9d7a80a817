import { hashPassword, maxPasswordLength, minPasswordLength } from "@latchkey/auth/password";
import { encodeId } from "@latchkey/db/ids";
import type { Command } from "commander";
import { z } from "zod";
import { createAccount, disableAccount, enableAccount, requireStrongPassword } from "../domain/accounts.ts";
import { email, newPassword, personName, workspaceName } from "../fields.ts";
import { parseOptions } from "./parse-options.ts";
import type { Perform } from "./performer.ts";
import { readSecret } from "./read-secret.ts";

export function addUserCommands(program: Command, perform: Perform): void {
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
      const account = parseOptions(newUser, {
        ...(options as object),
        passwordStdin: undefined,
        password: await readSecret(process.stdin),
      });
      const { email, name, password, workspace: workspaceName } = account;
      await requireStrongPassword(password, account);
      await perform(async (db) => {
        const passwordHash = await hashPassword(password);
        const { userId, workspaceId } = await createAccount(
          db,
          { email, name, passwordHash, workspaceName },
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
        const id = await disableAccount(db, parseOptions(email, address));
        return { userId: encodeId("user", id), disabled: true };
      }),
    );
  user
    .command("enable <email>")
    .description("let a disabled user sign in again and put their keys back in force")
    .action((address: string) =>
      perform(async (db) => {
        const id = await enableAccount(db, parseOptions(email, address));
        return { userId: encodeId("user", id), enabled: true };
      }),
    );
}

const newUser = z.strictObject({
  email,
  name: personName,
  password: newPassword,
  passwordStdin: z.undefined(),
  workspace: workspaceName.optional(),
});
