import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { Section } from "../../ui/section.tsx";
import classes from "./keyspaces.module.css";
import { verifyCommand } from "./verify-command.ts";

/** Guides the first visit: from a keyspace to a verified key. @param onCreate absent if the user may not create one. */
export function NoKeyspaces({ onCreate }: { readonly onCreate: (() => void) | undefined }): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  if (!onCreate) {
    return (
      <EmptyPanel title="No keyspaces yet">
        A keyspace holds the keys that this workspace issues to the consumers of its own API. Owners and
        admins create keyspaces.
      </EmptyPanel>
    );
  }
  return (
    <Section title="No keyspaces yet" isWide>
      <ol className={classes.steps}>
        <li>
          <h3>Create a keyspace</h3>
          <p>
            A keyspace holds the keys that you issue to the consumers of your own API, such as your customers.
            Use one for each environment, or for each product.
          </p>
          <Button leftSection={<IconPlus size={16} />} onClick={onCreate}>
            Create your first keyspace
          </Button>
        </li>
        <li>
          <h3>Issue a key</h3>
          <p>
            On the page of the keyspace, issue a key to one of your consumers, with its permissions, rate
            limits and credits. Its secret is shown once.
          </p>
        </li>
        <li>
          <h3>Verify the key in your API</h3>
          <p>
            Your service asks whether a key is valid. Replace <code>$API_KEY</code> with an API key of the
            service that is restricted to this workspace and to <code>keys:verify</code>.
          </p>
          <CodeLine code={verifyCommand(instance.baseUrl, "sk_live_…")} copyLabel="Copy command" />
        </li>
      </ol>
    </Section>
  );
}
