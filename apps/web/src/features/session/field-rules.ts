import { passwordLength } from "@latchkey/limits";

export const passwordHelp = `${passwordLength.min} to ${passwordLength.max} characters.`;

/** What to do about a name, or null when it is good; the same for the rules below. */
export function checkName(name: string): string | null {
  return name.trim() ? null : "Enter your name.";
}

export function checkEmail(email: string): string | null {
  return /^\S+@\S+$/.test(email.trim()) ? null : "Enter an email address, for example name@example.com.";
}

/** Counts as the server does: in UTF-16 units, of which most emoji are two. */
export function checkNewPassword(password: string): string | null {
  const { length } = password;
  if (length === 0) return "Choose a password.";
  if (length < passwordLength.min)
    return `Use at least ${passwordLength.min} characters; these are ${length}.`;
  if (length > passwordLength.max)
    return `Use at most ${passwordLength.max} characters; these are ${length}.`;
  return null;
}

export function checkPassword(password: string): string | null {
  return password ? null : "Enter your password.";
}
