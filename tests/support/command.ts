import { Readable, Writable } from "node:stream";
import { runProgram } from "@latchkey/api/command";
import { readEnv } from "@latchkey/api/env";
import { readQueuedMs } from "./processor-queue.ts";
import { bareEnvironment, type ProcessResult, type Variables } from "./product.ts";

/**
 * Runs the `latchkey` command in this process, which takes a fifth of the processor time of a separate process.
 * `runCommand` runs it as a process, for tests of signals, exit codes and standard streams.
 */
export async function runCommandInProcess(
  args: readonly string[],
  variables: Variables,
  input = "",
): Promise<ProcessResult> {
  const [startedAt, queuedBeforeMs] = [performance.now(), readQueuedMs(process.pid)];
  const [stdout, stderr] = [collect(), collect()];
  const status = await runProgram(args, {
    stdin: Readable.from([Buffer.from(input)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    loadEnv: async () => readEnv({ ...bareEnvironment, ...variables }),
  });
  const [tookMs, queuedMs] = [performance.now() - startedAt, readQueuedMs(process.pid) - queuedBeforeMs];
  return { status, stdout: stdout.text(), stderr: stderr.text(), tookMs, queuedMs };
}

function collect(): { readonly stream: Writable; readonly text: () => string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}
