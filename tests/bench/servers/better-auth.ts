import Koa from "koa";
import { createBetterAuth } from "./better-auth-options.ts";
import { readSetup, serve } from "./peer.ts";

// better-auth's API-key check in front of the same answer, on bare Koa.

const { answer, database } = await readSetup();
if (!database) throw new Error("better-auth needs a database.");
const auth = createBetterAuth(database);
const body: unknown = JSON.parse(answer.body);

const app = new Koa();
app.use(async (ctx) => {
  const key = /^Bearer (\S+)$/.exec(ctx.get("authorization"))?.[1];
  const verdict = key === undefined ? { valid: false } : await auth.api.verifyApiKey({ body: { key } });
  ctx.status = verdict.valid ? 200 : 403;
  for (const [name, value] of answer.headers) ctx.set(name, value);
  ctx.body = verdict.valid ? body : { error: { code: "FORBIDDEN" } };
});

await serve(app.callback());
