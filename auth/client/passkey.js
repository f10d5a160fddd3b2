// Passkeys in the browser: the WebAuthn ceremonies between an authenticator and the
// routes webauthn-options and callback of Gatehouse or Auth.js. The sign-in page
// contains this module; other pages import it.

const encode = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const decode = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));

const credentials = () => (typeof PublicKeyCredential === "function" && navigator.credentials ? PublicKeyCredential : undefined);

/** Reports whether the browser supports WebAuthn. */
export const supportsPasskeys = () => Boolean(credentials());

/** Reports whether the browser offers passkeys in the autofill of a field. */
export async function supportsAutofill() {
  try {
    return Boolean(await credentials()?.isConditionalMediationAvailable?.());
  } catch {
    return false;
  }
}

const descriptors = (list) => list?.map((c) => ({ ...c, id: decode(c.id) }));

/** Returns the argument publicKey of navigator.credentials.create for the server's options, in which the user ID is a text. */
export function creationOptions(options) {
  const json = { ...options, user: { ...options.user, id: encode(new TextEncoder().encode(options.user.id)) } };
  try {
    return PublicKeyCredential.parseCreationOptionsFromJSON(json);
  } catch {
    // The browser lacks the function, or does not know a value.
    return {
      ...json,
      challenge: decode(json.challenge),
      user: { ...json.user, id: decode(json.user.id) },
      excludeCredentials: descriptors(json.excludeCredentials),
    };
  }
}

/** Returns the argument publicKey of navigator.credentials.get for the server's options. */
export function requestOptions(options) {
  try {
    return PublicKeyCredential.parseRequestOptionsFromJSON(options);
  } catch {
    return { ...options, challenge: decode(options.challenge), allowCredentials: descriptors(options.allowCredentials) };
  }
}

/** Returns a credential as the JSON that the server expects. */
export function credentialToJSON(credential) {
  try {
    return JSON.parse(JSON.stringify(credential.toJSON()));
  } catch {
    // The browser lacks the function, or a password manager breaks it.
  }
  const { id, type, rawId, response: r, authenticatorAttachment } = credential;
  const response = { clientDataJSON: encode(r.clientDataJSON) };
  if (r.attestationObject) {
    response.attestationObject = encode(r.attestationObject);
    response.transports = r.getTransports?.() ?? [];
  } else {
    response.authenticatorData = encode(r.authenticatorData);
    response.signature = encode(r.signature);
    if (r.userHandle) response.userHandle = encode(r.userHandle);
  }
  const json = { id, rawId: encode(rawId), type, response, clientExtensionResults: credential.getClientExtensionResults?.() ?? {} };
  if (authenticatorAttachment) json.authenticatorAttachment = authenticatorAttachment;
  return json;
}

/**
 * Begins a ceremony. action is register or authenticate; without it, the server decides.
 * fields are the fields of the form, such as email.
 */
export async function begin(authURL, provider, { action, fields = {}, signal } = {}) {
  const query = new URLSearchParams(fields);
  if (action) query.set("action", action);
  const response = await fetch(`${authURL}/webauthn-options/${provider}?${query}`, { headers: { Accept: "application/json" }, signal });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok || !answer.options) throw new PasskeyError(response.status === 429 ? "limited" : "options", answer.error);
  return answer;
}

/** Calls the authenticator, and returns its response as JSON. */
export async function ask({ action, options }, { mediation, signal } = {}) {
  const credential =
    action === "register"
      ? await navigator.credentials.create({ publicKey: creationOptions(options), signal })
      : await navigator.credentials.get({ publicKey: requestOptions(options), mediation, signal });
  return credentialToJSON(credential);
}

/**
 * Ends a ceremony and returns the URL to open. Passes the server's list of the user's passkeys on to the browser, so
 * that it removes those that were deleted.
 */
export async function finish(authURL, provider, { action, options }, data, { fields = {} } = {}) {
  const body = new URLSearchParams({ ...fields, action, data: JSON.stringify(data) });
  if (credentials()?.signalAllAcceptedCredentials) body.set("signal", "1");
  const response = await fetch(`${authURL}/callback/${provider}`, { method: "POST", headers: { "X-Auth-Return-Redirect": "1" }, body });
  const answer = await response.json().catch(() => ({}));
  if (!answer.url) throw new PasskeyError(response.status === 429 ? "limited" : "callback");
  try {
    if (answer.signal) await credentials().signalAllAcceptedCredentials?.(answer.signal);
    else if (answer.url.includes("code=unknown")) await forget(options.rpId, data.id);
  } catch (error) {
    console.debug("passkeys: the browser took no signal", error);
  }
  return answer.url;
}

/** Tells the browser that the site does not know a passkey, if the browser has the function for it. */
export const forget = (rpId, credentialId) => credentials()?.signalUnknownCredential?.({ rpId, credentialId });

/** A request to the server failed. code is options, callback or limited. */
export class PasskeyError extends Error {
  constructor(code, message) {
    super(message ?? code);
    this.code = code;
  }
}

