import { generateKeyPairSync } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";
import type { Variables } from "./product.ts";

/** What the provider says about an identity. Its subject is the name that the person signs in with. */
interface Claims {
  readonly email: string;
  /** Some providers send it as text. */
  readonly isEmailVerified: boolean | "true" | "false";
}

/** An OpenID provider on a loopback port, of another site than the product. */
export interface TestProvider {
  /** The variables for the product. */
  readonly variables: Variables;
  /** Registers the product as a client. Until then, the provider doesn't respond. */
  readonly register: (baseUrl: string) => void;
  /** Defines an identity. Everyone else has no email address. */
  readonly setClaims: (subject: string, claims: Claims) => void;
  /** How many requests the provider has received. */
  readonly countRequests: () => number;
  readonly stop: () => Promise<void>;
}

const clientId = "latchkey";
const clientSecret = "a client secret for tests";

export async function startProvider(): Promise<TestProvider> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const issuer = `http://localhost:${port}`;
  const identities = new Map<string, Claims>();
  let requests = 0;
  server.on("request", () => {
    requests += 1;
  });
  return {
    countRequests: () => requests,
    variables: {
      OIDC_ISSUER: issuer,
      OIDC_CLIENT_ID: clientId,
      OIDC_CLIENT_SECRET: clientSecret,
      OIDC_NAME: "Example ID",
    },
    register(baseUrl) {
      const provider = createProvider(issuer, `${baseUrl}/sign-in/openid`, identities);
      server.on("request", provider.callback());
    },
    setClaims: (subject, claims) => void identities.set(subject, claims),
    stop: () => close(server),
  };
}

/** A server with the configuration of another issuer, and the paths of the requests to it. */
interface Impostor {
  readonly issuer: string;
  readonly requests: readonly string[];
  readonly stop: () => Promise<void>;
}

/** Starts a server on a loopback port whose configuration is well-formed but names another issuer. */
export async function startImpostor(namedIssuer: string): Promise<Impostor> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    const configuration = {
      issuer: namedIssuer,
      authorization_endpoint: `${namedIssuer}/authorize`,
      token_endpoint: `${namedIssuer}/token`,
      jwks_uri: `${namedIssuer}/jwks`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
    };
    response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(configuration));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return { issuer: `http://localhost:${port}`, requests, stop: () => close(server) };
}

function createProvider(
  issuer: string,
  redirectUri: string,
  identities: ReadonlyMap<string, Claims>,
): Provider {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        require_auth_time: true,
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kty: "RSA", use: "sig", alg: "RS256" }] },
    cookies: { keys: ["a cookie key for tests"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    pkce: { required: () => true },
    findAccount: (_context, subject) => ({
      accountId: subject,
      claims: () => {
        const known = identities.get(subject);
        const email = known && { email: known.email, email_verified: known.isEmailVerified };
        return { sub: subject, name: `Person ${subject}`, ...email };
      },
    }),
  });
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
}

/**
 * Signs in at the provider as a browser would, without one.
 * @param start the URL that the product returned.
 * @param jar the browser's cookies at the provider.
 * @returns the URL that the provider redirects to.
 */
export async function passProvider(
  start: string,
  subject: string,
  jar = new Map<string, string>(),
): Promise<URL> {
  let request: { readonly url: string; readonly form?: URLSearchParams } = { url: start };
  for (let step = 0; step < 20; step += 1) {
    const { url, form } = request;
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const init = form ? { method: "POST", body: form } : {};
    const response = await fetch(url, { ...init, headers: { Cookie: cookie }, redirect: "manual" });
    for (const [pair = ""] of response.headers.getSetCookie().map((value) => value.split(";"))) {
      const [name = "", value = ""] = pair.split("=");
      jar.set(name, value);
    }
    const location = response.headers.get("location");
    if (location) {
      const next = new URL(location, url);
      if (next.pathname === "/sign-in/openid") return next;
      request = { url: next.href };
      continue;
    }
    const page = await response.text();
    const action = /action="([^"]+)"/.exec(page)?.[1];
    if (!action) throw new Error(`The provider showed no form: ${page}`);
    const prompt = page.includes('name="login"') ? "login" : "consent";
    const filled = new URLSearchParams({
      prompt,
      ...(prompt === "login" && { login: subject, password: "any" }),
    });
    request = { url: new URL(action, url).href, form: filled };
  }
  throw new Error("The provider never redirected back.");
}
