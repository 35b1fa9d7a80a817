// Keys of two tenants alternate on one connection: each response belongs to its tenant, and nothing is left for the
// next.
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey, signUp } from "../support/account.ts";
import { effort } from "../support/effort.ts";
import { openKeepAliveConnection } from "../support/keep-alive-connection.ts";
import { createKeyspace, issueKey } from "../support/keyspace.ts";
import { getMembership } from "../support/membership.ts";
import { type Product, startProduct } from "../support/prepared-instance.ts";

interface Tenant {
  readonly key: string;
  /** The text that identifies the tenant in a response. */
  readonly marks: { readonly "/open/me": string; readonly "/open/workspaces": string };
  readonly verification: {
    /** The API key that verifies `issuedKey`. */
    readonly callerKey: string;
    readonly issuedKey: string;
    readonly issuedKeyId: string;
    readonly externalId: string;
  };
}

let product: Product;
let tenants: readonly [Tenant, Tenant];

beforeAll(async () => {
  product = await startProduct();
  tenants = [await addTenant("ada@example.com"), await addTenant("bob@example.com")];
});

afterAll(async () => {
  await product?.stop();
});

async function addTenant(email: string): Promise<Tenant> {
  const account = await signUp(product.baseUrl, email);
  const { key } = await createKey(product.baseUrl, account, email);
  const { workspaceId } = await getMembership(product.baseUrl, account);
  const keyspace = await createKeyspace(product.baseUrl, account);
  const externalId = `consumer of ${email}`;
  const issued = await issueKey(keyspace, { externalId, meta: { email }, credits: { remaining: 1_000_000 } });
  return {
    key,
    marks: { "/open/me": email, "/open/workspaces": workspaceId },
    verification: {
      callerKey: keyspace.callerKey,
      issuedKey: issued.key,
      issuedKeyId: issued.id,
      externalId,
    },
  };
}

/** The path of the request with this index. `/open/me` needs three queries and takes three times as long. */
function pathOf(index: number): "/open/me" | "/open/workspaces" {
  return index % 11 === 0 ? "/open/me" : "/open/workspaces";
}

const requests = 2_000 * effort;

/** Only ends what hangs, on a busy machine too. In milliseconds. */
const timeout = 300 * requests;

test("sequentially, thousands of times", { timeout }, async () => {
  const connection = openKeepAliveConnection(product.baseUrl);
  let misroutedResponses = 0;
  let ownAnswers = 0;
  for (let turn = 0; turn < requests; turn += 1) {
    const [own, other] = turn % 2 === 0 ? tenants : tenants.toReversed();
    const path = pathOf(turn);
    const answer = await connection.ask(path, { headers: { Authorization: `Bearer ${own?.key}` } });
    if (answer.isReused !== turn > 0) throw new Error("The connection was not kept.");
    if (answer.status === 200 && own && answer.body.includes(own.marks[path])) ownAnswers += 1;
    if (other && Object.values(other.marks).some((mark) => answer.body.includes(mark)))
      misroutedResponses += 1;
  }
  connection.close();
  expect({ ownAnswers, misroutedResponses }).toEqual({ ownAnswers: requests, misroutedResponses: 0 });
});

test("thirty in flight, thousands in total, each answered in order", { timeout }, async () => {
  const socket = connect(Number(new URL(product.baseUrl).port), "127.0.0.1");
  const answers = readAnswers(socket);
  for (let turn = 0; turn < requests; turn += 30) {
    const batch = Array.from({ length: Math.min(30, requests - turn) }, (_, index) => turn + index);
    // Two of three consecutive requests are of one tenant, so that tenants and paths don't alternate in step.
    const tenantOf = (index: number) => tenants[index % 3 === 2 ? 1 : 0];
    socket.write(
      batch
        .map((index) => {
          const authorization = `Authorization: Bearer ${tenantOf(index).key}`;
          return `GET ${pathOf(index)} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${index}\r\n${authorization}\r\n\r\n`;
        })
        .join(""),
    );
    for (const index of batch) {
      const { value: answer = "" } = await answers.next();
      const [tenant, other] = index % 3 === 2 ? tenants.toReversed() : tenants;
      const isInPlace =
        answer.startsWith("HTTP/1.1 200 ") &&
        answer.includes(`X-Request-Id: ${index}\r\n`) &&
        tenant !== undefined &&
        answer.includes(tenant.marks[pathOf(index)]) &&
        Object.values(other?.marks ?? {}).every((mark) => !answer.includes(mark));
      // One matcher per request would take longer than the requests.
      if (!isInPlace) expect.fail(`Request ${index} of ${tenant?.marks["/open/me"]} got ${answer}`);
    }
  }
  socket.destroy();
});

