import Koa from "koa";
import { readSetup, serve } from "./peer.ts";

// Bare Koa without authentication. Serializes the body for each response, like Latchkey.

const { response } = await readSetup();
const body: unknown = JSON.parse(response.body);

const app = new Koa();
app.use((ctx) => {
  for (const [name, value] of response.headers) ctx.set(name, value);
  ctx.body = body;
});

await serve(app.callback());
