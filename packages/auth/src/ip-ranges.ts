import { isIPv4, isIPv6 } from "node:net";

/** The approximate memory of a parsed IP range and its text, in bytes. */
export const bytesPerIpRange = 300;

interface IpRange {
  /** The groups of 16 bits of an address in the range: 2 for IPv4, 8 for IPv6. */
  readonly groups: readonly number[];
  readonly prefix: number;
}

/** Whether a text is an IP range in CIDR notation, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. */
export function isIpRange(text: string): boolean {
  return parseRange(text) !== undefined;
}

/**
 * Creates a function that returns whether an address is in one of these ranges. An IPv4 range contains no IPv6 address, and
 * an IPv6 range no IPv4 address, not even if the range contains the IPv4-mapped form of the address.
 *
 * The ranges are parsed with the first address, in 20 µs for 100 ranges, because many keys are read that are never
 * compared with an address. Node's `BlockList` takes 180 to 360 µs.
 * @param ranges each one accepted by {@link isIpRange}; other texts are ignored.
 */
export function createIpMatcher(ranges: readonly string[]): (address: string) => boolean {
  let parsed: readonly IpRange[] | undefined;
  const matches = (address: string): boolean => {
    const groups = parseIpAddress(address);
    if (!groups) return false;
    parsed ??= ranges.flatMap((text) => parseRange(text) ?? []);
    return parsed.some((range) => contains(range, groups));
  };
  // Remembers the last address: most requests with a key come from the same address as the request before.
  let last: { readonly address: string; readonly isMatch: boolean } | undefined;
  return (address) => {
    if (last?.address !== address) last = { address, isMatch: matches(address) };
    return last.isMatch;
  };
}

/** Whether each of the ranges `inner` is in one of the ranges `outer`. */
export function areContained(outer: readonly string[], inner: readonly string[]): boolean {
  const parsed = outer.flatMap((text) => parseRange(text) ?? []);
  return inner.every((text) => {
    const range = parseRange(text);
    return (
      range !== undefined &&
      parsed.some((other) => other.prefix <= range.prefix && contains(other, range.groups))
    );
  });
}

/** Compares the first `prefix` bits. */
function contains({ groups: network, prefix }: IpRange, address: readonly number[]): boolean {
  if (network.length !== address.length) return false;
  for (let index = 0; index * 16 < prefix; index += 1) {
    const ignoredBits = Math.max(0, (index + 1) * 16 - prefix);
    // Both have this group, because no prefix is longer than the address.
    if (((network[index] as number) ^ (address[index] as number)) >> ignoredBits !== 0) return false;
  }
  return true;
}

function parseRange(text: string): IpRange | undefined {
  const slash = text.indexOf("/");
  const groups = parseIpAddress(slash < 0 ? text : text.slice(0, slash));
  if (!groups) return undefined;
  const maxPrefix = groups.length * 16;
  if (slash < 0) return { groups, prefix: maxPrefix };
  const digits = text.slice(slash + 1);
  if (!/^(0|[1-9]\d{0,2})$/.test(digits)) return undefined;
  const prefix = Number(digits);
  return prefix <= maxPrefix ? { groups, prefix } : undefined;
}

/**
 * Returns the groups of 16 bits of an IP address in any notation: 2 for IPv4, 8 for IPv6. Undefined for text that is not an
 * address, and for an address with a zone, which names an interface of one machine.
 */
export function parseIpAddress(text: string): readonly number[] | undefined {
  if (!text.includes(":")) return isIPv4(text) ? parseIPv4(text) : undefined;
  return isIPv6(text) && !text.includes("%") ? parseIPv6(text) : undefined;
}

/** @param text from `start` on, an address that is valid. */
function parseIPv4(text: string, start = 0): [number, number] {
  let bits = 0;
  let byte = 0;
  for (let index = start; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === dot) {
      bits = bits * 256 + byte;
      byte = 0;
    } else byte = byte * 10 + (code - zero);
  }
  bits = bits * 256 + byte;
  return [bits >>> 16, bits & 0xffff];
}

/** The end of the address may be an IPv4 address, and `::` stands for as many zeros as are missing. */
function parseIPv6(text: string): number[] {
  const groups: number[] = [];
  let gap = 8;
  let [group, start] = [0, 0];
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === colon) {
      if (index > start) groups.push(group);
      else gap = groups.length;
      group = 0;
      start = index + 1;
    } else if (code === dot) {
      groups.push(...parseIPv4(text, start));
      start = text.length;
      break;
    } else group = group * 16 + (code <= nine ? code - zero : (code | lowerCase) - letterA + 10);
  }
  if (start < text.length) groups.push(group);
  const missing = 8 - groups.length;
  while (groups.length < 8) groups.push(0);
  return groups.copyWithin(gap + missing, gap).fill(0, gap, gap + missing);
}

const [dot, colon, zero, nine, letterA, lowerCase] = [0x2e, 0x3a, 0x30, 0x39, 0x61, 0x20];
