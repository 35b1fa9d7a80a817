import { passwordLength } from "@latchkey/limits";

export const passwordHelp = `${passwordLength.min} to ${passwordLength.max} characters.`;

/**
 * Returns the error to show for a name, or null if it is valid. The functions below do the same for
 * other fields.
 */
export function checkName(name: string): string | null {
  return name.trim() ? null : "Enter your name.";
}

export function checkEmail(email: string): string | null {
  return /^\S+@\S+$/.test(email.trim()) ? null : "Enter an email address, such as ada@example.com.";
}

/** Counts Unicode code points, as the server does. Most emoji are one. */
export function checkNewPassword(password: string): string | null {
  const { length } = [...password];
  if (length === 0) return "Choose a password.";
  if (length < passwordLength.min)
    return `Use at least ${passwordLength.min} characters. You entered ${length}.`;
  if (length > passwordLength.max)
    return `Use at most ${passwordLength.max} characters. You entered ${length}.`;
  return null;
}

export function checkCode(code: string): string | null {
  return code.trim() ? null : "Enter a code.";
}

export function checkPassword(password: string): string | null {
  return password ? null : "Enter your password.";
}
