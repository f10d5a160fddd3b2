// Sign-in from scripts of a page: a client for the routes of Gatehouse or Auth.js. The types stand in gatehouse.d.ts.

let base = "/auth";
let known; // the last session that was read; undefined before the first
let failure; // why the last reading failed, if it did
let reading; // the reading that began last, while it is under way
let next; // the reading that is about to begin
const listeners = new Set();
const json = { "Content-Type": "application/json" };
const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel("next-auth") : undefined;

/** Sets the path that the routes are below; the default is /auth. */
export function configure({ basePath }) {
  base = "/" + basePath.replace(/^\/+|\/+$/g, "");
}

async function request(path, init) {
  const response = await fetch(base + path, { credentials: "same-origin", ...init }).catch((cause) => {
    throw new ClientError(`${path}: no answer`, 0, cause);
  });
  const { status, ok } = response;
  const body = await response.json().catch(() => undefined);
  if (!ok || body === undefined) throw new ClientError(body?.message ?? `${path}: status ${status}`, status);
  return body;
}

/** A failure on the way to the server, or of the server; status is 0 if there was no answer. */
export class ClientError extends Error {
  constructor(message, status = 0, cause) {
    super(message, { cause });
    this.name = "ClientError";
    this.status = status;
  }
}

const post = async (path, fields) =>
  request(path, {
    method: "POST",
    headers: { "X-Auth-Return-Redirect": "1" },
    body: new URLSearchParams({ ...fields, csrfToken: await getCsrfToken() }),
  });

const orElse = (otherwise) => (error) => {
  console.error("[gatehouse]", error);
  return otherwise;
};

/** The CSRF token of this browser, or "" if the server gave none. */
export const getCsrfToken = () => request("/csrf").then((v) => v.csrfToken, orElse(""));

/** The providers by ID, or null if the server did not answer. */
export const getProviders = () => request("/providers").catch(orElse(null));

/** The session, or null if nobody is signed in or the server did not answer. Other tabs hear of it. */
export async function getSession({ broadcast = true } = {}) {
  const session = await refresh().catch(orElse(null));
  if (broadcast) tell("getSession");
  return session;
}

const tell = (trigger) => channel?.postMessage({ event: "session", data: { trigger } });

/** Reads the session. Readings that are asked for together are one. */
const refresh = () => (next ??= Promise.resolve().then(() => {
  next = undefined;
  return take(() => request("/session"));
}));

/** Takes a session from the server. An answer that a later reading has overtaken does not count. */
async function take(how) {
  const mine = (reading = {});
  try {
    const session = await how();
    settle(mine, session);
    return session;
  } catch (error) {
    settle(mine, known, error);
    throw error;
  }
}

function settle(mine, session, error) {
  if (reading !== mine) return;
  [reading, known, failure] = [undefined, session, error];
  for (const listener of [...listeners]) listener(state());
}

const state = () => ({
  session: known ?? null,
  status: known === undefined ? "loading" : known ? "authenticated" : "unauthenticated",
  error: failure,
});

/**
 * Calls back with the session now and whenever it changes, here or in another tab, and returns the function that ends it.
 * A server that can't be reached signs nobody out: the session stays, and error says why it may be old.
 */
export function onSession(callback, { interval = 0, refetchOnFocus = true, refetchWhenOffline = true } = {}) {
  const again = () => {
    if (refetchWhenOffline || navigator.onLine) refresh().catch(() => {});
  };
  const seen = () => refetchOnFocus && document.visibilityState === "visible" && again();
  const heard = ({ data }) => data?.event === "session" && again();
  listeners.add(callback);
  document.addEventListener("visibilitychange", seen);
  addEventListener("online", again);
  channel?.addEventListener("message", heard);
  const timer = interval > 0 ? setInterval(again, interval * 1000) : undefined;
  callback(state());
  if (!reading) again();
  return () => {
    listeners.delete(callback);
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", again);
    channel?.removeEventListener("message", heard);
    clearInterval(timer);
  };
}

/** Asks the server to change the session, or, without data, just reads it again. Other tabs hear of it. */
export async function update(data) {
  const body = async () => JSON.stringify({ csrfToken: await getCsrfToken(), data });
  const how = async () => request("/session", { method: "POST", body: await body(), headers: json });
  const session = await (data === undefined ? refresh() : take(how)).catch(orElse(null));
  tell("getSession");
  return session;
}

function go(url) {
  location.href = url;
  if (url.includes("#")) location.reload(); // else the browser stays on the page
}

/** Where a sign-in or sign-out ends, and what it says of a failure. */
async function outcome(send, redirect, to, trigger) {
  const { url = to } = await send();
  if (trigger) tell(trigger);
  if (redirect) return go(url);
  const parameters = new URL(url, location.href).searchParams;
  const error = parameters.get("error") ?? undefined;
  await getSession();
  return { error, code: parameters.get("code") ?? undefined, status: 200, ok: true, url: error ? null : url };
}

/** Signs in with a provider; without one, or with an unknown one, it leads to the sign-in page. */
export async function signIn(provider, options = {}, authorizationParams = {}) {
  const { redirect = true, callbackUrl, redirectTo = callbackUrl ?? location.href, ...fields } = options;
  const providers = await getProviders();
  if (!providers) return go(`${base}/error`);
  const type = Object.hasOwn(providers, provider ?? "") ? providers[provider].type : undefined;
  if (!type) return go(`${base}/signin?${new URLSearchParams({ callbackUrl: redirectTo })}`);
  if (type === "webauthn") return passkey("authenticate", provider, options);
  const route = type === "credentials" ? "callback" : "signin";
  const send = () => post(`/${route}/${provider}?${new URLSearchParams(authorizationParams)}`, { ...fields, callbackUrl: redirectTo });
  return outcome(send, redirect, redirectTo);
}

/** Signs out. */
export function signOut({ redirect = true, callbackUrl, redirectTo = callbackUrl ?? location.href } = {}) {
  return outcome(() => post("/signout", { callbackUrl: redirectTo }), redirect, redirectTo, "signout");
}

/** Signs in with a passkey, or with the one that the browser offers. */
export const signInWithPasskey = (provider = "passkey", options) => passkey("authenticate", provider, options);

/** Makes a passkey: for who is signed in, or for a new user, whose address is the option email. */
export const registerPasskey = (provider = "passkey", options) => passkey("register", provider, options);

async function passkey(action, provider, { redirect = true, callbackUrl, redirectTo = callbackUrl ?? location.href, ...fields } = {}) {
  const { begin, ask, finish } = await import("./passkey.js");
  const send = async () => {
    const started = await begin(base, provider, { action, fields });
    const data = await ask(started);
    const sent = { ...fields, callbackUrl: redirectTo, csrfToken: await getCsrfToken() };
    return { url: await finish(base, provider, started, data, { fields: sent }) };
  };
  return outcome(send, redirect, redirectTo);
}
