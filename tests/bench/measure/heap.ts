import { setTimeout as delay } from "node:timers/promises";

/** Node's inspector, which a process opens on SIGUSR1. */
const inspectorUrl = "http://127.0.0.1:9229/json/list";
const patienceMs = 30_000;

/**
 * The heap in use, in bytes, after a full garbage collection, read through the inspector, so that the process needs
 * no flag that others would not have. Undefined when the inspector's port belongs to another process.
 */
export async function measureHeapBytes(pid: number): Promise<number | undefined> {
  if (await findInspector()) return undefined;
  process.kill(pid, "SIGUSR1");
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const address = await findInspector();
    if (address) return await askForHeap(address);
    await delay(20);
  }
  return undefined;
}

async function findInspector(): Promise<string | undefined> {
  const response = await fetch(inspectorUrl).catch(() => undefined);
  const targets = (await response?.json()) as { readonly webSocketDebuggerUrl: string }[] | undefined; // Node's own.
  return targets?.[0]?.webSocketDebuggerUrl;
}

/** @see https://chromedevtools.github.io/devtools-protocol/v8/ */
async function askForHeap(address: string): Promise<number> {
  const socket = new WebSocket(address);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const timer = setTimeout(() => reject(new Error("The inspector is silent.")), patienceMs);
  socket.addEventListener("error", () => reject(new Error("The inspector hung up.")));
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ id: 1, method: "HeapProfiler.collectGarbage" }));
    socket.send(JSON.stringify({ id: 2, method: "Runtime.getHeapUsage" }));
  });
  socket.addEventListener("message", ({ data }) => {
    const answer = JSON.parse(String(data)) as { id?: number; result?: { usedSize: number } }; // By the protocol.
    if (answer.id === 2) resolve(answer.result?.usedSize ?? Number.NaN);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}
