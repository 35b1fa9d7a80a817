import { readFileSync } from "node:fs";
import { resolve } from "node:path";

/** Variables whose value can be read from a file, for secret managers that mount files. */
export const fileVariables = ["AUTH_SECRET", "DATABASE_URL", "OIDC_CLIENT_SECRET", "SMTP_URL"] as const;

/** The variables with each `<name>_FILE` resolved. A variable with an error has no value. */
export interface ResolvedVariables {
  readonly variables: NodeJS.ProcessEnv;
  /** The errors. Each begins with the name of a variable. */
  readonly faults: readonly string[];
  /** The variable that the value of this variable comes from, to name it in messages. */
  readonly sourceOf: (name: string) => string;
}

/** Reads the files that `<name>_FILE` names. One newline at the end is not part of the value. */
export function readFileVariables(variables: NodeJS.ProcessEnv, directory: string): ResolvedVariables {
  const resolved = { ...variables };
  const faults: string[] = [];
  const sources = new Map<string, string>();
  for (const name of fileVariables) {
    const source = `${name}_FILE`;
    const path = variables[source];
    if (!path) continue;
    sources.set(name, source);
    if (variables[name]) {
      faults.push(`${name} and ${source} are both set: set only one of them`);
      delete resolved[name];
      continue;
    }
    try {
      const value = readFileSync(resolve(directory, path), "utf8").replace(/\r?\n$/, "");
      if (value === "") faults.push(`${source} names an empty file: ${path}`);
      resolved[name] = value;
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : error;
      faults.push(`${source} names a file that can't be read: ${path} (${code})`);
    }
  }
  return { variables: resolved, faults, sourceOf: (name) => sources.get(name) ?? name };
}
