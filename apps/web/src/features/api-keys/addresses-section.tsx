import type { ReactElement } from "react";
import { QueryPanel } from "../../server/query-panel.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { Section } from "../../ui/section.tsx";
import pageClasses from "./key-page.module.css";
import classes from "./rows.module.css";
import { useKeyAddresses } from "./use-key-page.ts";

/** The IP addresses that last used a key. */
export function AddressesSection({ keyId }: { readonly keyId: string }): ReactElement {
  const query = useKeyAddresses(keyId);
  return (
    <Section title="Recent IP addresses">
      <QueryPanel query={query} failureTitle="Couldn’t load IP addresses" height={56}>
        {(addresses) =>
          addresses.length === 0 ? (
            <div className={pageClasses.box}>
              <p className={pageClasses.empty}>The last five IP addresses that used the key appear here.</p>
            </div>
          ) : (
            <ul className={classes.rows}>
              {addresses.map(({ address, lastSeenAt }) => (
                <li key={address} className={classes.row}>
                  <code className={pageClasses.mono}>{address}</code>
                  <span className={classes.time}>
                    <RelativeTime at={lastSeenAt} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </QueryPanel>
    </Section>
  );
}
