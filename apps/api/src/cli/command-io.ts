import type { Readable, Writable } from "node:stream";
import type { Env } from "../env.ts";

/** What a command reads and writes: the standard streams and the environment of its process, or those of a test. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Reads the environment. @throws {EnvError} */
  readonly loadEnv: () => Promise<Env>;
}
