import { BlockList, isIPv4, isIPv6 } from "node:net";

interface IpRange {
  readonly network: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Whether a text is an IP range in CIDR notation, such as `10.0.0.0/8` or `2001:db8::/32`, or a single address. */
export function isIpRange(text: string): boolean {
  return parse(text) !== undefined;
}

/**
 * Creates a function that returns whether an address is in one of these ranges.
 * @param ranges each one accepted by {@link isIpRange}; other texts are ignored.
 */
export function createIpMatcher(ranges: readonly string[]): (address: string) => boolean {
  // One list per family. In a single list, `::/0` would contain every IPv4 address.
  const lists: Partial<Record<IpRange["family"], BlockList>> = {};
  for (const text of ranges) {
    const range = parse(text);
    if (!range) continue;
    const list = lists[range.family] ?? new BlockList();
    list.addSubnet(range.network, range.prefix, range.family);
    lists[range.family] = list;
  }
  const matches = (address: string): boolean => {
    const family = familyOf(address);
    return family !== undefined && lists[family]?.check(address, family) === true;
  };
  // Remembers the last address: most requests with a key come from the same address as the request before, and a lookup
  // takes one to two microseconds.
  let last: { readonly address: string; readonly isMatch: boolean } | undefined;
  return (address) => {
    if (last?.address !== address) last = { address, isMatch: matches(address) };
    return last.isMatch;
  };
}

/**
 * Whether each of the ranges `inner` is in one of the ranges `outer`. Creates one matcher per prefix length, and not one
 * per pair: with 100 ranges each, pairs would block the event loop for tens of milliseconds.
 */
export function areContained(outer: readonly string[], inner: readonly string[]): boolean {
  const byPrefix = Map.groupBy(
    outer.flatMap((text) => {
      const range = parse(text);
      return range ? [{ text, key: `${range.family}/${range.prefix}`, ...range }] : [];
    }),
    ({ key }) => key,
  );
  const matchers = [...byPrefix.values()].flatMap((ranges) => {
    const [first] = ranges;
    return first
      ? [
          {
            family: first.family,
            prefix: first.prefix,
            matches: createIpMatcher(ranges.map(({ text }) => text)),
          },
        ]
      : [];
  });
  return inner.every((text) => {
    const range = parse(text);
    return (
      range !== undefined &&
      matchers.some(
        ({ family, prefix, matches }) =>
          family === range.family && prefix <= range.prefix && matches(range.network),
      )
    );
  });
}

function parse(text: string): IpRange | undefined {
  const [network = "", digits, ...more] = text.split("/");
  const family = familyOf(network);
  if (!family || more.length > 0) return undefined;
  const maxPrefix = family === "ipv4" ? 32 : 128;
  if (digits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(digits)) return undefined;
  const prefix = Number(digits ?? maxPrefix);
  return prefix <= maxPrefix ? { network, prefix, family } : undefined;
}

/**
 * Undefined for text that is not an address, and for an address with a zone, which names an interface of one machine.
 */
function familyOf(address: string): IpRange["family"] | undefined {
  if (isIPv4(address)) return "ipv4";
  return isIPv6(address) && !address.includes("%") ? "ipv6" : undefined;
}
