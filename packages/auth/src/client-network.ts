import { isIPv6 } from "node:net";

/**
 * Returns the network by which limits count IP addresses: an IPv4 address, or the /64 network of an IPv6 address,
 * because one subscriber has at least a /64 network.
 * @param address null if a proxy sent an address that can't be parsed. All of these count as one network.
 */
export function networkOf(address: string | null): string {
  if (address === null) return "unknown";
  const [bare = ""] = address.split("%");
  if (!isIPv6(bare)) return bare;
  const canonical = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const [head = "", tail] = canonical.split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail ? tail.split(":") : [];
  const zeros = 8 - first.length - last.length;
  const groups = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  return `${groups.slice(0, 4).join(":")}::/64`;
}
