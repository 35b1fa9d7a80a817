import { stat } from "node:fs/promises";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { runProgram, type ServerAccount } from "./run-program.ts";

const userName = "postgres";

/**
 * Finds the account that Postgres runs as, because Postgres refuses to run as root. Returns undefined (the current
 * user) unless that is root. For root, returns the owner of `clusterDirectory` if that is another user; otherwise the
 * user `postgres`, which is created if missing.
 * @throws EmbeddedPostgresError `no-user`
 */
export async function findServerAccount(clusterDirectory?: string): Promise<ServerAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (clusterDirectory) {
    const { uid, gid } = await stat(clusterDirectory);
    if (uid !== 0) return { uid, gid };
  }
  const account = (await lookUpAccount()) ?? (await createAccount());
  const attempt = await runProgram("/bin/sh", ["-c", ":"], { account });
  if (attempt.isSuccess) return account;
  throw new EmbeddedPostgresError(
    "no-user",
    `Postgres does not run as root, and root cannot switch to the user ${userName} here (${attempt.output}); ` +
      "start Latchkey as an ordinary user, or set DATABASE_URL.",
  );
}

async function lookUpAccount(): Promise<ServerAccount | undefined> {
  const [uid, gid] = await Promise.all([
    runProgram("id", ["-u", userName]),
    runProgram("id", ["-g", userName]),
  ]);
  if (!uid.isSuccess || !gid.isSuccess || uid.output === "0") return undefined;
  return { uid: Number(uid.output), gid: Number(gid.output) };
}

async function createAccount(): Promise<ServerAccount> {
  const created = await runProgram("useradd", [
    ...["--system", "--user-group", "--no-create-home"],
    ...["--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", userName],
  ]);
  // Looks up the account even if useradd failed, because another process may have created it first.
  const account = await lookUpAccount();
  if (account) return account;
  throw new EmbeddedPostgresError(
    "no-user",
    `Postgres does not run as root, and the user ${userName} could not be created (${created.output}); ` +
      "create the user, start Latchkey as an ordinary user, or set DATABASE_URL.",
  );
}
