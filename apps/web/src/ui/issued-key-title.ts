/** The name of an issued key; if it has none, the start of its secret; its ID if it was imported without that. */
export function titleOfKey({
  id,
  name,
  start,
}: {
  readonly id: string;
  readonly name: string;
  readonly start: string;
}): string {
  if (name !== "") return name;
  return start === "" ? id : `${start}…`;
}
