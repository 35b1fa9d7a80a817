import Koa from "koa";
import { createBetterAuth } from "./better-auth-options.ts";
import { readSetup, serve } from "./peer.ts";

// better-auth's API-key check on bare Koa, with the same response.

const { response, database } = await readSetup();
if (!database) throw new Error("better-auth needs a database.");
const auth = createBetterAuth(database);
const body: unknown = JSON.parse(response.body);

const app = new Koa();
app.use(async (ctx) => {
  const key = /^Bearer (\S+)$/.exec(ctx.get("authorization"))?.[1];
  const verdict = key === undefined ? { valid: false } : await auth.api.verifyApiKey({ body: { key } });
  ctx.status = verdict.valid ? 200 : 403;
  for (const [name, value] of response.headers) ctx.set(name, value);
  ctx.body = verdict.valid ? body : { error: { code: "FORBIDDEN" } };
});

await serve(app.callback());
