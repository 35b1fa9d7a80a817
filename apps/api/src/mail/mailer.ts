import { createTransport } from "nodemailer";

/** An email in plain text. */
export interface Mail {
  /**
   * Identifies an email that may be sent more than once with the same text. Its `Message-ID` is then the same each time, so that
   * receivers can discard the repetition. By default, each email is different.
   */
  readonly id?: string;
  readonly to: string;
  readonly subject: string;
  /** Paragraphs. */
  readonly text: readonly string[];
}

export interface Mailer {
  /** @throws if the server does not accept the email. */
  readonly send: (mail: Mail) => Promise<void>;
  readonly close: () => void;
}

export interface MailerOptions {
  /** `smtp://` or `smtps://`, with the user and password, if any. */
  readonly smtpUrl: string;
  /** The sender, such as `Latchkey <latchkey@example.com>`. */
  readonly from: string;
}

/** The server did not accept an email. The message has no text of the server, which often contains the email address. */
class MailError extends Error {
  override readonly name = "MailError";

  constructor(error: unknown) {
    const { code = "unknown", responseCode = "" } = error as { code?: string; responseCode?: number }; // nodemailer's errors.
    super(`The SMTP server did not accept the email (${[code, responseCode].join(" ").trim()}).`);
  }
}

/** How long to wait for the connection, the greeting, and each further response, in milliseconds. */
const timeouts = { connectionTimeout: "10000", greetingTimeout: "10000", socketTimeout: "30000" };

/** Connects to an SMTP server, for each mail. */
export function createMailer({ smtpUrl, from }: MailerOptions): Mailer {
  const url = new URL(smtpUrl);
  for (const [name, value] of Object.entries(timeouts)) {
    if (!url.searchParams.has(name)) url.searchParams.set(name, value);
  }
  const host = /@([^@>\s]+)>?\s*$/.exec(from)?.[1] ?? "latchkey";
  const transport = createTransport(url.href, { from });
  return {
    async send({ id, to, subject, text }) {
      const messageId = id === undefined ? {} : { messageId: `<${id}@${host}>` };
      const mail = { to, subject, text: `${text.join("\n\n")}\n`, ...messageId };
      await transport.sendMail(mail).catch((error: unknown) => {
        throw new MailError(error);
      });
    },
    close: () => transport.close(),
  };
}
