package golden_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
)

// recorder records the events of one request, in the form of the recording.
type recorder struct {
	mu            sync.Mutex
	trace         []string
	adapterCalls  []call
	callbackCalls []call
	providerCalls []call
	events        []call
	emails        []any
	idpCalls      []any
	errorTypes    []string
	errors        []error
}

// call is one call of a function of the application.
type call struct {
	name string
	args any
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace, r.adapterCalls, r.callbackCalls, r.providerCalls = nil, nil, nil, nil
	r.events, r.emails, r.idpCalls, r.errorTypes, r.errors = nil, nil, nil, nil, nil
}

func (r *recorder) note(line string, list *[]call, c call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, line)
	*list = append(*list, c)
}

func (r *recorder) adapterCall(method string, args []any) {
	r.note("adapter."+method, &r.adapterCalls, call{method, args})
}

func (r *recorder) callback(name string, args map[string]any) {
	r.note("callback."+name, &r.callbackCalls, call{name, args})
}

func (r *recorder) provider(name string, args ...any) {
	r.note("provider."+name, &r.providerCalls, call{name, args})
}

func (r *recorder) event(name string, message map[string]any) {
	r.note("event."+name, &r.events, call{name, message})
}

func (r *recorder) email(mail any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, "email.send")
	r.emails = append(r.emails, mail)
}

func (r *recorder) line(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, text)
}

// idpCall records a request to the identity provider.
func (r *recorder) idpCall(hr *http.Request, body []byte) {
	headers := map[string]any{}
	for _, name := range []string{"Accept", "Authorization", "Content-Type"} {
		setText(headers, strings.ToLower(name), strings.TrimSuffix(hr.Header.Get(name), ";charset=UTF-8"))
	}
	c := map[string]any{"method": hr.Method, "url": hr.URL.String(), "headers": headers}
	if len(body) > 0 {
		form, err := url.ParseQuery(string(body))
		fields := map[string]any{}
		for name, v := range form {
			fields[name] = strings.Join(v, ",")
		}
		c["body"] = fields
		if err != nil {
			c["body"] = err.Error()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = append(r.trace, "idp."+hr.Method+" "+hr.URL.Path)
	r.idpCalls = append(r.idpCalls, c)
}

// logHandler is a log handler for every level.
type logHandler func(record slog.Record)

func (logHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h logHandler) WithAttrs([]slog.Attr) slog.Handler     { return h }
func (h logHandler) WithGroup(string) slog.Handler          { return h }

func (h logHandler) Handle(_ context.Context, record slog.Record) error {
	h(record)
	return nil
}

// log keeps the types of the logged errors, at every level: a mistake of a
// client is not logged as an error of the server.
func (r *recorder) log(record slog.Record) {
	name := "Error"
	var failure error
	record.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			failure = err
			if e, ok := errors.AsType[*auth.Error](err); ok {
				name = string(e.Type)
			}
		}
		return true
	})
	if failure == nil || record.Level < slog.LevelInfo {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errorTypes = append(r.errorTypes, name)
	r.errors = append(r.errors, failure)
}

// The values of the auth package in the spelling of the recording.

func userJSON(u *auth.User) any {
	if u == nil {
		return nil
	}
	row := map[string]any{"name": nil, "image": nil}
	maps.Copy(row, plain(u.Extra))
	setText(row, "name", u.Name)
	setText(row, "image", u.Image)
	setText(row, "id", u.ID)
	setText(row, "email", u.Email)
	if u.EmailVerified != nil {
		row["emailVerified"] = date(*u.EmailVerified)
	}
	return row
}

func accountJSON(a *auth.Account) any {
	if a == nil {
		return nil
	}
	row := tokensJSON(&a.TokenSet)
	row["provider"], row["type"], row["providerAccountId"] = a.Provider, string(a.Type), a.ProviderAccountID
	setText(row, "userId", a.UserID)
	return row
}

func tokensJSON(t *auth.TokenSet) map[string]any {
	row := map[string]any{}
	maps.Copy(row, plain(t.Extra))
	setText(row, "access_token", t.AccessToken)
	setText(row, "refresh_token", t.RefreshToken)
	setText(row, "id_token", t.IDToken)
	setText(row, "scope", t.Scope)
	setText(row, "token_type", t.TokenType)
	setText(row, "session_state", t.SessionState)
	if t.ExpiresIn != 0 {
		row["expires_in"] = t.ExpiresIn.Seconds()
	}
	if !t.ExpiresAt.IsZero() {
		row["expires_at"] = float64(t.ExpiresAt.Unix())
	}
	return row
}

func sessionJSON(s *auth.Session) any {
	if s == nil {
		return nil
	}
	row := map[string]any{}
	maps.Copy(row, plain(s.Extra))
	if s.User != nil {
		row["user"] = userJSON(s.User)
	}
	if !s.Expires.IsZero() {
		row["expires"] = s.Expires.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	return row
}

func claimsJSON(c auth.Claims) any {
	if c == nil {
		return nil
	}
	return plain(c)
}

// plain returns a value as it is after encoding and decoding as JSON.
func plain(m map[string]any) map[string]any {
	b, err := json.Marshal(m)
	if err != nil {
		return map[string]any{"not JSON": err.Error()}
	}
	var out map[string]any
	_ = json.Unmarshal(b, &out) // it was encoded just above
	return out
}

func rawJSON(b json.RawMessage) any {
	var v any
	if len(b) > 0 && json.Unmarshal(b, &v) != nil {
		return "bad JSON: " + string(b)
	}
	return v
}

func seconds(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
