import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type NoticeSetting, trpc } from "../../server/trpc.ts";
import checkboxClasses from "../../ui/checkbox.module.css";
import { Section } from "../../ui/section.tsx";
import classes from "./notices.module.css";

const kindTitles = {
  invitation: "Invitation to a workspace",
  "role-changed": "Your role changed",
  "key-expires-in-7-days": "API key expires within 7 days",
  "key-expires-in-1-day": "API key expires within 1 day",
  "former-secret-used": "Old secret used",
  "new-network": "API key used from a new network",
  "new-device": "Sign-in from a new device",
  "quota-nearly-reached": "Quota nearly reached",
} as const satisfies Record<NoticeSetting["kind"], string>;

/** One checkbox per kind and channel, without the channel by which the user can't get notices. */
export function NoticeSettings(): ReactElement {
  const queries = useQueryClient();
  const settings = useQuery(trpc.notices.settings.queryOptions());
  const emailStatus = useQuery(trpc.account.emailStatus.queryOptions());
  // A node of a previous version doesn't know whether the email address is verified.
  const isUnverified = emailStatus.data?.isVerified === false;
  const change = useMutation(
    trpc.notices.changeSetting.mutationOptions({
      onSettled: () => queries.invalidateQueries(trpc.notices.settings.queryFilter()),
    }),
  );
  return (
    <Section title="Notice settings">
      <QueryPanel query={settings} failureTitle="Couldn’t load the settings" height={352}>
        {({ kinds, sendsEmail }) => {
          const getsEmail = sendsEmail && !isUnverified;
          return (
            <div className={classes.box}>
              <table className={classes.settings}>
                <thead>
                  <tr>
                    <th scope="col">Notice</th>
                    <th scope="col">In the app</th>
                    {getsEmail && <th scope="col">By email</th>}
                  </tr>
                </thead>
                <tbody>
                  {kinds.map(({ kind, inApp, byEmail }) => (
                    <tr key={kind}>
                      <th scope="row">{kindTitles[kind]}</th>
                      <Setting
                        label={`${kindTitles[kind]}, in the app`}
                        isOn={inApp}
                        isBusy={change.isPending}
                        onChange={(isOn) => change.mutate({ kind, inApp: isOn })}
                      />
                      {getsEmail && (
                        <Setting
                          label={`${kindTitles[kind]}, by email`}
                          isOn={byEmail}
                          isBusy={change.isPending}
                          onChange={(isOn) => change.mutate({ kind, byEmail: isOn })}
                        />
                      )}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          );
        }}
      </QueryPanel>
      {change.isError && (
        <p className={classes.note} role="alert">
          Couldn’t change the setting. {describeFailure(change.error).message}
        </p>
      )}
      {settings.data && !settings.data.sendsEmail && (
        <p className={classes.note}>This instance doesn’t send email, so notices appear only in the app.</p>
      )}
      {settings.data?.sendsEmail && isUnverified && (
        <p className={classes.note}>
          To get notices by email, <Link to="/account/profile">verify your email address</Link>.
        </p>
      )}
    </Section>
  );
}

interface SettingProps {
  /** The accessible name. */
  readonly label: string;
  readonly isOn: boolean;
  /** Whether a change is in flight, during which others are ignored. */
  readonly isBusy: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** A cell with a checkbox, which also reacts to clicks beside it. */
function Setting({ label, isOn, isBusy, onChange }: SettingProps): ReactElement {
  return (
    <td>
      <label className={classes.setting}>
        <input
          type="checkbox"
          className={checkboxClasses.box}
          aria-label={label}
          checked={isOn}
          // A disabled checkbox would lose the focus.
          aria-disabled={isBusy}
          onChange={({ currentTarget: { checked } }) => {
            if (!isBusy) onChange(checked);
          }}
        />
      </label>
    </td>
  );
}
