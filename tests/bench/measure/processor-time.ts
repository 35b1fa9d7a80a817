import { readdir, readFile } from "node:fs/promises";

/** Processor time of whole process trees, from Linux's /proc. */

/** A tick of /proc/<pid>/stat in microseconds; USER_HZ is 100 wherever Linux runs Node. */
const microsecondsPerTick = 10_000;

/** The user and system time of all threads of a process since its start, in microseconds. */
export async function readProcessorMicroseconds(pid: number): Promise<number> {
  const stat = await readStat(pid);
  if (!stat) throw new Error(`Process ${pid} has ended.`);
  return stat.own;
}

/**
 * The processor time of a Postgres since its start, in microseconds: the postmaster, its children, and its ended
 * children, whose time the postmaster inherits. So no time is lost or counted twice when children start and end.
 */
export async function readPostgresMicroseconds(postmaster: number): Promise<number> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map((pid) => readStat(pid)));
  let sum = 0;
  for (const stat of stats) {
    if (stat?.pid === postmaster) sum += stat.own + stat.ofEndedChildren;
    else if (stat?.parent === postmaster) sum += stat.own;
  }
  return sum;
}

/** The processor time of the whole machine since its start, in microseconds. */
export interface MachineTime {
  /** In processes and interrupts. The time of a process includes the interrupts during it. */
  readonly busy: number;
  /** Used by other machines on the same hardware, as reported by the hypervisor. */
  readonly stolen: number;
  /** In total, including idle time. */
  readonly total: number;
}

/** @see proc_stat(5) */
export async function readMachineTime(): Promise<MachineTime> {
  const line = /^cpu +(.+)$/m.exec(await readFile("/proc/stat", "utf8"))?.[1] ?? "";
  const ticks = line.split(" ").map(Number);
  // The fields after these are included in the first two.
  const [user = 0, nice = 0, system = 0, _idle, _iowait, irq = 0, softirq = 0, steal = 0] = ticks;
  const total = ticks.slice(0, 8).reduce((sum, value) => sum + value, 0);
  return {
    busy: (user + nice + system + irq + softirq) * microsecondsPerTick,
    stolen: steal * microsecondsPerTick,
    total: total * microsecondsPerTick,
  };
}

/** The parent of a process. @throws an Error if the process has ended. */
export async function readParent(pid: number): Promise<number> {
  const stat = await readStat(pid);
  if (!stat) throw new Error(`Process ${pid} has ended.`);
  return stat.parent;
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly own: number;
  readonly ofEndedChildren: number;
}

/** @see proc_pid_stat(5) */
async function readStat(pid: number): Promise<Stat | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (line === undefined) return undefined;
  // The name, field 2, can contain spaces and parentheses. Field 3 follows the last closing parenthesis.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid,
    parent: field(4),
    own: (field(14) + field(15)) * microsecondsPerTick,
    ofEndedChildren: (field(16) + field(17)) * microsecondsPerTick,
  };
}
