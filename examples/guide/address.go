package guide

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var addressPage = template.Must(template.New("").Parse(`<form method="POST" action="/address/{{.Do}}">
<input type="hidden" name="csrfToken" value="{{.CSRF}}">
<input type="hidden" name="token" value="{{.Token}}">
<input type="email" name="address" value="{{.Address}}" required> <button>Change the address</button>
</form>
`))

// addresses lets users change their addresses.
type addresses struct {
	gate  *auth.Handler // with StrategyDatabase
	store adapter.Adapter
	site  string // such as https://example.com
	mail  func(ctx context.Context, to, text string) error
}

// routes returns the pages. GET changes nothing, so a program that follows links spends
// nothing.
func (a *addresses) routes() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /address", a.gate.Require(a.page("ask")))
	mux.Handle("POST /address/ask", a.gate.Require(http.HandlerFunc(a.ask)))
	mux.Handle("GET /address/confirm", a.gate.Require(a.page("confirm")))
	mux.Handle("POST /address/confirm", a.gate.Require(http.HandlerFunc(a.confirm)))
	return mux
}

func (a *addresses) page(do string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		csrf, err := a.gate.CSRFToken(w, r)
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		q := r.URL.Query()
		_ = addressPage.Execute(w, map[string]string{
			"Do": do, "CSRF": csrf, "Token": q.Get("token"), "Address": q.Get("address"),
		})
	})
}

// pending is the verification token of a change: only the session that asked for it, with
// the token of the mail, makes the same one. No sign-in uses such a token.
func (a *addresses) pending(
	r *http.Request, user, address, token string,
) (key adapter.VerificationTokenKey, err error) {
	sessions, err := a.gate.Sessions(r)
	if err != nil {
		return key, err
	}
	for _, s := range sessions {
		if s.Current {
			hash := sha256.Sum256([]byte(strings.Join([]string{"change of address", s.ID, address, token}, "\x00")))
			return adapter.VerificationTokenKey{Identifier: "address of " + user, Token: hex.EncodeToString(hash[:])}, nil
		}
	}
	return key, auth.ErrNoSession
}

// ask mails a link to the new address. The response is the same whoever has the address.
func (a *addresses) ask(w http.ResponseWriter, r *http.Request) {
	session, address, ok := a.form(w, r)
	if !ok {
		return
	}
	token := rand.Text()
	key, err := a.pending(r, session.UserID, address, token)
	if err == nil {
		_, err = a.store.CreateVerificationToken(r.Context(), adapter.VerificationToken{
			Identifier: key.Identifier, Token: key.Token, Expires: time.Now().Add(15 * time.Minute),
		})
	}
	if err == nil {
		q := url.Values{"token": {token}, "address": {address}}
		err = a.mail(r.Context(), address, a.site+"/address/confirm?"+q.Encode())
	}
	if err != nil {
		auth.Unavailable(w, r)
		return
	}
	_, _ = w.Write([]byte("Open the link in the mail in this browser."))
}

// confirm stores the new address and its proof in one step, if the address is still the
// one that the user had.
func (a *addresses) confirm(w http.ResponseWriter, r *http.Request) {
	session, address, ok := a.form(w, r)
	if !ok {
		return
	}
	before, err := a.store.GetUser(r.Context(), session.UserID)
	if err != nil || before == nil {
		auth.Unavailable(w, r)
		return
	}
	key, err := a.pending(r, session.UserID, address, r.PostFormValue("token"))
	if err != nil {
		auth.Unavailable(w, r)
		return
	}
	used, err := a.store.UseVerificationToken(r.Context(), key)
	if err != nil {
		auth.Unavailable(w, r)
		return
	}
	now := time.Now()
	if used == nil || !now.Before(used.Expires) {
		http.Error(w, "this link was used, has expired, or is not of this session", http.StatusForbidden)
		return
	}
	update := adapter.UserUpdate{
		ID: session.UserID, IfEmail: before.Email, Email: adapter.To(address), EmailVerified: adapter.To(&now),
	}
	if _, err := a.store.UpdateUser(r.Context(), update); err != nil {
		http.Error(w, "the address can't be used", http.StatusConflict) // another user has it, or it was changed meanwhile
		return
	}
	if before.Email != "" {
		_ = a.mail(r.Context(), before.Email, "Your address was changed.")
	}
	_, _ = w.Write([]byte("Your address was changed."))
}

// form returns who posted which address.
func (a *addresses) form(w http.ResponseWriter, r *http.Request) (session *auth.Session, address string, ok bool) {
	session, err := auth.FromContext(r.Context())
	if err != nil || a.gate.MayChange(r, r.PostFormValue("csrfToken")) != nil {
		http.Error(w, "post from a page of this site", http.StatusForbidden)
		return nil, "", false
	}
	address, err = auth.FoldEmail(strings.TrimSpace(r.PostFormValue("address")))
	if err != nil || !strings.Contains(address, "@") {
		http.Error(w, "this is no address", http.StatusBadRequest)
		return nil, "", false
	}
	return session, address, true
}
