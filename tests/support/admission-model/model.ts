import {
  LimitBook,
  possibleByKey,
  type RequirementModel,
  type SecretModel,
  type SettingsModel,
} from "./bounds.ts";
import { Changing } from "./changing.ts";
import { type Figures, noFigures } from "./figures.ts";

// What admission promises, as a model: it is told when something begins and what came of it, in the order in which
// the caller saw it, and holds what the product may answer by that. Requests that overlap a change may see either
// side of it. It knows no clock, no network, no database.

/** A role in the one workspace of the story; undefined for who is no member of it. */
export type RoleModel = "admin" | "member" | "viewer" | undefined;

export interface UserModel {
  readonly email: string;
  readonly isEnabled: Changing<boolean>;
  readonly role: Changing<RoleModel>;
  readonly sessions: Set<SessionModel>;
  readonly keys: KeyModel[];
}

export interface SessionModel {
  readonly user: UserModel;
  readonly isOpen: Changing<boolean>;
}

export interface KeyModel {
  readonly id: string;
  readonly owner: UserModel;
  readonly isPresent: Changing<boolean>;
  readonly name: Changing<string>;
  readonly settings: Changing<SettingsModel>;
  /** In the order in which it had them. */
  readonly secrets: SecretModel[];
  readonly limitBook: LimitBook;
  sent: number;
  admitted: number;
  refused: number;
}

/** What came of an edit: `refused` without a live session, `missing` where the key is not there. */
export type EditOutcome = "done" | "refused" | "missing";

/** What a use is answered; one past its key's limit is `limited`. */
export type UseOutcome = "admitted" | "refused" | "limited" | "unknown";

/** A key as the list shows it. */
export interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly usageCount: number;
}

/**
 * Each `begin…` answers the function to call when the product has answered. That one throws an Error where no order
 * of the events explains the answer.
 */
export class AdmissionModel {
  readonly figures: Figures = { ...noFigures };
  /** What has happened, to be read when something is wrong. */
  readonly history: string[] = [];
  /** In minutes since the story began. */
  readonly clock = new Changing(0);
  /** How often the clock was set forward. */
  readonly #window = new Changing(0);
  readonly #watches = new Set<() => void>();

  addUser(email: string): UserModel {
    const role = new Changing<RoleModel>(undefined);
    return { email, isEnabled: new Changing(true), role, sessions: new Set(), keys: [] };
  }

