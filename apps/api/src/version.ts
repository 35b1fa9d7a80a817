import packageJson from "../../../package.json" with { type: "json" };

/** Latchkey's version, as its root package.json has it. */
export const version: string = packageJson.version;
