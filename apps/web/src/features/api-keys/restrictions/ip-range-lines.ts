/** Whether a text is an IP address or a range in CIDR notation, as far as a browser can tell. The API has the last word. */
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

/** Browsers parse IPv6 addresses in URLs. */
function isIpv6(text: string): boolean {
  return /^[\da-f:.]+$/i.test(text) && text.includes(":") && URL.canParse(`http://[${text}]/`);
}

/**
 * Names each line that isn't an IP address or a range; null if there is none.
 * @param isTyping leaves out the last line, which may still be incomplete.
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
