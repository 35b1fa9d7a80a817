/** Whether a text looks like an IP address or a CIDR range. The API makes the final decision. */
export function isLikeIpRange(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  if (rest.length > 0) return false;
  const bits = isIpv4(address) ? 32 : isIpv6(address) ? 128 : undefined;
  if (bits === undefined) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

function isIpv4(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** Uses the URL parser, which accepts an IPv6 address in brackets as a host. */
function isIpv6(text: string): boolean {
  return /^[\da-f:.]+$/i.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
}

/**
 * Lists the entries that aren't IP addresses or ranges. Returns null if all are valid.
 * @param isTyping whether to ignore the last line, which may be incomplete.
 */
export function describeInvalidRanges(text: string, { isTyping = false } = {}): string | null {
  const lines = text.split("\n");
  const checked = isTyping ? lines.slice(0, -1) : lines;
  const invalid = checked.flatMap((line, index) => {
    const entries = line.split(/[\s,]+/).filter((entry) => entry !== "");
    return entries.filter((entry) => !isLikeIpRange(entry)).map((entry) => `line ${index + 1} (${entry})`);
  });
  if (invalid.length === 0) return null;
  const shown = invalid.length > 5 ? [...invalid.slice(0, 5), `${invalid.length - 5} more`] : invalid;
  return `Not an IP address or range: ${shown.join(", ")}. Enter one per line, for example 203.0.113.0/24.`;
}
