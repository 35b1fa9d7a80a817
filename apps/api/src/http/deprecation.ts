/** When an endpoint was deprecated, and what clients do about it. */
export interface Deprecation {
  readonly since: Date;
  /** When the endpoint may be removed. */
  readonly sunset: Date;
  /** The URL of the page that says what to use instead. */
  readonly link: string;
}

/**
 * The headers of a deprecated endpoint's responses: name, value, name, value.
 * @see https://www.rfc-editor.org/rfc/rfc9745 and https://www.rfc-editor.org/rfc/rfc8594
 */
export function deprecationHeaders({ since, sunset, link }: Deprecation): readonly string[] {
  return [
    "Deprecation",
    `@${Math.floor(since.getTime() / 1_000)}`,
    "Sunset",
    sunset.toUTCString(),
    "Link",
    `<${link}>; rel="deprecation"; type="text/html"`,
  ];
}
