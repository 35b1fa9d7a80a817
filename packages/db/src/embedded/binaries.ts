import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { EmbeddedPostgresError, errorCode } from "./embedded-postgres-error.ts";
import type { ServerAccount } from "./run-program.ts";
import { runProgram } from "./run-program.ts";

/**
 * The directory for files that the server's account needs if it can't access the project. Only root can write to it.
 */
export const sharedDirectory = "/var/lib/latchkey";

/** The programs of a Postgres installation. If they are a copy, `copy` states where and why. */
export interface Binaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly copy?: { readonly directory: string; readonly reason: string };
}

/**
 * Returns the Postgres of this platform's npm package, or a copy of it if `account` can't run it in place.
 * @throws EmbeddedPostgresError `unsupported-platform`
 */
export async function getBinaries(account: ServerAccount | undefined): Promise<Binaries> {
  const packageDirectory = findPackageDirectory();
  const installed = binariesBelow(join(packageDirectory, "native"));
  const trial = await runProgram(installed.postgres, ["--version"], { account });
  if (trial.isSuccess) return installed;
  if (account && (await runProgram(installed.postgres, ["--version"])).isSuccess) {
    const directory = await copyBinaries(packageDirectory);
    const copied = binariesBelow(directory);
    if ((await runProgram(copied.postgres, ["--version"], { account })).isSuccess) {
      const reason = `the user that runs Postgres cannot access ${packageDirectory}`;
      return { ...copied, copy: { directory, reason } };
    }
  }
  throw new EmbeddedPostgresError(
    "unsupported-platform",
    `The embedded Postgres does not run here (${trial.output}); set DATABASE_URL.`,
  );
}

function findPackageDirectory(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    if (errorCode(error) !== "MODULE_NOT_FOUND") throw error;
    const platform = `${process.platform} on ${process.arch}`;
    throw new EmbeddedPostgresError(
      "unsupported-platform",
      `There is no embedded Postgres for ${platform}, or ${name} is not installed; set DATABASE_URL.`,
      { cause: error },
    );
  }
}

function binariesBelow(directory: string): Binaries {
  const bin = join(directory, "bin");
  return { postgres: join(bin, "postgres"), initdb: join(bin, "initdb") };
}

/**
 * Creates one copy per package version, which all data directories share. It is renamed into place when it is complete.
 */
async function copyBinaries(packageDirectory: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageDirectory, "package.json"), "utf8"));
  const target = join(sharedDirectory, `binaries-${version}`);
  if (await stat(target).catch(() => undefined)) return target;
  await createSharedDirectory();
  const temporary = `${target}.tmp-${randomBytes(6).toString("hex")}`;
  try {
    const copied = await runProgram("cp", ["-a", "--", join(packageDirectory, "native"), temporary]);
    if (!copied.isSuccess) {
      throw new EmbeddedPostgresError(
        "not-reachable",
        `Copying Postgres to ${target} failed (${copied.output}).`,
      );
    }
    // The package may have been installed by another user, or under a strict umask.
    await runProgram("chown", ["-R", "0:0", temporary]);
    await runProgram("chmod", ["-R", "u+rwX,go+rX,go-w", temporary]);
    await rename(temporary, target);
  } catch (error) {
    // Another process has just created the same copy.
    if (!["ENOTEMPTY", "EEXIST"].includes(errorCode(error) ?? "")) throw error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return target;
}

/** Creates `sharedDirectory`, which everyone can enter and only root can write to. */
export async function createSharedDirectory(): Promise<void> {
  const created = await mkdir(sharedDirectory, { recursive: true });
  if (created) await chmod(sharedDirectory, 0o755);
}
