import { execFile } from "node:child_process";
import { promisify } from "node:util";

/**
 * Work like the start of a node, but without code of the product: it parses, sorts, compiles and collects garbage. Prints the processor
 * time of its process, in milliseconds.
 */
const work = `
  const rows = Array.from({ length: 90_000 }, (_, index) => ({ id: (index * 2654435761) % 2 ** 32, name: "row " + index }));
  const copies = JSON.parse(JSON.stringify(rows));
  copies.sort((one, other) => String(one.id).localeCompare(String(other.id)));
  for (let index = 0; index < 9_000; index += 1)
    new Function("row", "return [row.name, " + index + "].map((value) => String(value).length);")(copies[index]);
  const { user, system } = process.cpuUsage();
  console.log((user + system) / 1_000);
`;

/**
 * The processor time of the work on an idle core of the reference machine, and a tenth more, in milliseconds. That machine has an
 * Intel Xeon at 2.3 GHz, model 207.
 */
const referenceMs = 450;

/**
 * The processor time that a program needs now, divided by what it needs on the reference machine; at least 1. Besides other
 * processors, other virtual machines on the same processor increase it. For limits of processor time.
 */
export async function measureSlowness(): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--eval", work], { env: {} });
  return Math.max(1, Number(stdout) / referenceMs);
}
