/** Whether a text is an ID with one of these prefixes, such as `usr`. */
export function isIdOf(text: unknown, ...prefixes: readonly [string, ...string[]]): text is string {
  return (
    typeof text === "string" &&
    new RegExp(`^(?:${prefixes.join("|")})_[0-7][0-9a-hjkmnp-tv-z]{25}$`).test(text)
  );
}
