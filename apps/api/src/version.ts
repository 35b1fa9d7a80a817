import packageJson from "../../../package.json" with { type: "json" };

/** Latchkey's version, from the root package.json. */
export const version: string = packageJson.version;
