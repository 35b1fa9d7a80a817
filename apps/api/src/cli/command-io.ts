import type { Readable, Writable } from "node:stream";
import type { Env } from "../env.ts";

/** The standard streams and the environment of a command: those of its process, or of a test. */
export interface CommandIo {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Reads the environment. @throws {EnvError} */
  readonly loadEnv: () => Promise<Env>;
}
