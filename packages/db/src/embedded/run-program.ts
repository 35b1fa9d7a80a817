import { execFile } from "node:child_process";

/** The operating system's user that Postgres runs as. */
export interface ServerAccount {
  readonly uid: number;
  readonly gid: number;
}

/** The whole environment of a program we start: nothing of ours, no language but C, the host's own zone. */
export const programEnvironment = { LC_ALL: "C", PATH: "/usr/sbin:/usr/bin:/sbin:/bin" };

/** How a program ended; `output` is what it wrote, or why it could not be run. */
export interface ProgramResult {
  readonly isSuccess: boolean;
  readonly output: string;
}

/**
 * Runs a program to its end, killing it after `timeoutMilliseconds` (60 s when not given). `account` is
 * the operating system's user to run it as; only root may give one.
 */
export function runProgram(
  file: string,
  args: readonly string[],
  options: { account?: ServerAccount | undefined; timeoutMilliseconds?: number } = {},
): Promise<ProgramResult> {
  const settings = {
    ...(options.account && { uid: options.account.uid, gid: options.account.gid }),
    // The caller's own directory may be one that the account cannot enter.
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
      // Some failures to become another user are thrown at once, not handed to the callback.
      resolve({ isSuccess: false, output: String(error) });
    }
  });
}
