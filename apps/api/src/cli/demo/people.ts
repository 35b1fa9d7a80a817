import { createId, type UserId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import { describeDevice } from "../../domain/devices.ts";
import type { Random } from "./random.ts";

/** A member of a demo workspace. */
export interface Person {
  readonly id: UserId;
  readonly name: string;
  readonly email: string;
  readonly role: Role;
  readonly joinedAt: Date;
  /** The IP address, its network and the browser that the person uses. */
  readonly address: string;
  readonly network: string;
  readonly userAgent: string;
  /** What the app calls the browser. */
  readonly device: string;
}

const givenNames =
  "Aaliyah Adam Aiko Alice Amara Anders Ben Bianca Carlos Chloe Daniel Dara Elif Emma Farid Fatima Grace Hana Hugo Ines Ivan Jade Jonas Kai Kofi Lena Liam Lucia Maya Mateo Nadia Noah Olga Omar Priya Rafael Rosa Samir Sofia Theo".split(
    " ",
  );
const familyNames =
  "Abbott Alvarez Banerjee Becker Castillo Chen Dubois Eriksen Fischer Garcia Haddad Hansen Ito Jansen Kaya Kim Kowalski Larsen Lopez Mbeki Meyer Moreau Nakamura Novak Okafor Patel Petrov Rossi Santos Schmidt Silva Singh Tanaka Walker Weber".split(
    " ",
  );

const userAgents = [
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15",
];

/** The first four people have these roles, and people can sign in as them. */
const firstRoles = ["owner", "admin", "member", "viewer"] as const;

/** The number of people that the command prints with their password. */
export const namedPeople = firstRoles.length;

/** Invents people with different names. The first one joins at `from`. */
export function createPeople(
  random: Random,
  { count, domain, from, to }: { count: number; domain: string; from: Date; to: Date },
): readonly Person[] {
  const offset = random.integer(0, givenNames.length * familyNames.length - 1);
  return Array.from({ length: count }, (_, index) => {
    // The step shares no factor with the number of names (40 × 35), so no name occurs twice.
    const place = (offset + index * 37) % (givenNames.length * familyNames.length);
    const given = givenNames[place % givenNames.length];
    const family = familyNames[Math.floor(place / givenNames.length)];
    const userAgent = random.pick(userAgents);
    return {
      id: createId("user"),
      name: `${given} ${family}`,
      email: `${given}.${family}@${domain}`.toLowerCase(),
      role: firstRoles[index] ?? random.weighted({ admin: 3, member: 70, viewer: 27, owner: 0.2 }),
      joinedAt: index === 0 ? from : random.time(from, to),
      address: `198.51.100.${random.integer(1, 254)}`,
      network: "198.51.100.0/24",
      userAgent,
      device: describeDevice(userAgent),
    };
  });
}