  /** A request that uses a secret of a key; 503 and a broken connection are `unknown`. */
  beginUse(
    key: KeyModel,
    requirement?: RequirementModel,
    secret = lastOf(key.secrets),
  ): (outcome: UseOutcome) => void {
    key.sent += 1;
    const { isEnabled, role } = key.owner;
    const ofKey = { settings: key.settings, secret, clock: this.clock };
    const isOtherwiseGood = this.#watch(() =>
      both(both(key.isPresent.possible, isEnabled.possible), allowances(role.possible, requirement)),
    );
    const isGood = this.#watch(() => both(isOtherwiseGood.look(), possibleByKey(ofKey, requirement)));
    const isLimited = this.#watch(
      () => new Set([...key.settings.possible].map(({ kind }) => kind === "limited")),
    );
    const windows = this.#watch(() => this.#window.possible);
    const entry = key.limitBook.enter({ windows: windows.seen, isLimited: isLimited.seen });
    return (outcome) => {
      for (const watch of [isOtherwiseGood, isGood, isLimited, windows]) watch.stop();
      this.#note(`a use of ${key.id}${requirement ? ` to ${requirement}` : ""} is ${outcome}`);
      this.figures[outcome] += 1;
      if (requirement && outcome === "admitted") this.figures.admittedByRole += 1;
      const isUserGood = !both(key.isPresent.possible, isEnabled.possible).has(false);
      if (outcome === "refused" && !isOtherwiseGood.seen.has(false)) this.figures.refusedByKey += 1;
      else if (requirement && outcome === "refused" && isUserGood) this.figures.refusedByRole += 1;
      if (isGood.seen.size > 1) this.figures.open += 1;
      if (outcome === "unknown") return;
      if (outcome === "admitted") key.admitted += 1;
      else key.refused += 1;
      expectPossible(`a use of ${key.id} was ${outcome}`, isGood.seen, outcome !== "refused");
      if (outcome === "admitted") key.limitBook.admit(entry);
      else if (outcome === "limited") key.limitBook.turnAway(entry);
      else entry.isSpent = false;
    };
  }

  /** The database's clock is set to another time; one after the other. */
  beginClockStep(to: number, isForward: boolean): () => void {
    const change = this.#begin(this.clock, to);
    const next = isForward ? this.#begin(this.#window, Math.max(...this.#window.possible) + 1) : undefined;
    this.#note(`the clock is about to be set to ${to} min`);
    return () => {
      this.clock.acknowledge(change);
      if (next) this.#window.acknowledge(next);
      this.figures.clockSteps += 1;
      this.#note(`the clock is set to ${to} min`);
    };
  }

  /** Holds a key to something else; one after the other, and after rotations. */
  beginHolding(session: SessionModel, key: KeyModel, to: SettingsModel): (outcome: EditOutcome) => void {
    return this.#beginEdit({ session, key, values: [[key.settings, to]], what: "holding" });
  }

  /** Another secret; the present one is good until then. Answers it to whoever is told that it was made. */
  beginRotation(
    session: SessionModel,
    key: KeyModel,
    goodUntil: number,
  ): (outcome: EditOutcome) => SecretModel | undefined {
    const former = lastOf(key.secrets).goodUntil;
    const end = this.#beginEdit({ session, key, values: [[former, goodUntil]], what: "rotation" });
    return (outcome) => {
      end(outcome);
      if (outcome !== "done") return undefined;
      const secret = { goodUntil: new Changing(Number.POSITIVE_INFINITY) };
      key.secrets.push(secret);
      return secret;
    };
  }

  /** The end of all overlaps of a key. */
  beginEnding(session: SessionModel, key: KeyModel): (outcome: EditOutcome) => void {
    const values = key.secrets
      .slice(0, -1)
      .map(({ goodUntil }) => [goodUntil, Number.NEGATIVE_INFINITY] as const);
    return this.#beginEdit({ session, key, values, what: "ending" });
  }

  beginDisabling(user: UserModel): () => void {
    const isChange = user.isEnabled.possible.has(true);
    const change = this.#begin(user.isEnabled, false);
    const ends = [...user.sessions].map(({ isOpen }) => ({ isOpen, end: this.#begin(isOpen, false) }));
    this.#note(`disabling ${user.email} begins`);
    return () => {
      user.isEnabled.acknowledge(change);
      for (const { isOpen, end } of ends) isOpen.acknowledge(end);
      if (isChange) this.figures.disablings += 1;
      this.#note(`${user.email} is disabled`);
    };
  }

  beginEnabling(user: UserModel): () => void {
    const isChange = user.isEnabled.possible.has(false);
    // It ends what a sign-in left behind that overlapped the disabling; whether there is such a thing is not known.
    if (isChange) for (const { isOpen } of user.sessions) this.#begin(isOpen, false);
    const change = this.#begin(user.isEnabled, true);
    this.#note(`enabling ${user.email} begins`);
    return () => {
      user.isEnabled.acknowledge(change);
      if (isChange) this.figures.enablings += 1;
      this.#note(`${user.email} is enabled`);
    };
  }

  /** Another role in the workspace, the first one, or none; one after the other for each user. */
  beginRoleChange(user: UserModel, from: RoleModel, to: RoleModel): () => void {
    const change = this.#begin(user.role, to);
    this.#note(`${user.email} is about to be ${to ?? "no member"}`);
    return () => {
      user.role.acknowledge(change);
      this.figures[from === undefined ? "additions" : to === undefined ? "removals" : "roleChanges"] += 1;
      this.#note(`${user.email} is ${to ?? "no member"}`);
    };
  }

  /** A sign-in with the right password. */
  beginSignIn(user: UserModel): (outcome: "done" | "refused") => SessionModel {
    const session: SessionModel = { user, isOpen: new Changing(false) };
    user.sessions.add(session);
    const change = this.#begin(session.isOpen, true);
    const mayEnter = this.#watch(() => user.isEnabled.possible);
    return (outcome) => {
      mayEnter.stop();
      if (outcome === "done") session.isOpen.acknowledge(change);
      else user.sessions.delete(session);
      this.#note(`a sign-in of ${user.email} is ${outcome}`);
      expectPossible(`a sign-in of ${user.email} was ${outcome}`, mayEnter.seen, outcome === "done");
      return session;
    };
  }

  beginCreation(
    session: SessionModel,
    name: string,
  ): (outcome: { readonly id: string } | "refused") => KeyModel | undefined {
    const isLive = this.#watchSession(session);
    return (outcome) => {
      isLive.stop();
      const isDone = outcome !== "refused";
      this.#note(`${isDone ? outcome.id : "no key"} of ${session.user.email} is created`);
      expectPossible(`a creation was ${isDone ? "done" : "refused"}`, isLive.seen, isDone);
      if (!isDone) return undefined;
      this.figures.creations += 1;
      const key: KeyModel = {
        id: outcome.id,
        owner: session.user,
        isPresent: new Changing(true),
        name: new Changing(name),
        settings: new Changing<SettingsModel>({ kind: "free" }),
        secrets: [{ goodUntil: new Changing(Number.POSITIVE_INFINITY) }],
        limitBook: new LimitBook(),
        sent: 0,
        admitted: 0,
        refused: 0,
      };
      session.user.keys.push(key);
      return key;
    };
  }

  beginDeletion(session: SessionModel, key: KeyModel): (outcome: EditOutcome) => void {
    return this.#beginEdit({ session, key, values: [[key.isPresent, false]], what: "deletion" });
  }

  beginRenaming(session: SessionModel, key: KeyModel, name: string): (outcome: EditOutcome) => void {
    return this.#beginEdit({ session, key, values: [[key.name, name]], what: "renaming" });
  }

  /** A look at the list of a user's keys. Keys that were not there when it began are not looked at. */
  beginListing(session: SessionModel): (outcome: readonly ListedKey[] | "refused") => void {
    const isLive = this.#watchSession(session);
    const expected = session.user.keys.map((key) => ({
      key,
      isPresent: this.#watch(() => key.isPresent.possible),
      name: this.#watch(() => key.name.possible),
      atLeast: key.admitted,
    }));
    return (outcome) => {
      for (const watch of [isLive, ...expected.flatMap(({ isPresent, name }) => [isPresent, name])])
        watch.stop();
      const isDone = outcome !== "refused";
      this.#note(`a list of ${session.user.email} is ${isDone ? "read" : "refused"}`);
      expectPossible(`a list was ${isDone ? "read" : "refused"}`, isLive.seen, isDone);
      if (!isDone) return;
      this.figures.listings += 1;
      for (const { key, isPresent, name, atLeast } of expected) {
        const item = outcome.find(({ id }) => id === key.id);
        expectPossible(`${key.id} was ${item ? "" : "not "}listed`, isPresent.seen, item !== undefined);
        if (!item) continue;
        expectPossible(`${key.id} was listed as "${item.name}"`, name.seen, item.name);
        expectCount(key, item.usageCount, atLeast);
      }
    };
  }

  /** How often the key was used, read while nothing is under way. */
  expectFinalCount(key: KeyModel, counted: number): void {
    expectCount(key, counted, key.admitted);
  }

  #beginEdit<Value>(edit: {
    readonly session: SessionModel;
    readonly key: KeyModel;
    readonly values: readonly (readonly [value: Changing<Value>, to: Value])[];
    readonly what: "deletion" | "renaming" | "holding" | "rotation" | "ending";
  }): (outcome: EditOutcome) => void {
    const { session, key, values, what } = edit;
    const isLive = this.#watchSession(session);
    const isPresent = this.#watch(() => key.isPresent.possible);
    const changes = values.map(([value, to]) => ({ value, change: this.#begin(value, to) }));
    this.#note(`a ${what} of ${key.id} begins`);
    return (outcome) => {
      isLive.stop();
      isPresent.stop();
      for (const { value, change } of changes) {
        if (outcome === "done") value.acknowledge(change);
        else value.cancel(change);
      }
      if (outcome === "done") this.figures[`${what}s`] += 1;
      this.#note(`a ${what} of ${key.id} is ${outcome}`);
      expectPossible(`a ${what} of ${key.id} was ${outcome}`, isLive.seen, outcome !== "refused");
      if (outcome !== "refused")
        expectPossible(`a ${what} of ${key.id} was ${outcome}`, isPresent.seen, outcome === "done");
    };
  }

  #watchSession({ isOpen, user }: SessionModel): Watch<boolean> {
    return this.#watch(() => both(isOpen.possible, user.isEnabled.possible));
  }

  /** Gathers all that something may be from now on until it is stopped. */
  #watch<Value>(look: () => ReadonlySet<Value>): Watch<Value> {
    const seen = new Set(look());
    const update = (): void => {
      for (const value of look()) seen.add(value);
    };
    this.#watches.add(update);
    return { seen, look, stop: () => this.#watches.delete(update) };
  }

  /** Only the beginning of a change makes more possible, so that this is when watches must look again. */
  #begin<Value>(value: Changing<Value>, to: Value): ReturnType<Changing<Value>["begin"]> {
    const change = value.begin(to);
    for (const update of this.#watches) update();
    return change;
  }

  #note(event: string): void {
    this.history.push(event);
  }
}

interface Watch<Value> {
  readonly seen: ReadonlySet<Value>;
  /** What it may be right now. */
  readonly look: () => ReadonlySet<Value>;
  readonly stop: () => void;
}

function lastOf(secrets: readonly SecretModel[]): SecretModel {
  const last = secrets.at(-1);
  if (!last) throw new Error("A key has a secret.");
  return last;
}

function allowances(
  roles: ReadonlySet<RoleModel>,
  requirement: RequirementModel | undefined,
): ReadonlySet<boolean> {
  if (!requirement) return new Set([true]);
  return new Set([...roles].map((role) => role === "admin" || (requirement === "see" && role !== undefined)));
}

function both(left: ReadonlySet<boolean>, right: ReadonlySet<boolean>): ReadonlySet<boolean> {
  return new Set([...left].flatMap((one) => [...right].map((other) => one && other)));
}

function expectPossible<Value>(what: string, possible: ReadonlySet<Value>, value: Value): void {
  if (!possible.has(value)) throw new Error(`By the model it cannot be that ${what}.`);
}

/** Every answer was counted before it was sent; what was refused never is. */
function expectCount(key: KeyModel, counted: number, atLeast: number): void {
  const atMost = key.sent - key.refused;
  if (counted < atLeast || counted > atMost)
    throw new Error(`${counted} uses of ${key.id} were counted, and not ${atLeast} to ${atMost}.`);
}
