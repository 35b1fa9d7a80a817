import { BlockList, isIPv4, isIPv6 } from "node:net";

interface IpRange {
  readonly network: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Whether a text is a range of addresses in CIDR notation, such as `10.0.0.0/8` or `2001:db8::/32`, or one address. */
export function isIpRange(text: string): boolean {
  return parse(text) !== undefined;
}

/**
 * Tells whether an address is in one of these ranges.
 * @param ranges each one that {@link isIpRange} knows.
 */
export function createIpMatcher(ranges: readonly string[]): (address: string) => boolean {
  // One for each family: to a single one, every IPv4 address would be in `::/0`.
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
  // Who asks comes from the same place as the one before, mostly, and to look an address up takes a microsecond or two.
  let last: { readonly address: string; readonly isMatch: boolean } | undefined;
  return (address) => {
    if (last?.address !== address) last = { address, isMatch: matches(address) };
    return last.isMatch;
  };
}

/** Whether every address of the range `inner` is in the range `outer`. */
export function containsIpRange(outer: string, inner: string): boolean {
  const [around, within] = [parse(outer), parse(inner)];
  if (!around || !within || around.prefix > within.prefix) return false;
  return createIpMatcher([outer])(within.network);
}

function parse(text: string): IpRange | undefined {
  const [network = "", digits, ...more] = text.split("/");
  const family = familyOf(network);
  if (!family || more.length > 0) return undefined;
  const most = family === "ipv4" ? 32 : 128;
  if (digits !== undefined && !/^(0|[1-9]\d{0,2})$/.test(digits)) return undefined;
  const prefix = Number(digits ?? most);
  return prefix <= most ? { network, prefix, family } : undefined;
}

/** Undefined for what is no address, and for one that names an interface of some machine. */
function familyOf(address: string): IpRange["family"] | undefined {
  if (isIPv4(address)) return "ipv4";
  return isIPv6(address) && !address.includes("%") ? "ipv6" : undefined;
}
