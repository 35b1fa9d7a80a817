import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import pageClasses from "./key-page.module.css";
import classes from "./rows.module.css";
import { useKeyAddresses } from "./use-key-page.ts";

/** The IP addresses that last used a key. */
export function AddressesSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useKeyAddresses(keyId);
  const failure = useLoadingFailure(query);
  return (
    <Section title="Recent IP addresses">
      {failure ? (
        <FailurePanel
          title="Couldn’t load IP addresses"
          message={failure.message}
          requestId={failure.requestId}
          isRetrying={query.isFetching}
          onRetry={() => void query.refetch()}
        />
      ) : !query.data ? (
        <Skeleton h={56} />
      ) : query.data.length === 0 ? (
        <div className={pageClasses.box}>
          <p className={pageClasses.empty}>The last five IP addresses that used the key are shown here.</p>
        </div>
      ) : (
        <ul className={classes.rows}>
          {query.data.map(({ address, lastSeenAt }) => (
            <li key={address} className={classes.row}>
              <code className={pageClasses.mono}>{address}</code>
              <span className={classes.time}>
                <RelativeTime at={lastSeenAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}
