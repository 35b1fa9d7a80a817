import { getRouteApi } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { DeleteAccountSection } from "./delete-account-section.tsx";
import { EmailForm } from "./email-form.tsx";
import { NameForm } from "./name-form.tsx";
import { PasswordSection } from "./password-section.tsx";

const route = getRouteApi("/app");

/** The user's name, email address and password. */
export function ProfilePage(): ReactElement {
  const { user } = route.useRouteContext().session;
  return (
    <>
      <PageHeader title="Profile" explanation="Your name, email address and password." />
      <Section title="General">
        <div className={sectionClasses.box}>
          <NameForm user={user} />
        </div>
      </Section>
      <Section title="Details">
        <dl className={sectionClasses.facts}>
          <dt>ID</dt>
          <dd>
            <code>{user.id}</code>
            <CopyButton text={user.id} label="Copy user ID" />
          </dd>
        </dl>
      </Section>
      <Section title="Email address">
        <div className={sectionClasses.box}>
          <EmailForm email={user.email} />
        </div>
      </Section>
      <Section title="Password">
        <div className={sectionClasses.box}>
          <PasswordSection email={user.email} />
        </div>
      </Section>
      <DeleteAccountSection user={user} />
    </>
  );
}
