import { isIPv4, isIPv6 } from "node:net";

/**
 * Returns the network by which limits count IP addresses: an IPv4 address, or the /64 network of an IPv6 address,
 * because one subscriber has at least a /64 network.
 * @param address null if a proxy sent an address that can't be parsed. All of these count as one network.
 */
export function networkOf(address: string | null): string {
  if (address === null) return "unknown";
  const [bare = ""] = address.split("%");
  if (!isIPv6(bare)) return bare;
  return `${expand(bare).slice(0, 4).join(":")}::/64`;
}

/**
 * Returns the network by which uses of a key are told apart: the /24 network of an IPv4 address, or the /48 network of an
 * IPv6 address, because one site has such a network. Null for an address that can't be parsed.
 */
export function siteOf(address: string): string | null {
  const [bare = ""] = address.split("%");
  if (isIPv4(bare)) return `${bare.split(".").slice(0, 3).join(".")}.0/24`;
  return isIPv6(bare) ? `${expand(bare).slice(0, 3).join(":")}::/48` : null;
}

/** The eight groups of an IPv6 address. */
function expand(address: string): string[] {
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail ? tail.split(":") : [];
  const zeros = 8 - first.length - last.length;
  return [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
}
