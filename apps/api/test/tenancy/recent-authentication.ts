import type { Caller } from "./table.ts";

/**
 * Which procedures that change something require recent authentication (docs/decisions/0037). A test fails for a procedure that
 * is in none of these lists, so that each new procedure gets a decision. It requires recent authentication if it changes a factor,
 * an email address, a password without the current one, or the secret of a webhook; if it creates, rotates or expands a key;
 * if it raises a role, changes a requirement or a retention; if it deletes a workspace or an account; and if it turns off a
 * warning.
 */

/** Whatever the input is. */
export const alwaysRequired = [
  "account.delete",
  "account.setPassword",
  "account.linkOpenid",
  "factors.createTotp",
  "factors.enableTotp",
  "factors.disableTotp",
  "factors.createRecoveryCodes",
  "factors.startPasskey",
  "factors.addPasskey",
  "factors.removePasskey",
  "apiKeys.create",
  "apiKeys.rotate",
  "workspaces.delete",
  "serviceAccounts.createKey",
  "offboarding.replaceKeys",
  "ownership.offer",
  "workspaceKeys.unblock",
  "keyspaces.delete",
  "issuedKeys.create",
  "issuedKeys.rotate",
  "issuedKeyBulk.rotate",
  "issuedKeyImport.importRows",
  "webhooks.create",
  "webhooks.rotateSecret",
  "operator.disableWorkspace",
  "operator.enableWorkspace",
  "operator.enableUser",
  "operator.createResetLink",
  "operator.grantRole",
] as const;

/** Always too, but only on an instance with email or an OpenID provider, where other tests call them. */
export const requiredElsewhere = [
  "account.requestEmailChange", // account.test.ts
  "account.unlinkOpenid", // tests/api/openid.test.ts
] as const;

/** A call that requires recent authentication, or the least change of it that doesn't. */
export interface Case {
  readonly isRequired: boolean;
  /** Replaces members of the input of the plan; none for exactly that input. */
  readonly input?: object;
  readonly caller?: Exclude<Caller, "nobody">;
  /** SQL that prepares the call. */
  readonly prepare?: string;
}

const exempt: Case = { isRequired: false };

/** Only for some inputs. The first case of each has the input of the plan. */
export const sometimesRequired: Readonly<Record<string, readonly Case[]>> = {
  "account.startOpenid": [exempt, { isRequired: true, input: { use: "link" } }],
  "apiKeys.update": [
    exempt,
    {
      isRequired: true,
      input: { version: undefined, settings: { isReadOnly: false }, mayExpand: true },
      prepare: "update api_keys set is_read_only = true",
    },
    {
      isRequired: true,
      input: { version: undefined, settings: { isDisabled: false }, mayExpand: true },
      prepare: "update api_keys set disabled_at = now()",
    },
    { isRequired: false, input: { version: undefined, settings: { isDisabled: true } } },
  ],
  "workspaces.update": [
    exempt,
    { isRequired: true, input: { requiresSecondFactor: true } },
    { isRequired: true, input: { auditRetentionDays: 90 } },
    { isRequired: false, input: { requiresSecondFactor: false, auditRetentionDays: null } },
  ],
  "members.changeRole": [
    { isRequired: true },
    { isRequired: true, input: { role: "owner" } },
    { isRequired: false, input: { role: "viewer" }, prepare: "update members set role = 'member'" },
  ],
  "serviceAccounts.create": [exempt, { isRequired: true, input: { role: "admin" } }],
  "serviceAccounts.change": [
    exempt,
    { isRequired: true, input: { role: "admin", isDisabled: undefined } },
    {
      isRequired: true,
      input: { role: undefined, isDisabled: false },
      prepare: "update users set disabled_at = now() where service_workspace_id is not null",
    },
  ],
  "ownership.accept": [
    { isRequired: false },
    { isRequired: true, caller: "member" }, // To whom the co-owner offers it.
  ],
  "invitations.create": [
    exempt,
    { isRequired: true, input: { role: "admin" } },
    { isRequired: true, input: { role: "owner" } },
  ],
  "invitations.resend": [exempt, { isRequired: true, prepare: "update invitations set role = 'admin'" }],
  "workspaceKeys.changePolicy": [
    exempt,
    {
      isRequired: true,
      input: { maxIdleDays: null, version: 2 },
      prepare:
        "insert into api_key_policies (workspace_id, max_idle_days, version) select id, 30, 2 from workspaces",
    },
  ],
  "notices.changeSetting": [exempt, { isRequired: true, input: { kind: "new-device" } }],
  "webhooks.update": [
    exempt,
    { isRequired: true, input: { changes: { url: "https://example.com/other" } } },
    { isRequired: true, input: { changes: { actions: null } } },
  ],
};

/** Never, because they only reduce access, or need the current password, a factor or a link instead. */
export const neverRequired = [
  // Before a sign-in, or without a session.
  "session.signUp",
  "session.signIn",
  "session.enterCode",
  "session.startOpenid",
  "session.signInWithOpenid",
  "session.startPasskey",
  "session.signInWithPasskey",
  "session.requestResetLink",
  "session.resetAccount",
  "session.resetPassword",
  "session.signUpInvited",
  "session.emailChange",
  "session.confirmEmailChange", // The link was requested with recent authentication.
  "session.signOut",
  "invitations.preview",
  "invitations.accept",
  // They need the current password, or confirm the identity.
  "account.changePassword",
  "account.confirmPassword",
  "account.startPasskey",
  "account.confirmPasskey",
  "account.confirmOpenid",
  "account.requestEmailVerification",
  "account.verifyEmail",
  // They issue no secret, and issued keys grant no access to Latchkey.
  "keyspaces.create",
  "keyspaces.update",
  "issuedKeys.update",
  "issuedKeys.revokeOldSecrets",
  "issuedKeys.delete",
  "issuedKeys.verify",
  "issuedKeyBulk.change",
  "issuedKeyCredits.change",
  "consumers.update",
  // They reduce access.
  "account.endSession",
  "account.endOtherSessions",
  "account.signOutEverywhere",
  "apiKeys.endOverlap",
  "apiKeys.revokeOldSecrets",
  "apiKeys.delete",
  "members.leave",
  "members.remove",
  "serviceAccounts.delete",
  "ownership.end",
  "invitations.revoke",
  "workspaceKeys.block",
  "webhooks.delete",
  "operator.disableUser",
  "operator.endSessions",
  "operator.revokeRole",
  // They change no access.
  "account.rename",
  "factors.renamePasskey",
  "keyHistory.tryOut",
  "keyHistory.evaluate",
  "workspaces.create",
  "workspaces.rename",
  "notices.markRead",
  "notices.markAllRead",
  "webhooks.test",
  "webhooks.redeliver",
] as const;
