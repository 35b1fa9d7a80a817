import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { writeReply } from "./reply.ts";
import { fileReply, openFile } from "./streamed-file.ts";

/** Serves one file, and returns its URL. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // The server listens on TCP.
}

/** A file of many chunks, with what was read of it. */
function createFile() {
  const progress = { read: 0, isClosed: false };
  async function* chunks(): AsyncGenerator<string> {
    try {
      while (progress.read < 100) {
        progress.read += 1;
        yield `chunk ${progress.read}\n`;
      }
    } finally {
      progress.isClosed = true;
    }
  }
  return { progress, file: { contentType: "text/plain", name: "file.txt", chunks: chunks() } };
}

test("GET streams a file in order, and closes it", async () => {
  const { file, progress } = createFile();
  const baseUrl = await serve(async (_req, res) => {
    await writeReply(res, fileReply("id", await openFile(file)));
  });
  const lines = (await (await fetch(baseUrl)).text()).trimEnd().split("\n");
  expect(lines).toEqual(Array.from({ length: 100 }, (_line, index) => `chunk ${index + 1}`));
  expect(progress).toEqual({ read: 100, isClosed: true });
});

test("HEAD responds with the headers of a file, and reads only its first chunk", async () => {
  const { file, progress } = createFile();
  const baseUrl = await serve(async (_req, res) => {
    await writeReply(res, fileReply("id", await openFile(file)));
  });
  const { status, headers } = await fetch(baseUrl, { method: "HEAD" });
  expect([status, headers.get("content-disposition")]).toEqual([200, 'attachment; filename="file.txt"']);
  await expect.poll(() => progress).toEqual({ read: 1, isClosed: true });
});

test("a file is closed if the client disconnects before it is sent", async () => {
  const { file, progress } = createFile();
  const baseUrl = await serve(async (req, res) => {
    const opened = await openFile(file);
    req.socket.destroy();
    await once(res, "close");
    await writeReply(res, fileReply("id", opened));
  });
  await expect(fetch(baseUrl)).rejects.toThrow();
  await expect.poll(() => progress.isClosed).toBe(true);
  expect(progress.read).toBeLessThan(100);
});
