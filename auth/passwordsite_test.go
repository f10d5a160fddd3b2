package auth_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/stretchr/testify/require"
)

// keeper is a store that keeps passwords, too.
type keeper struct {
	capable
	passwords map[string]adapter.Password
}

func newKeeper() keeper { return keeper{newCapable(), map[string]adapter.Password{}} }

func (s keeper) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	return get(ctx, s.store, "getPassword", s.passwords, userID)
}

func (s keeper) SetPassword(ctx context.Context, p adapter.Password) (*adapter.Password, error) {
	err := s.enter(ctx, "setPassword", p)
	defer s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if _, ok := s.users[p.UserID]; !ok {
		return nil, adapter.ErrNotFound
	}
	s.passwords[p.UserID] = p
	return &p, p.Check()
}

func (s keeper) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	err := s.enter(ctx, "swapPassword", from, to)
	defer s.mu.Unlock()
	to.UserID = from.UserID
	if p, ok := s.passwords[from.UserID]; err != nil || !ok || p != from {
		return nil, err
	}
	s.passwords[from.UserID] = to
	return &to, to.Check()
}

func (s keeper) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	err := s.enter(ctx, "deletePassword", userID, keepOne)
	defer s.mu.Unlock()
	p, ok := s.passwords[userID]
	if err != nil || !ok {
		return nil, err
	}
	other := len(s.passkeys[userID]) > 0
	for _, a := range s.accounts {
		other = other || a.UserID == userID
	}
	if keepOne && !other {
		return nil, adapter.ErrLastCredential
	}
	delete(s.passwords, userID)
	return &p, nil
}

func (s keeper) CreateUserWithPassword(ctx context.Context, u adapter.User, p adapter.Password) (*adapter.User, error) {
	created, err := s.CreateUser(ctx, u)
	if err != nil {
		return nil, err
	}
	p.UserID = created.ID
	_, err = s.SetPassword(ctx, p)
	return created, err
}

// passwordSite is a site on which people sign in with passwords.
type passwordSite struct {
	*auth.Handler
	t     testing.TB
	store keeper
	log   *logBook
	clock *clock

	mu    sync.Mutex
	mails []pw.Mail
}

const (
	goodPassword  = "correct horse battery staple"
	otherPassword = "seven quiet mountains at dawn"
)

// fastHashing is of no use but for tests.
var fastHashing = pw.Options{Argon2: pw.Argon2{Memory: 64, Time: 1, Parallelism: 1}, DangerouslyFast: true}

func newPasswordSite(t testing.TB, configure func(s *passwordSite, c *auth.Config, p *pw.Settings)) *passwordSite {
	t.Helper()
	s := &passwordSite{t: t, store: newKeeper(), log: new(logBook), clock: newClock()}
	c := auth.Config{Adapter: s.store, Clock: s.clock.Now, Logger: s.log.logger()}
	settings := pw.Settings{Hashing: fastHashing, Send: on(func(m pw.Mail) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.mails = append(s.mails, m)
	})}
	if configure != nil {
		configure(s, &c, &settings)
	}
	c.Providers = append(c.Providers, pw.Provider(s.store, settings))
	s.Handler = newHandler(t, c)
	return s
}

// eachStrategy runs a test with database sessions and with session tokens.
func eachStrategy(t *testing.T, test func(t *testing.T, s *passwordSite)) {
	t.Helper()
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			test(t, newPasswordSite(t, func(_ *passwordSite, c *auth.Config, _ *pw.Settings) { c.Session.Strategy = strategy }))
		})
	}
}

func (s *passwordSite) browser() *browser { return newBrowser(s.t, s) }

func (s *passwordSite) signIn(b *browser, address, password string, more ...string) *reply {
	b.t.Helper()
	return b.post("/auth/callback/password", append([]string{"email", address, "password", password}, more...)...)
}

const wrongPassword = origin + "/auth/signin?error=CredentialsSignin&code=credentials"

// link returns the link of the last mail.
func (s *passwordSite) link() string {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.mails) - 1; i >= 0; i-- {
		if s.mails[i].URL != "" {
			return s.mails[i].URL
		}
	}
	s.t.Fatal("no mail with a link")
	return ""
}

// kinds are the kinds of the mails since the last call.
func (s *passwordSite) kinds() []pw.MailKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []pw.MailKind
	for _, m := range s.mails {
		kinds = append(kinds, m.Kind)
	}
	s.mails = nil
	return kinds
}

// choose opens a link and chooses a password there.
func (s *passwordSite) choose(b *browser, link, password string) *reply {
	b.t.Helper()
	page := b.get(link)
	return b.fill(page, "password", password)
}

// fill submits the form of a page with further fields.
func (b *browser) fill(page *reply, fields ...string) *reply {
	b.t.Helper()
	return b.press(page, "", fields...)
}

// member makes a user who signed up with the password, and returns the ID.
func (s *passwordSite) member(address, password string) string {
	s.t.Helper()
	b := s.browser()
	b.post("/auth/password/sign-up", "email", address)
	s.choose(b, s.link(), password).wantLocation(s.t, origin)
	b.wantSession(address)
	u := s.store.byEmail(address)
	require.NotNil(s.t, u, "no user")
	return u.ID
}

// state is the record of a user's password.
func (s *passwordSite) stored(id string) adapter.Password {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return s.store.passwords[id]
}

func queryOf(t testing.TB, link string) url.Values {
	t.Helper()
	u, err := url.Parse(link)
	require.Truef(t, err == nil && strings.HasPrefix(link, origin), "bad link %s: %v", link, err)
	return u.Query()
}
