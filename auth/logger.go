package auth

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// logError logs an error in full; errors hold no secrets. An error that the
// client itself caused is logged as a warning. Ctx is the context of the
// request.
func (e *engine) logError(ctx context.Context, err error) {
	level := slog.LevelError
	switch t, ours := typeOf(err); {
	case clientLeft(ctx, err):
		level = slog.LevelWarn
	case t == ErrAccessDenied && deniedByFailure(err):
	case ours && (t.shownToClient() || t == ErrUnknownAction || t == ErrInvalidCallbackURL || t == ErrUntrustedHost || t == ErrRecipientRefused || ofClient(err)):
		level = slog.LevelWarn
	}
	e.log.LogAttrs(ctx, level, "auth: request failed", slog.Any("error", err))
}

// clientLeft reports whether an error was caused by a client that did not wait
// for the response, for example because the user left the page. It is false if
// the store failed for another reason at that time, or if the store canceled
// the call by itself.
func clientLeft(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled)
}

// deniedByFailure reports whether a sign-in was denied because a callback
// failed, and not because the callback refused it. It is false if the client
// went away.
func deniedByFailure(err error) bool {
	denied, ok := errors.AsType[*Error](err)
	if !ok || denied.Cause == nil || errors.Is(err, context.Canceled) {
		return false
	}
	_, ours := typeOf(denied.Cause)
	return !ours
}

// ofClient reports whether an error, or what caused it, was caused by the
// client.
func ofClient(err error) bool {
	for e, ok := errors.AsType[*Error](err); ok; e, ok = errors.AsType[*Error](e.Cause) {
		if e.client {
			return true
		}
	}
	return false
}

// debug logs a step, with the message that Auth.js logs for it. Unlike in
// Auth.js, the attributes hold no secrets: they give the names of providers,
// cookies, parameters and endpoints, but not their values.
func (e *engine) debug(ctx context.Context, message string, attrs ...slog.Attr) {
	if e.log.Enabled(ctx, slog.LevelDebug) {
		e.log.LogAttrs(ctx, slog.LevelDebug, "auth: "+message, attrs...)
	}
}

// names returns the names of parameters or claims, for the log.
func names[V any](m map[string]V) slog.Attr {
	return slog.Any("names", slices.Sorted(maps.Keys(m)))
}

// warnAtStart logs a warning for each setting that works but should not be
// kept.
func (e *engine) warnAtStart(ctx context.Context) {
	c := &e.config
	if c.Debug {
		e.log.WarnContext(ctx, "auth: debug-enabled: Config.Debug is set")
	}
	if c.Experimental.EnableWebAuthn {
		e.log.WarnContext(ctx, "auth: experimental-webauthn: WebAuthn may change or be removed without notice")
	}
	if names := c.signUpsWithoutEmail(); len(names) > 0 && e.store.requiresEmail() {
		e.log.WarnContext(ctx, "auth: email-required: the adapter refuses users without an e-mail address, so nobody can sign up with the providers "+
			strings.Join(names, ", ")+": let the tables accept users without an address, or let the provider's profile or form have one")
	}
	if c.DangerouslyAcceptShortSecrets {
		e.log.WarnContext(ctx, "auth: short-secret: secrets of fewer than 32 characters are accepted")
	}
}

// debugging is a handler that lets debug records through.
type debugging struct{ slog.Handler }

func (debugging) Enabled(context.Context, slog.Level) bool { return true }
