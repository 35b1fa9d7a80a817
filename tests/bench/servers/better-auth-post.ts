import { json } from "node:stream/consumers";
import Koa from "koa";
import { createBetterAuth } from "./better-auth-options.ts";
import { readSetup, serve } from "./peer.ts";

// better-auth's check of a key in the body, on bare Koa, with the same response.

const { response, database } = await readSetup();
if (!database) throw new Error("better-auth needs a database.");
const auth = createBetterAuth(database);
const body: unknown = JSON.parse(response.body);

const app = new Koa();
app.use(async (ctx) => {
  const { key } = (await json(ctx.req)) as { readonly key: string }; // Sent by the load.
  const verdict = await auth.api.verifyApiKey({ body: { key } });
  ctx.status = verdict.valid ? 200 : 403;
  for (const [name, value] of response.headers) ctx.set(name, value);
  ctx.body = verdict.valid ? body : { error: { code: "FORBIDDEN" } };
});

await serve(app.callback());
