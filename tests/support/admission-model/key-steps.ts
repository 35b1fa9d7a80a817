import { randomUUID } from "node:crypto";
import { type CreatedKey, callProcedure, signIn } from "../account.ts";
import { clockSteps, quota, type SettingsModel } from "./key-restrictions.ts";
import type { EditOutcome, ListedKey, SessionModel } from "./model.ts";
import { call, clearThrottle, editOutcomeOf, type Key, type Person, type Stage } from "./stage.ts";
import type { RestrictionKind } from "./steps.ts";

interface KeyChange {
  readonly procedure: string;
  /** The input of the procedure, in addition to the ID of the key. */
  readonly input?: object;
  /** Reports the request to the model. Returns a function that reports the outcome. */
  readonly begin: (session: SessionModel) => (outcome: EditOutcome) => void;
}

/** The steps of a scenario by which users change their keys, and those of the clock, on which some of these depend. */
export class KeySteps {
  readonly #stage: Stage;
  /** Serializes steps of the clock and changes that depend on it. */
  #lastByClock: Promise<unknown> = Promise.resolve();
  /** The clock after the steps so far, in minutes since the scenario began. */
  #clock = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async create(baseUrl: string, person: Person): Promise<readonly Key[]> {
    const made: Key[] = [];
    await this.#edit(baseUrl, person, async (session) => {
      const name = `key ${this.#stage.keys.length}`;
      const end = this.#stage.model.beginCreation(session.model, name);
      const answer = await call(baseUrl, session.cookie, "apiKeys.create", { name });
      const outcome = editOutcomeOf(answer);
      const created = answer.data as CreatedKey; // The router's type for this procedure.
      const model = end(outcome === "done" ? created : "rejected");
      const [secret] = model?.secrets ?? [];
      if (model && secret) {
        made.push({
          model,
          owner: person,
          secrets: [{ text: created.key, model: secret }],
          ...{ isBlocked: false, isIdle: false, wasUnblocked: false, isOld: false },
        });
      }
      return outcome;
    });
    this.#stage.keys.push(...made);
    return made;
  }

  async rename(baseUrl: string, key: Key): Promise<readonly Key[]> {
    const name = `renamed ${randomUUID()}`;
    return await this.#change(baseUrl, key, {
      procedure: "apiKeys.update",
      input: { name, description: "" },
      begin: (session) => this.#stage.model.beginRenaming(session, key.model, name),
    });
  }

  async restrict(baseUrl: string, key: Key, to: RestrictionKind): Promise<readonly Key[]> {
    return await this.#byClock(async () => {
      const until = this.#clock + 60;
      const restriction: SettingsModel = to === "expiring" ? { kind: to, until } : { kind: to };
      return await this.#change(baseUrl, key, {
        procedure: "apiKeys.update",
        input: { settings: settingsOf(to, await this.#stage.clock.read()), mayWiden: true },
        begin: (session) => this.#stage.model.beginRestriction(session, key.model, restriction),
      });
    });
  }

  async rotate(baseUrl: string, key: Key, overlapSeconds: number): Promise<readonly Key[]> {
    const { model, owner } = key;
    return await this.#byClock(async () => {
      await this.#edit(baseUrl, owner, async (session) => {
        const validUntil =
          overlapSeconds === 0 ? Number.NEGATIVE_INFINITY : this.#clock + overlapSeconds / 60;
        const end = this.#stage.model.beginRotation(session.model, model, validUntil);
        const answer = await call(baseUrl, session.cookie, "apiKeys.rotate", {
          id: model.id,
          overlapSeconds,
        });
        const outcome = editOutcomeOf(answer);
        const secret = end(outcome);
        if (secret) key.secrets.push({ text: (answer.data as CreatedKey).key, model: secret }); // The router's type.
        return outcome;
      });
      return [key];
    });
  }

  async revokeOldSecrets(baseUrl: string, key: Key): Promise<readonly Key[]> {
    return await this.#byClock(() =>
      this.#change(baseUrl, key, {
        procedure: "apiKeys.revokeOldSecrets",
        begin: (session) => this.#stage.model.beginRevocation(session, key.model),
      }),
    );
  }

  async delete(baseUrl: string, key: Key): Promise<readonly Key[]> {
    return await this.#change(baseUrl, key, {
      procedure: "apiKeys.delete",
      begin: (session) => this.#stage.model.beginDeletion(session, key.model),
    });
  }

  async list(baseUrl: string, person: Person): Promise<void> {
    await this.#edit(baseUrl, person, async (session) => {
      const end = this.#stage.model.beginListing(session.model);
      const answer = await callProcedure(baseUrl, {
        path: "apiKeys.list",
        kind: "query",
        input: { pageSize: 100 },
        cookie: session.cookie,
      });
      const outcome = editOutcomeOf(answer);
      const listed = answer.data as { readonly items: readonly ListedKey[] }; // The router's type for this procedure.
      end(outcome === "done" ? listed.items : "rejected");
      return outcome;
    });
  }

  async stepClock(direction: "forward" | "back"): Promise<void> {
    await this.#byClock(async () => {
      const by = clockSteps[direction];
      const end = this.#stage.model.beginClockStep(this.#clock + by, direction === "forward");
      await this.#stage.clock.step(by);
      this.#clock += by;
      end();
    });
  }

  async #byClock<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastByClock.then(work);
    this.#lastByClock = turn.catch(() => undefined);
    return await turn;
  }

  /** Makes a change that returns nothing but its outcome. */
  async #change(
    baseUrl: string,
    key: Key,
    { procedure, input = {}, begin }: KeyChange,
  ): Promise<readonly Key[]> {
    await this.#edit(baseUrl, key.owner, async (session) => {
      const end = begin(session.model);
      const answer = await call(baseUrl, session.cookie, procedure, { id: key.model.id, ...input });
      const outcome = editOutcomeOf(answer);
      end(outcome);
      return outcome;
    });
    return [key];
  }

  /** Runs an attempt with the person's session, and if that has ended, once more with a new session. */
  async #edit(
    baseUrl: string,
    person: Person,
    attempt: (session: Person["session"]) => Promise<EditOutcome>,
  ): Promise<void> {
    if ((await attempt(person.session)) !== "rejected") return;
    await clearThrottle(this.#stage.db);
    const end = this.#stage.model.beginSignIn(person.model);
    const answer = await signIn(baseUrl, person.account);
    const outcome = editOutcomeOf(answer);
    const model = end(outcome === "done" ? "done" : "rejected");
    if (outcome !== "done") return;
    person.session = { model, cookie: answer.cookie ?? "" };
    await attempt(person.session);
  }
}

/** The settings as the web app sends them. @param now by the database's clock. */
function settingsOf(to: RestrictionKind, now: Date): object {
  return {
    isDisabled: to === "disabled",
    ipRanges: to === "other-ip-range" ? ["203.0.113.0/24"] : null,
    permissions: to === "read-only" ? ["workspace:read"] : null,
    limit: to === "limited" ? { quota, windowSeconds: 3_600 } : null,
    expiresAt: to === "expiring" ? new Date(now.getTime() + 3_600_000).toISOString() : null,
  };
}
