import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** What a browser gets to create or use a passkey; the members that this file reads. */
interface Options {
  readonly challenge: string;
}

/** How a response comes about. */
interface Circumstances {
  /** Whether the authenticator has verified the user; true by default. */
  readonly isVerified?: boolean;
  /** The origin of the page. */
  readonly from?: string;
  /** What the browser says about the pages around a frame. */
  readonly frame?: { readonly crossOrigin?: boolean; readonly topOrigin?: string };
}

/** A passkey in memory, which answers challenges as an authenticator and a browser do together. */
export function createSoftwarePasskey(origin: string, rpId = "localhost") {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const credentialId = randomBytes(16);
  let signCount = 0;
  const id = credentialId.toString("base64url");
  const clientData = (type: string, challenge: string, { from = origin, frame = {} }: Circumstances) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: from, crossOrigin: false, ...frame }));
  const header = (flags: number) => {
    signCount += 1;
    const count = Buffer.alloc(4);
    count.writeUInt32BE(signCount);
    return Buffer.concat([createHash("sha256").update(rpId).digest(), Buffer.of(flags), count]);
  };

  return {
    id,
    /** Sets the count of signatures, as a copy of the authenticator would have it. */
    setSignCount(count: number): void {
      signCount = count;
    },
    /** The response to the options of a registration. */
    register({ challenge }: Options, { isVerified = true, ...page }: Circumstances = {}) {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const authData = Buffer.concat([
        header(0x41 | (isVerified ? 0x04 : 0)),
        Buffer.alloc(16),
        length,
        credentialId,
        encodeCoseKey(publicKey.export({ format: "jwk" })),
      ]);
      return {
        id,
        rawId: id,
        type: "public-key" as const,
        response: {
          clientDataJSON: clientData("webauthn.create", challenge, page).toString("base64url"),
          attestationObject: encodeAttestation(authData).toString("base64url"),
          transports: ["internal"],
        },
      };
    },
    /** The response to the options of an authentication. */
    authenticate({ challenge }: Options, { isVerified = true, ...page }: Circumstances = {}) {
      const data = clientData("webauthn.get", challenge, page);
      const authenticatorData = header(0x01 | (isVerified ? 0x04 : 0));
      const signed = Buffer.concat([authenticatorData, createHash("sha256").update(data).digest()]);
      return {
        id,
        rawId: id,
        type: "public-key" as const,
        response: {
          clientDataJSON: data.toString("base64url"),
          authenticatorData: authenticatorData.toString("base64url"),
          signature: sign("sha256", signed, privateKey).toString("base64url"),
        },
      };
    },
  };
}

/** The key as CBOR: kty EC2, alg ES256, crv P-256, x, y. */
function encodeCoseKey({ x = "", y = "" }: { readonly x?: string; readonly y?: string }): Buffer {
  const [first, second] = [Buffer.from(x, "base64url"), Buffer.from(y, "base64url")];
  return Buffer.concat([
    Buffer.from("a5010203262001215820", "hex"),
    first,
    Buffer.from("225820", "hex"),
    second,
  ]);
}

/** An attestation object without an attestation, as CBOR. */
function encodeAttestation(authData: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(authData.length);
  const text = (value: string) => Buffer.concat([Buffer.of(0x60 + value.length), Buffer.from(value)]);
  return Buffer.concat([
    Buffer.of(0xa3),
    text("fmt"),
    text("none"),
    text("attStmt"),
    Buffer.of(0xa0),
    text("authData"),
    Buffer.of(0x59),
    length,
    authData,
  ]);
}
