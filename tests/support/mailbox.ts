import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";

export interface ReceivedMail {
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
}

/** An SMTP server on a loopback port that keeps the mail it receives. */
export interface Mailbox {
  /** For `SMTP_URL`. */
  readonly url: string;
  /** All mail so far, in order. */
  readonly mails: readonly ReceivedMail[];
  /** All mail that was sent so far, in order, including what was rejected. */
  readonly attempts: readonly ReceivedMail[];
  /** Returns the mail with this index to this address, waiting until it arrives. */
  readonly receive: (to: string, index?: number) => Promise<ReceivedMail>;
  /** Rejects the next `count` mails with a temporary failure. */
  readonly rejectNext: (count: number) => void;
  readonly stop: () => Promise<void>;
}

/** Only ends what hangs, on a busy machine too. In milliseconds. A mail that was rejected is sent again after seconds. */
const arrivalTimeoutMs = 90_000;

export async function startMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = [];
  const attempts: ReceivedMail[] = [];
  const listeners = new Set<() => void>();
  let rejections = 0;
  const server = new SMTPServer({
    disabledCommands: ["AUTH", "STARTTLS"],
    logger: false,
    onData(stream, { envelope }, done) {
      void buffer(stream).then(async (raw) => {
        const { from, to, subject, text, messageId } = await PostalMime.parse(raw);
        const mail = {
          from: from?.address ?? "",
          to: to?.[0]?.address ?? "",
          subject: subject ?? "",
          text: text ?? "",
          messageId: messageId ?? "",
        };
        attempts.push(mail);
        if (rejections > 0) {
          rejections -= 1;
          // Servers often name the address.
          const addresses = envelope.rcptTo.map(({ address }) => address);
          return done(Object.assign(new Error(`Try again later: ${addresses}`), { responseCode: 451 }));
        }
        mails.push(mail);
        done();
        for (const listener of [...listeners]) listener();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.server.address() as AddressInfo; // It listens on a TCP port.
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    attempts,
    receive: (to, index = 0) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          listeners.delete(check);
          reject(
            new Error(`No mail ${index} to ${to} arrived; subjects: ${mails.map(({ subject }) => subject)}`),
          );
        }, arrivalTimeoutMs);
        const check = () => {
          const found = mails.filter((mail) => mail.to === to)[index];
          if (!found) return;
          clearTimeout(timer);
          listeners.delete(check);
          resolve(found);
        };
        listeners.add(check);
        check();
      }),
    rejectNext: (count) => {
      rejections = count;
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
