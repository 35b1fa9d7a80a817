import { Resolver } from "node:dns/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { AttemptOutcome, DeliveryError } from "@latchkey/db/schema/webhooks";
import ipaddr from "ipaddr.js";
import { Webhook } from "standardwebhooks";
import { version } from "../version.ts";

/** A message by the Standard Webhooks specification. */
export interface WebhookMessage {
  readonly url: string;
  /** Identifies the event; the same in each attempt. */
  readonly id: string;
  readonly body: string;
  /** `whsec_` and base64; each one signs the message. */
  readonly secrets: readonly string[];
}

/** Sends a message once. Never throws: the outcome is data. */
export type SendMessage = (message: WebhookMessage) => Promise<AttemptOutcome>;

export interface MessageSenderOptions {
  /** Whether messages may be sent to this private or loopback address, even without TLS. */
  readonly isAllowedAddress: (address: string) => boolean;
  /** Resolves a host name to IP addresses; by DNS by default. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** How long an attempt may take, in milliseconds; 10,000 by default. */
  readonly timeoutMs?: number;
}

/** No message is sent to this IP address, or to this URL without TLS. */
class RejectedMessageError extends Error {
  override readonly name = "RejectedMessageError";
  readonly reason: DeliveryError;

  constructor(reason: DeliveryError) {
    super(reason);
    this.reason = reason;
  }
}

/**
 * Creates a function that sends messages to the URLs of webhooks. A message is sent only to the IP addresses that were
 * checked, so that a host name can't resolve to another one between the check and the connection. Redirects aren't
 * followed, and the body of a response isn't read.
 */
export function createMessageSender({
  isAllowedAddress,
  resolve = resolveByDns,
  timeoutMs = 10_000,
}: MessageSenderOptions): SendMessage {
  return async (message) => {
    const startedAt = performance.now();
    // By the node's clock: the receiver compares it with its own clock.
    const sentAt = new Date();
    const finish = (outcome: { status: number } | { error: DeliveryError }): AttemptOutcome => ({
      status: "status" in outcome ? outcome.status : null,
      error: "error" in outcome ? outcome.error : null,
      durationMs: Math.round(performance.now() - startedAt),
    });
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const url = new URL(message.url);
      const addresses = await withSignal(findAddresses(url, { resolve, isAllowedAddress }), signal);
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(message.body),
        "user-agent": `Latchkey/${version}`,
        "webhook-id": message.id,
        "webhook-timestamp": String(Math.floor(sentAt.getTime() / 1_000)),
        "webhook-signature": message.secrets
          .map((secret) => new Webhook(secret).sign(message.id, sentAt, message.body))
          .join(" "),
      };
      return finish({ status: await post(url, { addresses, headers, body: message.body, signal }) });
    } catch (error) {
      return finish({ error: toDeliveryError(error, signal) });
    }
  };
}

interface Post {
  /** The connection is made to one of these. */
  readonly addresses: readonly string[];
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Sends a request and returns the status of the response. */
async function post(url: URL, { addresses, headers, body, signal }: Post): Promise<number> {
  const lookup: LookupFunction = (_hostname, options, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    if (options.all) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  };
  return await new Promise((fulfill, reject) => {
    const send = url.protocol === "https:" ? httpsRequest : httpRequest;
    // `agent: false` connects for this request alone, and directly, whatever proxy the environment names.
    const outgoing = send(url, { method: "POST", agent: false, headers, lookup, signal }, (response) => {
      fulfill(response.statusCode ?? 0);
      response.destroy();
    });
    outgoing.on("error", reject);
    // Node closes the connection of a response that switches protocols (101), and emits neither an error nor the response.
    // After that, the signal has no effect, so the attempt would never end.
    outgoing.on("close", () => reject(new Error("The connection ended without a response.")));
    outgoing.end(body);
  });
}

/** @throws {RejectedMessageError} if any of the addresses of a host is neither public nor allowed. */
async function findAddresses(
  { protocol, hostname }: URL,
  { resolve, isAllowedAddress }: Required<Pick<MessageSenderOptions, "resolve" | "isAllowedAddress">>,
): Promise<readonly string[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new RejectedMessageError("name_not_found");
  const isAllowed = addresses.map(isAllowedAddress);
  if (addresses.some((address, index) => !isAllowed[index] && !isPublic(address)))
    throw new RejectedMessageError("address_not_allowed");
  if (protocol !== "https:" && !isAllowed.every(Boolean)) throw new RejectedMessageError("https_required");
  return addresses;
}

/**
 * Whether an IP address is in no range with a special purpose, such as private, loopback, link-local and multicast
 * addresses, and IPv6 addresses that embed an IPv4 address. Of IPv6, only 2000::/3 is assigned for public addresses. The
 * library takes IPv4-compatible addresses such as ::7f00:1 for public ones.
 */
function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  const isGlobal = parsed.kind() === "ipv4" || parsed.match(globalUnicast);
  return isGlobal && parsed.range() === "unicast";
}

const globalUnicast = ipaddr.parseCIDR("2000::/3");

/**
 * Resolves a host name with Node's DNS client. The system resolver runs on Node's thread pool, which has four threads
 * and also hashes passwords; a slow name server would block one of these threads until it responds.
 */
async function resolveByDns(hostname: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const results = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  return results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
}

async function withSignal<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function toDeliveryError(error: unknown, signal: AbortSignal): DeliveryError {
  if (error instanceof RejectedMessageError) return error.reason;
  if (signal.aborted) return "timeout";
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /CERT|SSL|TLS|ERR_TLS|EPROTO|SELF_SIGNED|UNABLE_TO/.test(code) ? "tls_failed" : "connection_failed";
}
