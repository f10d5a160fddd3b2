// Sign-in from the scripts of a page: a client for the routes of Gatehouse or Auth.js. gatehouse.d.ts declares the types.

let base = "/auth";
let known; // the last session that was read; undefined before the first
let failure; // why the last reading failed, if it did
let reading; // the reading that began last, while it is under way
let next; // the reading that is about to begin
const listeners = new Set();
const json = { "Content-Type": "application/json" };
const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel("next-auth") : undefined;

/** Sets the base path of the routes. The default is /auth. */
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

/** The request failed, or the server returned an error. status is 0 if there was no response. */
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

/** Returns the CSRF token of this browser, or "" if the server returned none. */
export const getCsrfToken = () => request("/csrf").then((v) => v.csrfToken, orElse(""));

/** Returns the providers by ID, or null if the server did not respond. */
export const getProviders = () => request("/providers").catch(orElse(null));

/** Returns the session, or null if nobody is signed in or the server did not respond. Notifies other tabs. */
export async function getSession({ broadcast = true } = {}) {
  const session = await refresh().catch(orElse(null));
  if (broadcast) tell("getSession");
  return session;
}

const tell = (trigger) => channel?.postMessage({ event: "session", data: { trigger } });

/** Requests the session. Concurrent calls share one request. */
const refresh = () => (next ??= Promise.resolve().then(() => {
  next = undefined;
  return take(() => request("/session"));
}));

/** Stores a session from the server. Ignores a response if a later request has already been answered. */
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
 * Calls back with the session now and after each change, in this tab or in another one. Returns a function that stops this.
 * If the server can't be reached, the user stays signed in: the session is unchanged, and error says why it may be out of date.
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

/** Requests that the server change the session. Without data, reads it again. Notifies other tabs. */
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

/** Returns the URL at which a sign-in or sign-out ends, and the error in it. */
async function outcome(send, redirect, to, trigger) {
  const { url = to } = await send();
  if (trigger) tell(trigger);
  if (redirect) return go(url);
  const parameters = new URL(url, location.href).searchParams;
  const error = parameters.get("error") ?? undefined;
  await getSession();
  return { error, code: parameters.get("code") ?? undefined, status: 200, ok: true, url: error ? null : url };
}

/** Signs in with a provider. Without one, or with an unknown one, opens the sign-in page. */
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

/** Signs in with a passkey that the user selects, or with the one that the browser offers. */
export const signInWithPasskey = (provider = "passkey", options) => passkey("authenticate", provider, options);

/** Creates a passkey for the user who is signed in, or for a new user with the address in the option email. */
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
