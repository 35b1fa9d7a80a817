import { json } from "node:stream/consumers";
import Koa from "koa";
import { readSetup, serve } from "./peer.ts";

// Bare Koa without authentication, for requests with a body. Parses the body, and serializes the response each time, like
// Latchkey.

const { response } = await readSetup();
const body: unknown = JSON.parse(response.body);

const app = new Koa();
app.use(async (ctx) => {
  await json(ctx.req);
  for (const [name, value] of response.headers) ctx.set(name, value);
  ctx.body = body;
});

await serve(app.callback());
