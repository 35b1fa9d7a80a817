import { decodeId, encodeId } from "@latchkey/db/ids";
import { AppError } from "@latchkey/errors";
import type { Command } from "commander";
import { z } from "zod";
import { getAccount } from "../domain/accounts.ts";
import { createKey, deleteAnyKey } from "../domain/api-keys.ts";
import { email, keyDescription, keyName } from "../fields.ts";
import { parseOptions } from "./parse-options.ts";
import type { Perform } from "./performer.ts";

export function addKeyCommands(program: Command, perform: Perform): void {
  const key = program.command("key").description("API keys");
  key
    .command("create")
    .description("make an API key for a user; its secret is printed once and kept nowhere")
    .requiredOption("--user <email>", "whose permissions the key has")
    .requiredOption("--name <name>", "what the key is called")
    .option("--description <text>", "what the key is for", "")
    .action((options: unknown) =>
      perform(async (db) => {
        const { user: address, ...facts } = parseOptions(newKey, options);
        const { id: userId } = await getAccount(db, address);
        const { id, secret } = await createKey(db, { userId, ...facts });
        return { id: encodeId("key", id), key: secret };
      }),
    );
  key
    .command("delete <id>")
    .description("delete an API key; it is refused from then on")
    .action((text: string) =>
      perform(async (db) => {
        const id = decodeId("key", text);
        if (!id)
          throw new AppError("BAD_REQUEST", {
            message: `"${text}" is not the id of an API key, such as key_01h4….`,
          });
        await deleteAnyKey(db, id);
        return { id: text, deleted: true };
      }),
    );
}

const newKey = z.strictObject({ user: email, name: keyName, description: keyDescription });
