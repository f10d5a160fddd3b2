package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// tokenSet takes the known members of a token answer; the others become Extra.
func tokenSet(members map[string]any) (TokenSet, error) {
	t := TokenSet{}
	text := func(name string) string {
		s, ok := members[name].(string)
		if ok {
			delete(members, name)
		}
		return s
	}
	t.AccessToken, t.RefreshToken, t.IDToken = text("access_token"), text("refresh_token"), text("id_token")
	t.Scope, t.TokenType, t.SessionState = text("scope"), text("token_type"), text("session_state")
	t.ExpiresIn, _ = oauth.Lifetime(members["expires_in"])
	delete(members, "expires_in")
	if n, ok := members["expires_at"].(json.Number); ok {
		if seconds, err := n.Float64(); err == nil && seconds > 0 && seconds < maxInstant {
			t.ExpiresAt = time.Unix(int64(seconds), 0).UTC()
			delete(members, "expires_at")
		}
	}
	if details, ok := members["authorization_details"].([]any); ok {
		raw, err := json.Marshal(details)
		if err != nil {
			return TokenSet{}, err
		}
		t.AuthorizationDetails = raw
		delete(members, "authorization_details")
	}
	if len(members) > 0 {
		t.Extra = members
	}
	return t, nil
}

// maxInstant is the first second since the epoch that is no expiry: the year
// 5138.
const maxInstant = 1e11

// withExpiry computes the instant of expiry from the lifetime.
func withExpiry(t TokenSet, now time.Time) TokenSet {
	t.TokenType = strings.ToLower(t.TokenType)
	if t.ExpiresIn > 0 {
		t.ExpiresAt = time.Unix(now.Unix()+int64(t.ExpiresIn/time.Second), 0).UTC()
	}
	return t
}

var errNoProfileID = errors.New("the profile has no id")

// identify maps a profile to the person who signs in. See docs/protocol.md,
// "OAuth and OpenID Connect".
func (e *engine) identify(ctx context.Context, o *oauthClient, profile Profile, tokens TokenSet) (*identity, error) {
	p := o.provider
	fail := func(cause error) (*identity, error) {
		return nil, &Error{Type: ErrOAuthProfileParse, Message: "provider " + p.ID, Cause: cause}
	}
	user := defaultProfile(profile)
	var err error
	if p.Profile != nil {
		user, err = guard(ctx, func(ctx context.Context, profile Profile) (*User, error) { return p.Profile(ctx, profile, tokens) }, profile)
		if err != nil {
			return fail(err)
		}
		if user == nil {
			return fail(errors.New("Profile returned no user"))
		}
	}
	if user.ID == "" {
		return fail(errNoProfileID)
	}
	if !identifies(user.ID) {
		return nil, &Error{Type: ErrOAuthProfileParse, Message: "provider " + p.ID + ": the id in the profile is damaged or shows nothing, so it could be the id of several people", client: true}
	}
	id := &identity{
		account: &Account{Provider: p.ID, Type: p.kind(), ProviderAccountID: user.ID, TokenSet: tokens},
		profile: profile, stored: stored(p, tokens), linkByEmail: p.AllowDangerousEmailAccountLinking,
	}
	copied := *user
	id.user = &copied
	if !identifies(user.Email) {
		id.user.Email = ""
	} else if id.user.Email, err = FoldEmail(user.Email); err == nil {
		id.given = user.Email
	}
	if id.proof = p.emailProof(ctx, profile, id.user.Email); id.proof == EmailRefuted {
		id.user.Email, id.given = "", ""
	}
	if e.store == nil {
		id.user.ID = subject(p.ID, user.ID)
	} else if id.user.ID, err = wire.RandomUUID(e.config.Random); err != nil {
		return nil, err
	}
	return id, nil
}

// stored returns a function that chooses what the adapter keeps of a token
// answer: the result of OAuth.Account, or the seven members that are the default.
func stored(p *OAuth, tokens TokenSet) func(context.Context) (TokenSet, error) {
	return func(ctx context.Context) (TokenSet, error) {
		if p.Account == nil {
			tokens.ExpiresIn, tokens.AuthorizationDetails, tokens.Extra = 0, nil, nil
			return tokens, nil
		}
		kept, err := guard(ctx, func(_ context.Context, t TokenSet) (*TokenSet, error) { return p.Account(t), nil }, tokens)
		if err != nil || kept == nil {
			return TokenSet{}, err
		}
		return *kept, nil
	}
}

// defaultProfile takes id, name, email and image from the standard claims.
func defaultProfile(p Profile) *User {
	text := func(claim string) string {
		s, _ := p[claim].(string)
		return s
	}
	return &User{
		ID: cmp.Or(p.String("sub"), p.String("id")), Email: p.String("email"),
		Name: cmp.Or(text("name"), text("nickname"), text("preferred_username")), Image: text("picture"),
	}
}

// subject is the ID of a user who is not stored. It is the same at every
// sign-in. The same account ID at another provider has another subject. It has
// the form of a UUID of version 8 (RFC 9562 section 5.8), because other IDs are
// UUIDs, too.
func subject(provider, accountID string) string {
	h := sha256.New()
	_, _ = io.WriteString(h, provider+"\x00"+accountID)
	id, _ := wire.RandomUUID(strings.NewReader(string(h.Sum(nil)))) // enough bytes
	return id[:14] + "8" + id[15:]
}
