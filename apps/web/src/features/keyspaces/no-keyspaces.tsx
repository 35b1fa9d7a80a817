import { Button } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { EmptyPanel } from "../../ui/empty-panel.tsx";
import { Section } from "../../ui/section.tsx";
import { Step, Steps } from "../../ui/steps.tsx";
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
      <Steps>
        <Step number={1} title="Create a keyspace">
          <p>
            A keyspace holds the keys that you issue to the consumers of your own API, such as your customers.
            Use one for each environment, or for each product.
          </p>
          <Button leftSection={<IconPlus size={16} />} onClick={onCreate}>
            Create your first keyspace
          </Button>
        </Step>
        <Step number={2} title="Issue a key">
          <p>
            On the page of the keyspace, issue a key to one of your consumers, with its permissions, rate
            limits and credits. Its secret is shown once.
          </p>
        </Step>
        <Step number={3} title="Verify the key in your API">
          <p>
            Your service asks whether a key is valid, with an API key of its own in place of{" "}
            <code>$API_KEY</code>. Restrict it to <code>keys:verify</code>, and it can do nothing else.
          </p>
          <CodeLine code={verifyCommand(instance.baseUrl, "sk_live_…")} copyLabel="Copy command" />
        </Step>
      </Steps>
    </Section>
  );
}
