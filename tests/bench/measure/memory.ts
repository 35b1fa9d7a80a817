import { readFile } from "node:fs/promises";
import { startLoad } from "../load/start-load.ts";
import type { Subject } from "../subject.ts";
import { measureHeapBytes } from "./heap.ts";

/** The memory of a node before and after its requests, in bytes. */
export interface MemoryFigures {
  readonly requests: number;
  readonly idle: { readonly residentBytes: number };
  readonly after: {
    readonly residentBytes: number;
    /** The peak. */
    readonly peakResidentBytes: number;
    /** In use after a full garbage collection; undefined if the inspector's port was taken. */
    readonly heapBytes: number | undefined;
  };
}

const runSeconds = 10;
const maxRuns = 100;

/**
 * Measures the memory of a new node after at least this many requests over 64 connections, in loads of ten seconds.
 */
export async function measureMemory(
  subject: Subject,
  requests: number,
  signal: AbortSignal,
): Promise<MemoryFigures> {
  const server = await subject.start();
  try {
    const idle = await readMemory(server.pid);
    const { baseUrl, pid } = server;
    const url = `${baseUrl}${subject.path}`;
    let answered = 0;
    for (let run = 0; run < maxRuns && answered < requests; run += 1) {
      const load = { url, requests: subject.requests, connections: 64, seconds: runSeconds };
      answered += (await startLoad(load, signal).ended).answered;
    }
    if (answered < requests) throw new Error(`The server is too slow for ${requests} requests.`);
    const after = await readMemory(pid);
    // Runs last, because the inspector uses memory too.
    const heapBytes = await measureHeapBytes(pid);
    return { requests: answered, idle, after: { ...after, heapBytes } };
  } finally {
    await server.stop();
  }
}

/** @see proc_pid_status(5) */
async function readMemory(pid: number): Promise<{ residentBytes: number; peakResidentBytes: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const bytesOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024;
  return { residentBytes: bytesOf("VmRSS"), peakResidentBytes: bytesOf("VmHWM") };
}
