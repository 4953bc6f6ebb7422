// An OpenID provider for the tests: `node provider.mjs MODULE PORT METHOD`, where MODULE is the folder of the package
// oidc-provider, PORT may be 0, and METHOD is how clients say their secrets. It prints its port when it listens. Each
// start has a key of its own.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [, , folder, port, method] = process.argv;
const { Provider } = await import(pathToFileURL(`${folder}/lib/index.js`));

const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
const resource = "https://fathom.test/api";

const server = createServer();
await new Promise((resolve) => server.listen(Number(port), "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const roles = (id) => (id === "root" ? ["staff", "fathom:admin"] : id === "reader" ? ["fathom:read"] : ["staff"]);

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "fathom",
      client_secret: "a secret of the page",
      token_endpoint_auth_method: method,
      redirect_uris: ["http://127.0.0.1/auth/callback"],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
    {
      client_id: "program",
      client_secret: "a secret of a program",
      token_endpoint_auth_method: method,
      redirect_uris: [],
      grant_types: ["client_credentials"],
      response_types: [],
    },
  ],
  clientAuthMethods: [method],
  jwks: { keys: [{ ...key, kid: randomUUID(), use: "sig", alg: "RS256" }] },
  cookies: { keys: ["for the tests alone"] },
  pkce: { required: () => true },
  conformIdTokenClaims: false,
  claims: { openid: ["sub", "roles"] },
  findAccount: (_context, id) => ({ accountId: id, claims: async () => ({ sub: id, roles: roles(id) }) }),
  extraTokenClaims: (_context, token) => ({ roles: roles(token.clientId) }),
  ttl: { ClientCredentials: 600, IdToken: 600 },
  features: {
    devInteractions: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        scope: "api",
        audience: resource,
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
});
server.on("request", provider.callback());
// Nobody reads more than the port: what the package says goes nowhere, and does not end the process.
process.stdout.on("error", () => {});
process.stdout.write(`${server.address().port}\n`);
console.log = console.info = console.error;
