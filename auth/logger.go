package auth

import (
	"context"
	"log/slog"
)

// logError records an error in full. Errors hold no secrets. What a client
// brings about by itself is a warning.
func (e *engine) logError(ctx context.Context, err error) {
	level := slog.LevelError
	if t, ours := typeOf(err); ours && (t.shownToClient() || t == ErrUnknownAction || t == ErrInvalidCallbackURL) {
		level = slog.LevelWarn
	}
	e.log.LogAttrs(ctx, level, "auth: request failed", slog.Any("error", err))
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
	for _, s := range c.Secret {
		if len(s) < minSecret {
			e.log.WarnContext(ctx, "auth: short-secret: a secret has fewer than 32 characters")
			break
		}
	}
}

// minSecret is how long a secret should be. Specification section 5.
const minSecret = 32

// debugging is a handler that lets debug records through.
type debugging struct{ slog.Handler }

func (debugging) Enabled(context.Context, slog.Level) bool { return true }
