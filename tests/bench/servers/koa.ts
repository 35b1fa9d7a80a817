import Koa from "koa";
import { readSetup, serve } from "./peer.ts";

// Bare Koa without any authentication; it serialises the body itself, as the product must.

const { answer } = await readSetup();
const body: unknown = JSON.parse(answer.body);

const app = new Koa();
app.use((ctx) => {
  for (const [name, value] of answer.headers) ctx.set(name, value);
  ctx.body = body;
});

await serve(app.callback());
