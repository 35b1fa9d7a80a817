import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";

// The package's own build for browsers; its `exports` name only the parts for bundlers.
// In memory once, so that however many callers read it slowly hold neither files nor copies.
const referenceScript = readFileSync(
  join(dirname(fileURLToPath(import.meta.resolve("@scalar/api-reference"))), "browser/standalone.js"),
);

const configuration = JSON.stringify({
  url: "/openapi.json",
  // A call goes to where the page came from, whatever address this is behind: no page of ours may call another.
  servers: [{ url: "/open" }],
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  // What would lead to, or ask, somebody else's service.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
}).replaceAll('"', "&quot;");

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Open API · Latchkey</title>
  </head>
  <body>
    <script id="api-reference" data-configuration="${configuration}"></script>
    <script src="/docs/reference.js"></script>
  </body>
</html>
`;

const paths = ["/openapi.json", "/docs", "/docs/errors", "/docs/reference.js"];

/**
 * The open API's description, for programs at `/openapi.json` and for people at `/docs`.
 * @param errorReference what `/docs/errors` says, as HTML.
 */
export function documentation(openApiDocument: object, errorReference: string): Middleware {
  const json = JSON.stringify(openApiDocument);
  const errorPage = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Errors · Latchkey</title>
  </head>
  <body>
    <main>${errorReference}</main>
  </body>
</html>
`;
  return async (ctx, next) => {
    if (!paths.includes(ctx.path)) return await next();
    if (ctx.method !== "GET" && ctx.method !== "HEAD") {
      throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "GET, HEAD" } });
    }
    switch (ctx.path) {
      case "/openapi.json":
        ctx.type = "json";
        ctx.body = json;
        return;
      case "/docs":
        ctx.type = "html";
        ctx.body = page;
        return;
      case "/docs/errors":
        ctx.type = "html";
        ctx.body = errorPage;
        return;
      case "/docs/reference.js":
        ctx.type = "js";
        ctx.set("Cache-Control", "public, max-age=3600");
        ctx.body = referenceScript;
        return;
      default:
        return await next();
    }
  };
}
