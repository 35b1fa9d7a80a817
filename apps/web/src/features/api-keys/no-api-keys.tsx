import { Button } from "@mantine/core";
import { IconKey, IconPlus } from "@tabler/icons-react";
import { useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { curlLine } from "../../ui/curl-line.ts";
import classes from "../../ui/empty.module.css";

/** Replaces the list while the user has no API keys. */
export function NoApiKeys({ onCreate }: { readonly onCreate: () => void }): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <section className={classes.panel}>
      <IconKey size={28} stroke={1.5} className={classes.icon} aria-hidden="true" />
      <h2 className={classes.title}>No API keys yet</h2>
      <p className={classes.words}>
        Create one key per script or service, so that you can see what each one does and disable it
        separately.
      </p>
      <Button leftSection={<IconPlus size={16} />} onClick={onCreate}>
        Create your first key
      </Button>
      <div className={classes.line}>
        <p className={classes.hint}>Then call the open API with the key:</p>
        <CodeLine code={curlLine(instance.baseUrl, "$API_KEY")} copyLabel="Copy command" />
      </div>
    </section>
  );
}
