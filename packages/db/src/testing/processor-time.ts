import { readFileSync } from "node:fs";

/**
 * The processor time that a process has used, in user and kernel mode, in milliseconds. Other processes don't add to it. The kernel
 * counts in hundredths of a second.
 */
export function readProcessorMs(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The fields after the name of the program, which is in parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}
