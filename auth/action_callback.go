package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
)

// callback serves GET and POST callback: it ends a sign-in. Errors that are not
// of this package are wrapped in ErrCallbackRoute, so that the log names the
// provider.
func (e *engine) callback(ctx context.Context, r *request) (*Result, error) {
	result, err := e.callbackOf(ctx, r)
	if err == nil {
		return result, nil
	}
	if _, ours := typeOf(err); ours {
		return nil, err
	}
	e.debug(ctx, "callback route error details", slog.String("provider", r.providerID), slog.String("method", r.method), names(r.query))
	_, mistake := errors.AsType[oauth.Mistake](err)
	return nil, &Error{Type: ErrCallbackRoute, Message: "provider " + r.providerID, Cause: outageOf(err), client: mistake}
}

func (e *engine) callbackOf(ctx context.Context, r *request) (*Result, error) {
	if r.method == http.MethodPost && r.form.Get("startAfresh") != "" && r.form.Get(hopField) == "" {
		return e.startAfresh(ctx, r)
	}
	switch p := r.provider.(type) {
	case *OAuth:
		return e.callbackOAuth(ctx, r, p)
	case *Email:
		return e.callbackEmail(ctx, r, p)
	case *Credentials:
		if r.method == http.MethodPost {
			return e.callbackCredentials(ctx, r, p)
		}
	case *Password:
		if r.method == http.MethodPost {
			return passwordFlow{e, r, p}.signIn(ctx)
		}
	case *WebAuthn:
		if r.method == http.MethodPost {
			return e.callbackWebAuthn(ctx, r, p)
		}
	case nil:
		return nil, &Error{Type: ErrInvalidProvider, Message: "the callback route needs the ID of a provider", client: true}
	}
	return nil, &Error{Type: ErrInvalidProvider, Message: "the callback route of " + r.providerID + " accepts POST only", client: true}
}
