/** A session, as the session route answers it. What Callbacks.Session adds is declared by merging this interface. */
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
  /** Why the last reading failed, if it did; the session is then the one before. */
  error?: Error;
}

export interface RedirectOptions {
  /** Whether the browser goes on; the default is true. */
  redirect?: boolean;
  /** Where to; the default is the present page. */
  redirectTo?: string;
  /** Another name of redirectTo. */
  callbackUrl?: string;
}

/** Options of a sign-in: what is not named here is a field of the provider, such as email or password. */
export interface SignInOptions extends RedirectOptions {
  [field: string]: string | boolean | undefined;
}

/** How a sign-in or sign-out ended that was not to redirect. */
export interface Outcome {
  /** The type of the failure, such as CredentialsSignin. */
  error: string | undefined;
  /** What the server says more of a failure, such as Error.Code of the credentials provider. */
  code: string | undefined;
  status: number;
  ok: boolean;
  /** Where to go; null after a failure. */
  url: string | null;
}

/** A failure on the way to the server, or of the server. */
export declare class ClientError extends Error {
  constructor(message: string, status?: number, cause?: unknown);
  /** The status of the answer; 0 if there was none. */
  readonly status: number;
}

export declare function configure(options: { basePath: string }): void;
export declare function getSession(options?: { broadcast?: boolean }): Promise<Session | null>;
export declare function getCsrfToken(): Promise<string>;
export declare function getProviders(): Promise<Record<string, Provider> | null>;
export declare function signIn(provider: string | undefined, options: SignInOptions & { redirect: false }, authorizationParams?: Record<string, string>): Promise<Outcome | undefined>;
export declare function signIn(provider?: string, options?: SignInOptions, authorizationParams?: Record<string, string>): Promise<Outcome | undefined>;
export declare function signOut(options: RedirectOptions & { redirect: false }): Promise<Outcome>;
export declare function signOut(options?: RedirectOptions): Promise<Outcome | undefined>;
export declare function update(data?: unknown): Promise<Session | null>;
export declare function signInWithPasskey(provider?: string, options?: SignInOptions): Promise<Outcome | undefined>;
export declare function registerPasskey(provider?: string, options?: SignInOptions): Promise<Outcome | undefined>;

/** Calls back with the session now and whenever it changes, here or in another tab; the result ends it. */
export declare function onSession(
  callback: (state: SessionState) => void,
  options?: {
    /** Seconds between readings; the default is none. */
    interval?: number;
    refetchOnFocus?: boolean;
    refetchWhenOffline?: boolean;
  },
): () => void;
