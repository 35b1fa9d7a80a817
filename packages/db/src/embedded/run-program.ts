import { execFile } from "node:child_process";

/** The operating system user that Postgres runs as. */
export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The whole environment of a program that Latchkey starts: no inherited variables, the C locale, and the host's time
 * zone.
 */
export const programEnvironment = { LC_ALL: "C", PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };

/** How a program ended. `output` is what it wrote, or why it could not be run. */
export interface ProgramResult {
  readonly isSuccess: boolean;
  readonly output: string;
}

/**
 * Runs a program to its end, or kills it after `timeoutMilliseconds` (60 s by default). `account` is the operating
 * system user to run it as. Only root may give one.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: { account?: ServerAccount | undefined; timeoutMilliseconds?: number } = {},
): Promise<ProgramResult> {
  const settings = {
    ...(options.account && { uid: options.account.uid, gid: options.account.gid }),
    // The account may not be able to enter the current directory.
    cwd: "/",
    env: programEnvironment,
    killSignal: "SIGKILL",
    timeout: options.timeoutMilliseconds ?? 60_000,
  } as const;
  return new Promise((resolve) => {
    try {
      execFile(file, args, settings, (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`.trim();
        resolve({ isSuccess: error === null, output: output || (error?.message ?? "") });
      });
    } catch (error) {
      // Some failures to switch to another user are thrown immediately instead of passed to the callback.
      resolve({ isSuccess: false, output: String(error) });
    }
  });
}