/** The sentences about failures, in English. The built-in pages bring their own in data-passkey-texts. */
export const texts = {
  limited: "There were too many tries. Wait a little.",
  notUsed: "No passkey was used. Try again, or create one if you have none.",
  notCreated: "No passkey was created. Try again.",
  exists: "This device has a passkey for this site already. Sign in with it.",
  wrongSite: "Passkeys do not work at this address of the site.",
  notSupported: "This device has no passkeys of a kind that the site takes.",
  failed: "That did not work. Reload the page and try again.",
};

const textsOf = (element) => ({ ...texts, ...JSON.parse(element.dataset.passkeyTexts ?? "{}") });

/** Returns the message about a failure for the user, or nothing if the user canceled. */
export function explain(error, action, say = texts) {
  if (error.code === "limited") return say.limited;
  switch (error.name) {
    case "AbortError":
      return "";
    case "NotAllowedError":
      return action === "register" ? say.notCreated : say.notUsed;
    case "InvalidStateError":
      return say.exists;
    case "SecurityError":
      return say.wrongSite;
    case "NotSupportedError":
      return say.notSupported;
    default:
      return say.failed;
  }
}

/** Tells the browser about a passkey that was just deleted, if the page names one. */
export async function forgetRemoved(root = document) {
  const removed = root.querySelector("[data-forget]");
  try {
    if (removed?.dataset.rpId) await forget(removed.dataset.rpId, removed.dataset.forget);
  } catch (error) {
    console.debug("passkeys: the browser took no signal", error);
  }
}

/** How long the challenge for the autofill is used. The server accepts it for 15 minutes. */
const renewAfter = 10 * 60 * 1000;

/**
 * Makes a form of the sign-in page work. It posts to callback/ID, and its inputs have the attribute data-form-field.
 * A form that also serves another way to sign in has the URL callback/ID in data-passkey; only its buttons with
 * data-passkey-action then use a passkey.
 * With data-conditional, the autofill offers passkeys, too.
 */
export function enhance(form, { go = (url) => location.assign(url) } = {}) {
  const shared = Boolean(form.dataset.passkey);
  if (!supportsPasskeys()) {
    if (!shared) form.hidden = true;
    return;
  }
  form.hidden = false;
  const [, authURL, provider] = (form.dataset.passkey || form.action).match(/^(.*)\/callback\/([^/?#]+)/);
  const inputs = [...form.querySelectorAll("input[data-form-field]")];
  const values = (list) => Object.fromEntries(list.filter((i) => i.name).map((i) => [i.name, i.value]));
  const message = form.querySelector("[data-passkey-message]");
  const tell = (text) => {
    if (message) message.textContent = text;
    if (message) message.hidden = !text;
  };
  if (!shared) form.noValidate = true; // who signs in needs to type nothing

  let offer;
  const withdraw = () => {
    offer?.abort();
    offer = undefined;
  };

  async function run(action, options) {
    const started = await begin(authURL, provider, { action, fields: values(inputs), ...options });
    if (started.action === "register" && !inputs.every((i) => i.reportValidity())) return;
    const data = await ask(started, options);
    const sent = [...form.querySelectorAll("input")].filter((i) => i.type !== "password" && i.type !== "checkbox");
    go(await finish(authURL, provider, started, data, { fields: values(sent) }));
  }

  async function makeOffer() {
    if (form.dataset.conditional === undefined || !(await supportsAutofill())) return;
    withdraw();
    const mine = (offer = new AbortController());
    const timer = setTimeout(() => mine === offer && makeOffer(), renewAfter);
    try {
      await run("authenticate", { mediation: "conditional", signal: mine.signal });
    } catch (error) {
      if (error.name !== "AbortError") console.debug("passkeys: the offer in the autofill ended", error);
    } finally {
      clearTimeout(timer);
    }
  }

  let busy = false;
  async function use(action) {
    if (busy) return;
    busy = true;
    withdraw();
    tell("");
    try {
      await run(action);
    } catch (error) {
      console.debug("passkeys:", error);
      tell(explain(error, action, textsOf(form)));
      makeOffer();
    } finally {
      busy = false;
    }
  }

  form.addEventListener("submit", (event) => {
    if (shared && event.submitter?.dataset.passkeyAction === undefined) return;
    event.preventDefault();
    use(event.submitter?.dataset.passkeyAction);
  });
  for (const button of form.querySelectorAll("button[data-passkey-action]")) button.hidden = false;
  addEventListener("pageshow", (event) => event.persisted && makeOffer());
  makeOffer();
}

/** Makes a button add a passkey for the user who is signed in: data-passkey-add is the auth URL, data-provider the ID. */
export function enhanceAdd(button, { go = () => location.reload() } = {}) {
  button.hidden = !supportsPasskeys();
  button.addEventListener("click", async () => {
    const { passkeyAdd: authURL, provider } = button.dataset;
    const message = document.querySelector("[data-passkey-message]");
    try {
      const started = await begin(authURL, provider, { action: "register" });
      const url = await finish(authURL, provider, started, await ask(started));
      if (url.includes("error=")) location.assign(url);
      else go(url);
    } catch (error) {
      if (message) message.textContent = explain(error, "register", textsOf(button));
      if (message) message.hidden = false;
    }
  });
}
