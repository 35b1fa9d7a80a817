import type { Middleware } from "koa";
import helmet from "koa-helmet";

/**
 * Headers that tell browsers what our pages may do. Scripts come from our own files only; styles may be inline,
 * because the component library sets sizes and colours in `style` attributes.
 */
export function securityHeaders(baseUrl: string): Middleware {
  const isSecure = baseUrl.startsWith("https:");
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'self'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", "data:"],
        fontSrc: ["'self'"],
        connectSrc: ["'self'"],
        objectSrc: ["'none'"],
        baseUri: ["'none'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
      },
    },
    strictTransportSecurity: isSecure ? { maxAge: 31_536_000 } : false,
    referrerPolicy: { policy: "same-origin" },
    crossOriginOpenerPolicy: { policy: "same-origin" },
  });
}

/** Makes browsers take each response, also those without the headers of pages, for the type that it declares. */
export function noSniff(): Middleware {
  return (ctx, next) => {
    ctx.set("X-Content-Type-Options", "nosniff");
    return next();
  };
}