/** A verification by a tenant of its own key, or of the other tenant's key, which it doesn't find. */
function verificationOf(turn: number) {
  const [tenant, other] = turn % 3 === 2 ? tenants.toReversed() : tenants;
  if (!tenant || !other) throw new Error("There are two tenants.");
  const isOwn = turn % 5 !== 4;
  const { issuedKey } = (isOwn ? tenant : other).verification;
  /** Returns whether this is the result of the verification, without data of the other tenant. */
  const isExpected = (status: number, body: string): boolean => {
    const { issuedKeyId, externalId } = other.verification;
    if ([issuedKeyId, externalId].some((mark) => body.includes(mark))) return false;
    const { code, keyId = null } = JSON.parse(body) as { readonly code?: string; readonly keyId?: string };
    const expected = isOwn ? ["VALID", tenant.verification.issuedKeyId] : ["NOT_FOUND", null];
    return status === 200 && code === expected[0] && keyId === expected[1];
  };
  return { callerKey: tenant.verification.callerKey, body: { key: issuedKey }, isExpected };
}

test("verifications, sequentially", { timeout }, async () => {
  const connection = openKeepAliveConnection(product.baseUrl);
  for (let turn = 0; turn < requests / 4; turn += 1) {
    const { callerKey, body, isExpected } = verificationOf(turn);
    const headers = { Authorization: `Bearer ${callerKey}` };
    const answer = await connection.ask("/open/keys/verify", { method: "POST", headers, body });
    if (answer.isReused !== turn > 0) throw new Error("The connection was not kept.");
    // One matcher per request would take longer than the requests.
    if (!isExpected(answer.status, answer.body)) expect.fail(`Verification ${turn} got ${answer.body}`);
  }
  connection.close();
});

test("verifications, thirty in flight, each answered in order", { timeout }, async () => {
  const socket = connect(Number(new URL(product.baseUrl).port), "127.0.0.1");
  const answers = readAnswers(socket);
  for (let turn = 0; turn < requests; turn += 30) {
    const batch = Array.from({ length: 30 }, (_, index) => ({
      id: turn + index,
      ...verificationOf(turn + index),
    }));
    socket.write(
      batch
        .map(({ id, callerKey, body }) => {
          const text = JSON.stringify(body);
          const headers = `Host: x\r\nX-Request-Id: ${id}\r\nAuthorization: Bearer ${callerKey}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`;
          return `POST /open/keys/verify HTTP/1.1\r\n${headers}\r\n\r\n${text}`;
        })
        .join(""),
    );
    for (const { id, isExpected } of batch) {
      const { value: answer = "" } = await answers.next();
      const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
      const body = answer.slice(answer.indexOf("\r\n\r\n") + 4);
      // One matcher per request would take longer than the requests.
      const isInPlace = answer.includes(`X-Request-Id: ${id}\r\n`) && isExpected(status, body);
      if (!isInPlace) expect.fail(`Request ${id} got ${answer}`);
    }
  }
  socket.destroy();
});

/** The responses on a connection, each with its headers, in order. */
async function* readAnswers(socket: AsyncIterable<Buffer>): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of socket) {
    rest += chunk.toString("latin1");
    for (let end = endOf(rest); end !== undefined && rest.length >= end; end = endOf(rest)) {
      yield rest.slice(0, end);
      rest = rest.slice(end);
    }
  }
  return undefined;
}

/** Where the first response ends; undefined while its headers are incomplete. */
function endOf(text: string): number | undefined {
  const head = /^.*?\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n/is.exec(text);
  return head ? head[0].length + Number(head[1]) : undefined;
}
