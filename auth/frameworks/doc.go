// Package frameworks holds five integrations of package auth, each for one
// family of web frameworks: MiddlewareAuth, FullstackAuth, ResumableAuth,
// ReactiveAuth and CompiledUIAuth. docs/frameworks.md says which one to choose,
// and lists the promises of each, sentence by sentence. All except FullstackAuth
// are experimental: their interface will change. FullstackAuth is not, but its
// method UnstableUpdate may change.
//
// All use the same core, and none has rules of its own: auth.Handler.Load reads
// a session, auth.FromContext finds it, auth.Handler signs in and out,
// auth.Handler.SendToSignIn sends visitors to the sign-in page, and
// auth.Handler.MayChange checks every POST that changes something. An event is
// an *http.Request, and a hook is a func(http.Handler) http.Handler. The
// ResponseWriter of a hook keeps what was made with a session out of shared
// caches, see auth.KeepPrivate; flushing, hijacking and pushing work as before.
//
// A failure of the store never means "nobody is signed in". A function that
// reads a session returns the error. A hook answers with status 503, or calls
// OnError.
package frameworks
