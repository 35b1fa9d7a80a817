import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Admission } from "@latchkey/auth/admission";
import { AppError } from "@latchkey/errors";
import Koa, { type Context } from "koa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { admitFirst } from "./admit-first.ts";

// No token here is a key, so that the database is asked nothing.
const admission = new Admission({ connection: { connectionString: "postgres://nobody@127.0.0.1:1/none" } });
const gate = {
  admission,
  isTrustedProxy: () => false,
  findRoute(_method: string, path: string) {
    if (path === "/open/broken") throw new Error("a bug");
    return new AppError("NOT_FOUND");
  },
};

/** Tells what it was given. */
async function open({ res, admitted, admissionFailure }: Context): Promise<void> {
  if (admissionFailure instanceof Error) res.end(admissionFailure.message);
  else if (admitted?.verdict.kind === "refused") res.end(admitted.verdict.reason);
  else res.end("no key");
}

const app = new Koa();
app.use((ctx) => {
  ctx.body = "the app";
});
const server = createServer(admitFirst(gate, open, app));
let baseUrl: string;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await admission.close();
});

async function get(path: string, token?: string): Promise<string> {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  return await (await fetch(baseUrl + path, { headers })).text();
}

test("the open API's handler gets what admission said, and the app gets all else", async () => {
  const paths = ["/open/me", "/open/me?limit=1", "/open", "/open?limit=1", "/opening", "/me?from=/open", "/"];
  const answers = await Promise.all(paths.map((path) => get(path, "no-key")));
  expect(answers).toEqual([...Array(4).fill("malformed"), ...Array(3).fill("the app")]);
  expect(await get("/open/me")).toBe("no key");
});

test("a bug on the way to admission is told to the handler, and the requests beside it are served", async () => {
  const paths = ["/open/me", "/open/broken", "/open/me"];
  const answers = await Promise.all(paths.map((path) => get(path, "no-key")));
  expect(answers).toEqual(["malformed", "a bug", "malformed"]);
});
