/** A session, as the session route returns it. To declare what Callbacks.Session adds, merge this interface. */
export interface Session {
  user?: { id?: string; name?: string | null; email?: string | null; image?: string | null };
  /** The instant at which the session ends unless it is used again, in ISO 8601. */
  expires: string;
}

export interface Provider {
  id: string;
  name: string;
  type: "oauth" | "oidc" | "email" | "credentials" | "webauthn";
  signinUrl: string;
  callbackUrl: string;
}

export interface SessionState {
  session: Session | null;
  status: "loading" | "authenticated" | "unauthenticated";
  /** Why the last request failed. The session is then the one before that request. */
  error?: Error;
}

export interface RedirectOptions {
  /** Whether the browser opens the next page. The default is true. */
  redirect?: boolean;
  /** The URL of the next page. The default is the current page. */
  redirectTo?: string;
  /** Another name for redirectTo. */
  callbackUrl?: string;
}

/** Options of a sign-in. Any other option is a field of the provider, such as email or password. */
export interface SignInOptions extends RedirectOptions {
  [field: string]: string | boolean | undefined;
}

/** Further parameters of the authorization request of an OAuth provider: a query, an object, or pairs of name and value. */
export type AuthorizationParams = string | Record<string, string> | URLSearchParams | [string, string][];

/** The result of a sign-in or sign-out that does not redirect. */
export interface Outcome {
  /** The type of the failure, such as CredentialsSignin. */
  error: string | undefined;
  /** More about a failure, such as Error.Code of the credentials provider. */
  code: string | undefined;
  status: number;
  ok: boolean;
  /** The URL of the next page, or null after a failure. */
  url: string | null;
}

/** The request failed, or the server returned an error. */
export declare class ClientError extends Error {
  constructor(message: string, status?: number, cause?: unknown);
  /** The status of the response, or 0 if there was none. */
  readonly status: number;
}

export declare function configure(options: { basePath: string }): void;
export declare function getSession(options?: { broadcast?: boolean }): Promise<Session | null>;
export declare function getCsrfToken(): Promise<string>;
export declare function getProviders(): Promise<Record<string, Provider> | null>;
export declare function signIn(provider: string | undefined, options: SignInOptions & { redirect: false }, authorizationParams?: AuthorizationParams): Promise<Outcome | undefined>;
export declare function signIn(provider?: string, options?: SignInOptions, authorizationParams?: AuthorizationParams): Promise<Outcome | undefined>;
export declare function signOut(options: RedirectOptions & { redirect: false }): Promise<Outcome>;
export declare function signOut(options?: RedirectOptions): Promise<Outcome | undefined>;
export declare function update(data?: unknown): Promise<Session | null>;
export declare function signInWithPasskey(provider?: string, options?: SignInOptions): Promise<Outcome | undefined>;
export declare function registerPasskey(provider?: string, options?: SignInOptions): Promise<Outcome | undefined>;

/** Calls back with the session now and after each change, in this tab or in another one. The result stops this. */
export declare function onSession(
  callback: (state: SessionState) => void,
  options?: {
    /** Seconds between requests. By default there are no repeated requests. */
    interval?: number;
    refetchOnFocus?: boolean;
    refetchWhenOffline?: boolean;
  },
): () => void;
