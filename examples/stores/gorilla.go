package stores

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/gorilla/sessions"
)

// Gorilla is the shim for a store of github.com/gorilla/sessions, which works on requests
// and makes the keys of sessions itself. The shim is a browser for each token: it keeps the
// cookie that it got, also after a sign-out.
type Gorilla struct {
	Store sessions.Store

	mu      sync.Mutex
	cookies map[string]*http.Cookie
}

const (
	gorillaName = "session"
	gorillaData = "data"
)

// request is a request of the browser that has the token.
func (g *Gorilla) request(ctx context.Context, token string) (r *http.Request, known bool) {
	r = httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	c, known := g.cookies[token]
	if known {
		r.AddCookie(c)
	}
	return r, known
}

// Find is SessionStore.Find.
func (g *Gorilla) Find(ctx context.Context, token string) ([]byte, bool, error) {
	r, known := g.request(ctx, token)
	if !known {
		return nil, false, nil
	}
	s, err := g.Store.New(r, gorillaName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	data, found := s.Values[gorillaData].([]byte)
	return data, found, nil
}

// Commit is SessionStore.Commit.
func (g *Gorilla) Commit(ctx context.Context, token string, data []byte, expires time.Time) error {
	return g.save(ctx, token, data, max(0, int(time.Until(expires)/time.Second)))
}

// Delete is SessionStore.Delete: a sign-out.
func (g *Gorilla) Delete(ctx context.Context, token string) error {
	if _, found, err := g.Find(ctx, token); !found {
		return err
	}
	return g.save(ctx, token, nil, -1)
}

func (g *Gorilla) save(ctx context.Context, token string, data []byte, maxAge int) error {
	r, _ := g.request(ctx, token)
	s, err := g.Store.New(r, gorillaName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.Values[gorillaData], s.Options.MaxAge = data, maxAge
	w := httptest.NewRecorder()
	if err := g.Store.Save(r, w, s); err != nil {
		return err
	}
	for _, c := range w.Result().Cookies() {
		if c.Value != "" {
			g.mu.Lock()
			if g.cookies == nil {
				g.cookies = map[string]*http.Cookie{}
			}
			g.cookies[token] = c
			g.mu.Unlock()
		}
	}
	return nil
}
