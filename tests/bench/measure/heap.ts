import { setTimeout as delay } from "node:timers/promises";

/** Node's inspector, which a process opens on SIGUSR1. */
const inspectorUrl = "http://127.0.0.1:9229/json/list";
const timeoutMs = 30_000;

/**
 * Measures the heap in use, in bytes, after a full garbage collection. Uses the inspector, so that the process needs
 * no flags that the others don't have. Undefined if another process uses the inspector's port.
 */
export async function measureHeapBytes(pid: number): Promise<number | undefined> {
  if (await findInspector()) return undefined;
  process.kill(pid, "SIGUSR1");
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const address = await findInspector();
    if (address) return await readHeap(address);
    await delay(20);
  }
  return undefined;
}

async function findInspector(): Promise<string | undefined> {
  const response = await fetch(inspectorUrl).catch(() => undefined);
  const targets = (await response?.json()) as { readonly webSocketDebuggerUrl: string }[] | undefined; // The format of Node's inspector.
  return targets?.[0]?.webSocketDebuggerUrl;
}

/** @see https://chromedevtools.github.io/devtools-protocol/v8/ */
async function readHeap(address: string): Promise<number> {
  const socket = new WebSocket(address);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const timer = setTimeout(() => reject(new Error("The inspector doesn't respond.")), timeoutMs);
  socket.addEventListener("error", () => reject(new Error("The inspector closed the connection.")));
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ id: 1, method: "HeapProfiler.collectGarbage" }));
    socket.send(JSON.stringify({ id: 2, method: "Runtime.getHeapUsage" }));
  });
  socket.addEventListener("message", ({ data }) => {
    const response = JSON.parse(String(data)) as { id?: number; result?: { usedSize: number } }; // The format of the protocol.
    if (response.id === 2) resolve(response.result?.usedSize ?? Number.NaN);
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}
