import { Menu, UnstyledButton } from "@mantine/core";
import { IconBell, IconKey, IconLogout, IconShieldLock, IconUserCircle } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import type { Session } from "../../server/trpc.ts";
import { useSignOut } from "../use-sign-out.ts";
import classes from "./account-menu.module.css";
import { appearances, useAppearance } from "./appearance.ts";
import { initialsOf } from "./initials.ts";
import { useExactTimes } from "./use-exact-times.ts";

/**
 * The menu of the avatar: the user's name, links to their account pages, display settings, and
 * sign-out.
 */
export function AccountMenu({ user }: { readonly user: Session["user"] }): ReactElement {
  const signOut = useSignOut();
  const [appearance, setAppearance] = useAppearance();
  const [hasExactTimes, setHasExactTimes] = useExactTimes();
  return (
    <Menu position="bottom-end" width={240} offset={12}>
      <Menu.Target>
        <UnstyledButton
          className={classes.avatar}
          aria-label="Account menu"
          data-initials={initialsOf(user.name)}
        />
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label className={classes.person}>
          <span className={classes.name}>{user.name}</span>
          <span className={classes.address}>{user.email}</span>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item
          leftSection={<IconKey size={16} />}
          renderRoot={(props) => <Link {...props} to="/account/api-keys" />}
        >
          Your API keys
        </Menu.Item>
        <Menu.Item
          leftSection={<IconUserCircle size={16} />}
          renderRoot={(props) => <Link {...props} to="/account/profile" />}
        >
          Profile
        </Menu.Item>
        <Menu.Item
          leftSection={<IconShieldLock size={16} />}
          renderRoot={(props) => <Link {...props} to="/account/security" />}
        >
          Security
        </Menu.Item>
        <Menu.Item
          leftSection={<IconBell size={16} />}
          renderRoot={(props) => <Link {...props} to="/account/notices" />}
        >
          Notices
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Appearance</Menu.Label>
        <Menu.RadioGroup value={appearance} onChange={setAppearance}>
          {appearances.map(({ value, label }) => (
            <Menu.RadioItem key={value} value={value}>
              {label}
            </Menu.RadioItem>
          ))}
        </Menu.RadioGroup>
        <Menu.Divider />
        <Menu.CheckboxItem checked={hasExactTimes} onChange={setHasExactTimes}>
          Exact times
        </Menu.CheckboxItem>
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={signOut}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
