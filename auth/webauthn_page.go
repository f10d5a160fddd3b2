package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// PasskeysPage is a page on which users see their passkeys, and add, rename and
// remove them. Mount it at any path of the site; a user who is not signed in is
// sent to the sign-in page first. A POST must carry our CSRF token, or come
// from a page of the site. An application with a page of its own can call
// Passkeys, RenamePasskey and RemovePasskey.
func (h *Handler) PasskeysPage() http.Handler {
	return h.Require(http.HandlerFunc(h.servePasskeys))
}

func (h *Handler) servePasskeys(w http.ResponseWriter, hr *http.Request) {
	e, ctx := h.engine, hr.Context()
	r := e.newRequest(hr, ActionSession)
	current, err := e.currentUser(ctx, e.browser(ctx, r))
	switch {
	case err != nil:
		e.logError(ctx, err)
		e.look.unavailable(w, hr)
		return
	case current.record == nil:
		h.SendToSignIn(w, hr)
		return
	}
	page := pages.Passkeys{Look: e.look.of(hr), HomeURL: e.config.home(r.origin), AuthURL: r.origin + e.basePath}
	for _, p := range e.config.Providers {
		if p, ok := p.(*WebAuthn); ok && page.Provider == "" {
			page.Provider = p.id()
			if rp, err := e.relyingParty(ctx, r, p); err == nil {
				page.RPID = rp.ID
			}
		}
	}
	status := http.StatusOK
	switch hr.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPost:
		if status = e.changePasskey(ctx, r, current.id(), &page); status == http.StatusForbidden {
			e.look.refuse(w, hr, status)
			return
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		e.look.refuse(w, hr, http.StatusMethodNotAllowed)
		return
	}
	list, err := passkeysOf(ctx, e.store, current.id())
	if err != nil {
		e.logError(ctx, err)
		e.look.unavailable(w, hr)
		return
	}
	for _, p := range list {
		page.List = append(page.List, pages.Passkey{ID: p.ID, Name: p.Name, Created: day(p.Created), LastUsed: day(p.LastUsed), BackedUp: p.BackedUp, Syncable: p.Syncable})
	}
	if page.CSRFToken, err = h.CSRFToken(w, hr); err != nil {
		e.logError(ctx, err)
		e.look.unavailable(w, hr)
		return
	}
	result := html(page.Render(), status)
	result.Header["Cache-Control"] = noCache
	result.Send(w)
}

// day is a date as the page shows it, empty if it is not known.
func day(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}

// changePasskey makes the change that a POST asks for, and puts the outcome
// into page. It returns the status of the response.
func (e *engine) changePasskey(ctx context.Context, r *request, userID string, page *pages.Passkeys) int {
	t := &page.Look.T.Passkeys
	if err := r.readBody(e.config.MaxBodySize); err != nil {
		page.Error = t.Errors.Unreadable
		return http.StatusBadRequest
	}
	spec := &r.specs.CSRF
	c, _, err := wire.CheckCSRF(e.csrfKeys, e.config.Random, spec, r.cookies.Get(spec.Name), r.method, r.form.Get("csrfToken"))
	if err != nil || !c.Verified {
		if err := e.site.sameOrigin(r.http); err != nil {
			e.logError(ctx, err)
			return http.StatusForbidden
		}
	}
	id := r.form.Get("id")
	if r.form.Get("op") == "remove" && r.form.Get("confirmed") == "" {
		page.Asks = id
		return http.StatusOK
	}
	switch r.form.Get("op") {
	case "rename":
		err = renamePasskey(ctx, e.store, userID, id, r.form.Get("name"))
		page.Notice = t.Renamed
	case "remove":
		err = removePasskey(ctx, &e.config, e.store, userID, id)
		page.Notice, page.Forget = t.Removed, base64URL(id)
	default:
		err = errUnknownOperation
	}
	if err == nil {
		return http.StatusOK
	}
	page.Notice, page.Forget = "", ""
	switch {
	case errors.Is(err, adapter.ErrLastCredential):
		page.Error = t.Errors.OnlyWay
		return http.StatusConflict
	case errors.Is(err, adapter.ErrNotFound):
		page.Error = t.Errors.NotFound
		return http.StatusNotFound
	case errors.Is(err, adapter.ErrUnsupported):
		page.Error = t.Errors.CannotChange
		return http.StatusNotImplemented
	case errors.Is(err, errPasskeyName):
		page.Error = t.Errors.BadName
		return http.StatusBadRequest
	case errors.Is(err, errUnknownOperation):
		page.Error = t.Errors.Unreadable
		return http.StatusBadRequest
	}
	e.logError(ctx, err)
	page.Error = t.Errors.NotDone
	return http.StatusServiceUnavailable
}

var errUnknownOperation = errors.New("auth: the operation is neither rename nor remove")
