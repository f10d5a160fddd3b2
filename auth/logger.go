package auth

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
)

// logError records an error in full. Errors hold no secrets. What a client
// brings about by itself is a warning. Ctx is the context of the request.
func (e *engine) logError(ctx context.Context, err error) {
	level := slog.LevelError
	switch t, ours := typeOf(err); {
	case clientLeft(ctx, err):
		level = slog.LevelWarn
	case t == ErrAccessDenied && deniedByFailure(err):
	case ours && (t.shownToClient() || t == ErrUnknownAction || t == ErrInvalidCallbackURL || t == ErrUntrustedHost || ofClient(err)):
		level = slog.LevelWarn
	}
	e.log.LogAttrs(ctx, level, "auth: request failed", slog.Any("error", err))
}

// clientLeft reports whether an error comes from a client that did not wait for the
// answer, such as somebody who left the page. A store that fails for another reason
// at that time does not count, nor does one that cancels by itself.
func clientLeft(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled)
}

// deniedByFailure reports whether a callback did not decide against a sign-in, but
// failed. A client that went away is not a failure.
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

// debug tells what goes on, under the message of Auth.js. Unlike there, the attributes hold no secrets: they name
// providers, cookies, parameters and endpoints, not what is in them.
func (e *engine) debug(ctx context.Context, message string, attrs ...slog.Attr) {
	if e.log.Enabled(ctx, slog.LevelDebug) {
		e.log.LogAttrs(ctx, slog.LevelDebug, "auth: "+message, attrs...)
	}
}

// names are those of parameters or claims, for the log.
func names[V any](m map[string]V) slog.Attr {
	return slog.Any("names", slices.Sorted(maps.Keys(m)))
}

// warnAtStart tells about settings that work but should not stay.
func (e *engine) warnAtStart(ctx context.Context) {
	c := &e.config
	if c.Debug {
		e.log.WarnContext(ctx, "auth: debug-enabled: Config.Debug is set")
	}
	if c.Experimental.EnableWebAuthn {
		e.log.WarnContext(ctx, "auth: experimental-webauthn: WebAuthn may change or go without notice")
	}
	if c.DangerouslyAcceptShortSecrets {
		e.log.WarnContext(ctx, "auth: short-secret: secrets of fewer than 32 characters are accepted")
	}
}

// debugging is a handler that lets debug records through.
type debugging struct{ slog.Handler }

func (debugging) Enabled(context.Context, slog.Level) bool { return true }
