import { hashPassword } from "@latchkey/auth/password";
import { encodeId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { createAccount, requireStrongPassword } from "../../domain/accounts.ts";
import { email, newPassword, personName, workspaceName } from "../../fields.ts";
import { itemOf } from "../result.ts";
import { defineTask } from "../task.ts";
import { UsageError } from "../usage-error.ts";

export const createUserTask = defineTask({
  input: z.strictObject({
    email,
    name: personName,
    passwordStdin: z.literal(true),
    password: newPassword,
    workspace: workspaceName.optional(),
  }),
  secret: { name: "password", option: "--password-stdin" },
  validate: rejectWeakPassword,
  canCreate: true,
  perform: async ({ db }, { email, name, password, workspace }) => {
    const { userId, workspaceId } = await createAccount(
      db,
      { email, name, passwordHash: await hashPassword(password), workspaceName: workspace },
      { kind: "command", address: null, requestId: null },
    );
    const created = { userId: encodeId("user", userId), workspaceId: encodeId("workspace", workspaceId) };
    return itemOf(created, [
      { label: "User ID", text: (ids) => ids.userId },
      { label: "Workspace ID", text: (ids) => ids.workspaceId },
    ]);
  },
});

type NewUser = Parameters<typeof requireStrongPassword>[1] & { readonly password: string };

/** @throws {UsageError} for a password that is easy to guess */
async function rejectWeakPassword({ password, ...owner }: NewUser): Promise<void> {
  try {
    await requireStrongPassword(password, owner);
  } catch (error) {
    if (!(error instanceof AppError) || !error.issues) throw error;
    throw new UsageError(`--password-stdin: ${error.issues.map(({ message }) => message).join(" ")}`);
  }
}
