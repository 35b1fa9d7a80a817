import { untilAnswered, untilChanged } from "./until-answered.ts";

/** Performs actions of a web app user without a browser, by the calls that the web app makes. */

export interface Account {
  readonly email: string;
  readonly password: string;
  /** A `Cookie` header with the session. */
  readonly cookie: string;
}

export interface CreatedKey {
  readonly id: string;
  readonly key: string;
}

export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly usageCount: number;
}

/** A tRPC response: a result, or the code of an error. */
export interface Answer {
  readonly status: number;
  readonly data: unknown;
  readonly code: string | undefined;
  readonly cookie: string | undefined;
}

/** Calls a procedure: a query with GET, a mutation with POST. */
export async function callProcedure(
  baseUrl: string,
  call: {
    readonly path: string;
    readonly kind: "query" | "mutation";
    readonly input?: unknown;
    readonly cookie?: string;
  },
): Promise<Answer> {
  const { path, kind, input, cookie } = call;
  const address = new URL(`/trpc/${path}`, baseUrl);
  const headers = { "Content-Type": "application/json", ...(cookie ? { Cookie: cookie } : {}) };
  if (kind === "query" && input !== undefined) address.searchParams.set("input", JSON.stringify(input));
  const response = await fetch(
    address,
    kind === "query" ? { headers } : { method: "POST", headers, body: JSON.stringify(input) },
  );
  const body = (await response.json()) as Envelope; // tRPC's format.
  return {
    status: response.status,
    data: body.result?.data,
    code: body.error?.data?.code,
    cookie: response.headers.getSetCookie()[0]?.split(";")[0],
  };
}

interface Envelope {
  readonly result?: { readonly data: unknown };
  readonly error?: { readonly data?: { readonly code?: string } };
}

export async function signUp(baseUrl: string, email = "ada@example.com"): Promise<Account> {
  const password = "a horse that counts to ten";
  const input = { name: "Ada Lovelace", email, password };
  // On a busy machine, a password can wait longer to be hashed than any node allows, also one in the test's process.
  const { cookie, code } = await untilAnswered(() =>
    callProcedure(baseUrl, { path: "session.signUp", kind: "mutation", input }),
  );
  if (!cookie) throw new Error(`The sign-up failed: ${code}`);
  return { email, password, cookie };
}

/** Signs in. Returns the status, and the cookie if the sign-in succeeded. */
export async function signIn(
  baseUrl: string,
  { email, password }: Pick<Account, "email" | "password">,
): Promise<Answer> {
  return await callProcedure(baseUrl, {
    path: "session.signIn",
    kind: "mutation",
    input: { email, password },
  });
}

/** Returns the email address of the session's user; undefined without a session. */
export async function findSignedIn(baseUrl: string, { cookie }: Account): Promise<string | undefined> {
  const call = { path: "session.current", kind: "query", cookie } as const;
  const { data } = await untilAnswered(() => callProcedure(baseUrl, call));
  return (data as { user: { email: string } } | null)?.user.email; // The router's type for this procedure.
}

export async function createKey(baseUrl: string, { cookie }: Account, name: string): Promise<CreatedKey> {
  const call = { path: "apiKeys.create", kind: "mutation", input: { name }, cookie } as const;
  const { data, code } = await untilAnswered(() => callProcedure(baseUrl, call));
  if (!data) throw new Error(`No key was created: ${code}`);
  return data as CreatedKey; // The router's type for this procedure.
}

export async function deleteKey(baseUrl: string, { cookie }: Account, id: string): Promise<void> {
  const call = { path: "apiKeys.delete", kind: "mutation", input: { id }, cookie } as const;
  let code: string | undefined;
  const send = async (): Promise<number> => {
    const answer = await callProcedure(baseUrl, call);
    code = answer.code;
    return answer.status;
  };
  const status = await untilChanged(send, [200, 404]);
  if (status !== 200) throw new Error(`The key was not deleted: ${code}`);
}

/** Returns the number of uses of a key, as the API keys page shows it. */
export async function readUsageCount(baseUrl: string, { cookie }: Account, id: string): Promise<number> {
  const call = { path: "apiKeys.list", kind: "query", input: { pageSize: 100 }, cookie } as const;
  const { data, code } = await untilAnswered(() => callProcedure(baseUrl, call));
  const { items } = (data ?? { items: [] }) as { items: readonly ListedKey[] }; // The router's type for this procedure.
  const found = items.find((item) => item.id === id);
  if (!found) throw new Error(`The key is not listed (${code}).`);
  return found.usageCount;
}
