// Package frameworks holds five integrations of package auth, each in the shape
// of a family of web frameworks: MiddlewareAuth, FullstackAuth, ResumableAuth,
// ReactiveAuth and CompiledUIAuth. docs/frameworks.md says which is for whom,
// and what each promises, sentence by sentence.
//
// All stand on one core and none has a rule of its own: sessions are read by
// auth.Handler.Load and found by auth.FromContext, sign-in and sign-out are
// those of auth.Handler, visitors are sent to the sign-in page by
// auth.Handler.SendToSignIn, and a POST that changes something passes
// auth.Handler.MayChange. An event is an *http.Request, a hook is a
// func(http.Handler) http.Handler, and no ResponseWriter is wrapped, so that
// flushing, hijacking and pushing work as before.
//
// A store that can't be asked is never "nobody": what reads a session returns
// the error, and a hook answers with status 503, or as OnError says.
package frameworks
